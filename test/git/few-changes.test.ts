import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Change } from '../../src/core/model';
import { describeChanges } from '../../src/git/changes';
import { compareLines, isBinary } from '../../src/git/line-counts';
import { areSimilar, comparableSizes, piecesOf } from '../../src/git/similarity';
import type { Trees } from '../../src/git/trees';
import { sandbox } from './rig';

/** A generator that gives the same numbers for the same seed. */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** Text as programs are: some lines are everywhere, most are nowhere else. */
function someLines(below: (n: number) => number, count: number, words: number): string[] {
  const common = ['', '}', '  }', '', 'end', '\r'];
  return Array.from({ length: count }, () => {
    const kind = below(10);
    return kind < 4 ? common[below(common.length)]! : kind < 7 ? `word ${below(words)}` : `line ${below(1e9)}`;
  });
}

function edited(below: (n: number) => number, lines: string[], edits: number): string[] {
  const out = [...lines];
  for (let i = 0; i < edits; i++) {
    const at = below(out.length + 1);
    const take = below(3) === 0 ? below(12) : below(3);
    out.splice(at, take, ...someLines(below, below(3) === 0 ? below(12) : below(3), 20));
  }
  return out;
}

const text = (below: (n: number) => number, lines: string[]): string =>
  lines.join('\n') + (lines.length > 0 && below(5) > 0 ? '\n' : '');

