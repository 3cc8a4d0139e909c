import { chmodSync, mkdirSync, readFileSync, readdirSync, readlinkSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ObjectReader, type GitObject } from '../../src/git/object-reader';
import { PackReader } from '../../src/git/pack-reader';
import type { HashName } from '../../src/git/pack-writer';
import { sandbox, type Sandbox } from './rig';

const objects = (box: Sandbox): string => join(box.root, '.git', 'objects');
const packs = (box: Sandbox, ending: string): string[] =>
  readdirSync(join(objects(box), 'pack')).filter((name) => name.endsWith(ending));
const all = (box: Sandbox): string[] =>
  box.git('cat-file', '--batch-check=%(objectname)', '--batch-all-objects').trim().split('\n');
const read = (reader: PackReader, oids: string[]): Array<GitObject | null> =>
  reader.reading((one) => oids.map((oid) => one(oid)));

/** A history that git packs with deltas: folders of many names, and texts that change a little. */
function history(box: Sandbox): void {
  for (let round = 0; round < 12; round++) {
    for (let i = 0; i < 40; i++)
      box.write(`folder/${i % 7}/file-${i}.txt`, `line ${i}\n`.repeat(60 + (round % 5) * 20));
    box.write(`folder/long.txt`, Array.from({ length: 900 }, (_, n) => `${n} ${n % (round + 2)}`).join('\n'));
    const words = Array.from({ length: 400 }, (_, n) => ((n * 7919 + 13) % 99991).toString(36).repeat(3));
    for (let n = 0; n <= round; n++) words[n * 20] = `changed in round ${n}`;
    box.write('folder/grows.txt', words.join('\n'));
    box.write('folder/random.bin', Buffer.from(Array.from({ length: 90_000 }, (_, n) => (n * (round + 7) * 31) % 251)));
    box.git('add', '-A');
    box.git('commit', '-q', '-m', `round ${round}`);
  }
  box.git('tag', '-a', '-m', 'a tag', 'first');
}

async function compare(box: Sandbox, reader: PackReader): Promise<number> {
  const git = new ObjectReader(join(box.root, '.git'));
  const oids = all(box);
  const found = read(reader, oids);
  const other: string[] = [];
  for (const [i, oid] of oids.entries()) {
    const wanted = await git.read(oid);
    const got = found[i];
    if (!wanted || !got || got.type !== wanted.type || !got.data.equals(wanted.data)) other.push(oid);
  }
  expect(other).toEqual([]);
  git.close();
  return oids.length;
}