describe('without a git process', () => {
  it('lines are counted as git counts them', () => {
    const box = sandbox();
    const below = numbers(7);
    const count = 600;
    for (let i = 0; i < count; i++) box.write(`f${i}`, text(below, someLines(below, below(i % 3 ? 60 : 400), 30)));
    box.git('add', '-A');
    box.git('commit', '-qm', 'before');
    const before = Array.from({ length: count }, (_, i) => readFileSync(join(box.root, `f${i}`)));
    for (const [i, data] of before.entries()) {
      const lines = data.toString().split('\n');
      box.write(`f${i}`, text(below, edited(below, lines, 1 + below(i % 7 ? 6 : 60))));
    }
    box.git('add', '-A');
    const wanted = new Map(
      box
        .git('diff', '--cached', '--no-renames', '--numstat')
        .trim()
        .split('\n')
        .map((row) => row.split('\t'))
        .map(([additions, deletions, path]) => [path!, `${additions} ${deletions}`]),
    );
    let compared = 0;
    for (const [i, data] of before.entries()) {
      const found = compareLines(data, readFileSync(join(box.root, `f${i}`)));
      // Where they are too far apart git is asked.
      if (!found) continue;
      compared += 1;
      expect([i, `${found.additions} ${found.deletions}`]).toEqual([i, wanted.get(`f${i}`) ?? '0 0']);
    }
    expect(compared).toBeGreaterThan(count * 0.8);
  });

  it('files are taken for renamed ones where git takes them for that', () => {
    const below = numbers(11);
    const seen = new Set<boolean>();
    const box = sandbox();
    for (let i = 0; i < 60; i++) {
      const lines = someLines(below, 5 + below(60), 30);
      const from = Buffer.from(text(below, lines));
      const to = Buffer.from(text(below, edited(below, lines, below(60))));
      box.write('from', from);
      box.git('add', '-A');
      const before = box.git('write-tree').trim();
      rmSync(join(box.root, 'from'));
      box.write('to', to);
      box.git('add', '-A');
      const after = box.git('write-tree').trim();
      rmSync(join(box.root, 'to'));
      const renamed = box.git('diff-tree', '-M', '--name-status', before, after).startsWith('R');
      const [a, b] = [from, to].map((data) => piecesOf(data, isBinary(data)));
      const similar = comparableSizes(from.length, to.length) && areSimilar(a!, from.length, b!, to.length);
      expect([i, similar]).toEqual([i, renamed]);
      seen.add(renamed);
    }
    expect(seen.size).toBe(2);
  });

  it('changes are described as git describes them', async () => {
    const box = sandbox();
    const below = numbers(13);
    box.write('mode.sh', 'echo\n');
    box.write('binary', Buffer.from([1, 0, 2]));
    box.write('late', Buffer.concat([Buffer.alloc(8000, 'a'), Buffer.from([0])]));
    box.write('empty', '');
    box.write('unended', 'a\nb');
    box.write('odd "name"\n', 'x\n');
    box.sh('ln -s unended link; mkdir dir; echo in > dir/in; echo file > swap');
    for (let i = 0; i < 50; i++) box.write(`many/f${i}`, text(below, someLines(below, 40, 30)));
    const workspace = await box.open();
    await workspace.create({ name: 'one' });
    box.sh('chmod +x mode.sh; rm link swap dir/in many/f1; ln -s mode.sh link; mkdir swap; echo now > swap/in');
    box.write('binary', Buffer.from([1, 0, 3]));
    box.write('late', Buffer.concat([Buffer.alloc(8000, 'b'), Buffer.from([0])]));
    box.write('empty', 'no more\n');
    box.write('unended', 'a\nb\n');
    box.write('odd "name"\n', 'y\n');
    box.write('made', Buffer.from([0]));
    for (let i = 5; i < 45; i++)
      box.write(
        `many/f${i}`,
        text(below, edited(below, readFileSync(join(box.root, `many/f${i}`), 'latin1').split('\n'), 4)),
      );
    await workspace.create({ name: 'two' });
    const here = (await workspace.diff('one', 'two')).changes;
    expect(here.length).toBeGreaterThan(48);
    const [one, two] = await Promise.all(
      ['one', 'two'].map(async (name) => (await workspace.resolve(name)).files.tree),
    );
    expect(here).toEqual(await byGit(workspace.folder, one!, two!));
  });

  for (const format of ['sha1', 'sha256'])
    it(`contents come from git or from memory, and the answer is the same (${format})`, async () => {
      const box = sandbox({ git: false });
      box.git('init', '-q', '-b', 'main', `--object-format=${format}`);
      const below = numbers(17);
      const write = (i: number, lines: string[]): void => {
        const joined = lines.join(i % 4 === 0 ? '\r\n' : '\n');
        box.write(`many/${i % 10}/f${i}`, i % 5 === 0 ? joined : `${joined}\n`);
      };
      const lines = someLines(below, 80, 30);
      // Much alike: git keeps them as deltas of each other.
      for (let i = 0; i < 120; i++) write(i, edited(below, lines, 6));
      box.write('picture', Buffer.from([1, 2, 0, 3]));
      box.write('gone', 'one\n');
      box.git('add', '-A');
      box.git('commit', '-qm', 'one');
      box.git('gc', '-q');
      const workspace = await box.open();
      await workspace.create({ name: 'one' });
      for (let i = 0; i < 100; i++) write(i, edited(below, lines, 9));
      box.write('picture', Buffer.from([1, 2, 0, 4]));
      box.write('come', Buffer.alloc(600_000, 'too large to be remembered\n'));
      rmSync(join(box.root, 'gone'));
      await workspace.create({ name: 'two' });
      const [one, two] = await Promise.all(
        ['one', 'two'].map(async (name) => (await workspace.resolve(name)).files.tree),
      );
      const wanted = await byGit(workspace.folder, one!, two!);
      expect(wanted.length).toBe(103);
      expect((await workspace.diff('one', 'two')).changes).toEqual(wanted);
      expect((await (await box.open()).diff('one', 'two')).changes).toEqual(wanted);
    });

  it('a filter by a name that is no UTF-8 finds that file alone, here and by git', async () => {
    const box = sandbox();
    box.sh("printf 1 > $'caf\\xe9.txt'; printf 1 > cafe.txt; mkdir $'d\\xe9'; printf 1 > $'d\\xe9/in'; printf 1 > '*'");
    const workspace = await box.open();
    await workspace.create({ name: 'one' });
    box.sh("printf 2 > $'caf\\xe9.txt'; printf 2 > cafe.txt; printf 2 > $'d\\xe9/in'; printf 2 > '*'");
    await workspace.create({ name: 'two' });
    const paths = ['caf\udce9.txt', 'd\udce9'];
    const wanted = ['caf\udce9.txt', 'd\udce9/in'];
    const { changes, patch } = await workspace.diff('one', 'two', { paths, patch: true });
    expect(changes.map(({ path }) => path)).toEqual(wanted);
    expect(patch!.split('diff --git').length).toBe(3);
    const [one, two] = await Promise.all(
      ['one', 'two'].map(async (name) => (await workspace.resolve(name)).files.tree),
    );
    expect((await byGit(workspace.folder, one!, two!, paths)).map(({ path }) => path)).toEqual(wanted);
  });
});

/** The same question where nothing is compared here. */
async function byGit(folder: string, from: string, to: string, paths: string[] = []): Promise<Change[]> {
  const trees = { emptyTree: '', diffUpTo: () => Promise.resolve(null) } as unknown as Trees;
  const sources = {
    gitDir: join(folder, 'snapshots.git'),
    trees,
    content: () => Promise.reject(new Error('not asked')),
    unsound: () => Promise.reject(new Error('not asked')),
  };
  return (await describeChanges(sources, from, to, { paths })).changes;
}