describe('objects read in process', () => {
  it.each<HashName>(['sha1', 'sha256'])(
    'are what git reads: loose, packed, deltas of both kinds (%s)',
    async (format) => {
      const box = sandbox({ git: false });
      box.git('init', '-q', `--object-format=${format}`, '-b', 'main');
      history(box);
      const reader = new PackReader([objects(box)], format);
      const loose = await compare(box, reader);
      expect(loose).toBeGreaterThan(100);
      box.git('repack', '-a', '-d', '-q', '-f', '--depth=50', '--window=50');
      box.git('prune');
      expect(box.git('verify-pack', '-v', `.git/objects/pack/${packs(box, '.idx')[0]!}`)).toMatch(
        /chain length = [3-9]/,
      );
      expect(await compare(box, reader)).toBe(loose);
      // A base named by its id instead of its place.
      box.sh(`git -c repack.useDeltaBaseOffset=false repack -a -d -q -f --depth=50`);
      expect(await compare(box, reader)).toBe(loose);
    },
  );

  it('are found in packs that appear later, and not in those that are gone', () => {
    const box = sandbox();
    history(box);
    const reader = new PackReader([join(box.root, 'nowhere'), objects(box)], 'sha1');
    const [tree] = box.git('rev-parse', 'HEAD^{tree}').trim().split('\n');
    expect(read(reader, [tree!])[0]?.type).toBe('tree');
    box.git('repack', '-a', '-d', '-q');
    box.git('prune-packed');
    expect(read(reader, [tree!])[0]?.type).toBe('tree');
    for (const name of readdirSync(join(objects(box), 'pack')))
      renameSync(join(objects(box), 'pack', name), join(box.root, name));
    expect(read(reader, [tree!])).toEqual([null]);
    expect(read(reader, ['0'.repeat(40)])).toEqual([null]);
  });

  it('are never given out damaged: git is asked then, and says what is wrong', () => {
    const box = sandbox();
    history(box);
    box.git('repack', '-a', '-d', '-q');
    const [name] = packs(box, '.pack');
    const path = join(objects(box), 'pack', name!);
    const whole = readFileSync(path);
    const git = new Map(all(box).map((oid) => [oid, box.sh(`git cat-file -t ${oid}`).trim()]));
    chmodSync(path, 0o644);
    for (let at = 40; at < whole.length; at += Math.floor(whole.length / 40)) {
      const damaged = Buffer.from(whole);
      damaged[at]! ^= 0x55;
      writeFileSync(path, damaged);
      const reader = new PackReader([objects(box)], 'sha1');
      const oids = [...git.keys()];
      const found = read(reader, oids);
      // What comes has the right hash, so it is right; what was hit does not come.
      expect(found.filter((one, i) => one !== null && one.type !== git.get(oids[i]!))).toEqual([]);
    }
    for (const length of [0, 3, 500]) {
      const index = join(objects(box), 'pack', name!.replace('.pack', '.idx'));
      chmodSync(index, 0o644);
      writeFileSync(index, readFileSync(index).subarray(0, length));
      expect(read(new PackReader([objects(box)], 'sha1'), [...git.keys()].slice(0, 3))).toEqual([null, null, null]);
    }
  });

  it.each<HashName>(['sha1', 'sha256'])('are proved together by the checksums of their pack (%s)', (format) => {
    const box = sandbox({ git: false });
    box.git('init', '-q', `--object-format=${format}`, '-b', 'main');
    history(box);
    const oids = all(box);
    const reader = new PackReader([objects(box)], format);
    expect(reader.inSoundPacks(oids).size).toBe(0); // loose: read one by one
    box.git('repack', '-a', '-d', '-q');
    box.git('prune-packed');
    const missing = 'ab'.repeat(format === 'sha1' ? 20 : 32);
    expect(reader.inSoundPacks([...oids, missing])).toEqual(new Set(oids));
    expect(reader.inSoundPacks(oids.slice(0, 10)).size).toBe(0); // a few are read faster
    for (const ending of ['.pack', '.idx']) {
      const path = join(objects(box), 'pack', packs(box, ending)[0]!);
      const right = readFileSync(path);
      chmodSync(path, 0o644);
      for (const at of [20, right.length >> 1, right.length - 70, right.length - 25, right.length - 1]) {
        const wrong = Buffer.from(right);
        wrong[at]! ^= 1;
        writeFileSync(path, wrong);
        expect(new PackReader([objects(box)], format).inSoundPacks(oids).size, `${ending} at ${at}`).toBe(0);
      }
      writeFileSync(path, right.subarray(0, right.length - 40));
      expect(new PackReader([objects(box)], format).inSoundPacks(oids).size).toBe(0);
      writeFileSync(path, right);
    }
    expect(reader.inSoundPacks(oids).size).toBe(oids.length);
  });

  it('keep no file open: what is deleted leaves the disk', () => {
    const box = sandbox();
    history(box);
    box.git('repack', '-a', '-d', '-q');
    const reader = new PackReader([objects(box)], 'sha1');
    expect(read(reader, all(box)).every((one) => one !== null)).toBe(true);
    const open = readdirSync('/proc/self/fd').flatMap((fd) => {
      try {
        return [readlinkSync(join('/proc/self/fd', fd))];
      } catch {
        return []; // the listing's own
      }
    });
    expect(open.filter((path) => path.startsWith(box.root))).toEqual([]);
  });

  it('are given to the fast lane without git', async () => {
    const box = sandbox();
    history(box);
    const workspace = await box.open();
    await workspace.create({ trigger: 'manual' });
    await workspace.close();
    const again = await box.open();
    mkdirSync(join(box.root, 'folder', '3'), { recursive: true });
    box.write('folder/3/file-3.txt', 'by a tool');
    const point = await again.create({ trigger: 'tool', paths: ['folder/3/file-3.txt'] });
    expect(point?.files).toMatchObject({ lane: 'paths', modified: 1, paths: ['folder/3/file-3.txt'] });
    expect(box.sh(`cat folder/3/file-3.txt`)).toBe('by a tool');
    expect(Buffer.from(await again.cat(point!.id, 'folder/3/file-3.txt')).toString()).toBe('by a tool');
    expect(await again.doctor()).toEqual([]);
  });
});
