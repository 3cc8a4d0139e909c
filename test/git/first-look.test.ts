import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { plainIndex } from '../../src/git/index-file';
import type { GitStore } from '../../src/git/store';
import { sandbox, type Sandbox } from './rig';

/** A repository whose index knows the tree of every folder. */
function committed(files: Record<string, string>): Sandbox {
  const box = sandbox();
  for (const [path, content] of Object.entries(files)) box.write(path, content);
  box.git('init', '-q');
  box.git('add', '-A');
  box.git('commit', '-qm', 'one');
  return box;
}

const plain = { 'a.txt': 'a\n', 'b/c.txt': 'c\n', 'b/d/e.txt': 'e\n', 'b/ümlaut.txt': 'u\n', '.first': 'f\n' };

/** What a first checkpoint holds, and whether git's first look was the one that counts. */
async function first(box: Sandbox): Promise<{ paths: string[]; tree: string; looks: number }> {
  const workspace = await box.open();
  const { store } = workspace as unknown as { store: GitStore };
  const { scanner } = (store as unknown as { snapshots: { scanner: { tryScan(...args: unknown[]): unknown } } })
    .snapshots;
  const tryScan = scanner.tryScan.bind(scanner);
  let looks = 0;
  scanner.tryScan = (...args: unknown[]) => {
    looks += 1;
    return tryScan(...args);
  };
  const { files } = (await workspace.create({}))!;
  const found = await store.trees.list(files.tree);
  box.write('a.txt', 'another, after the first\n');
  const second = (await workspace.create({}))!;
  expect((await workspace.changes(second.id)).map(({ path }) => path)).toEqual(['a.txt']);
  const locks = readdirSync(store.layout.scan, { recursive: true }).filter((name) => String(name).endsWith('.lock'));
  expect(locks).toEqual([]);
  await workspace.close();
  return { paths: [...found.keys()].sort(), tree: files.tree, looks };
}

describe('the first look, which begins before every entry of the index was looked at', () => {
  it('counts where nothing of the index is left out', async () => {
    const box = committed(plain);
    expect(await first(box)).toMatchObject({ tree: box.git('rev-parse', 'HEAD^{tree}').trim(), looks: 1 });
  });

  it('is made again where the user tracks what is always out', async () => {
    const box = committed({ ...plain, 'b/.env': 'SECRET=1\n' });
    expect(await first(box)).toMatchObject({ paths: Object.keys(plain).sort(), looks: 2 });
  });

  it('is made again where a file is not what its blob is', async () => {
    const box = committed({ ...plain, '.gitattributes': '*.crlf text eol=crlf\n', 'x.crlf': 'one\ntwo\n' });
    box.sh('rm x.crlf && git checkout -q x.crlf');
    expect(readFileSync(join(box.root, 'x.crlf'), 'latin1')).toBe('one\r\ntwo\r\n');
    const { tree, looks } = await first(box);
    expect(looks).toBe(2);
    const workspace = await box.open();
    const { store } = workspace as unknown as { store: GitStore };
    const version = await store.trees.fileAt(tree, 'x.crlf');
    expect((await store.reader.blob(version!.oid)).toString('latin1')).toBe('one\r\ntwo\r\n');
    await workspace.close();
  });

  it('does not begin early with an index that is cut off or of another kind', () => {
    const box = committed(plain);
    const index = readFileSync(join(box.root, '.git', 'index'));
    expect(plainIndex(index, 20)).toMatchObject({ count: Object.keys(plain).length });
    for (let length = 0; length < plainIndex(index, 20)!.end; length += 7)
      expect(plainIndex(index.subarray(0, length), 20)).toBeNull();
    box.git('update-index', '--assume-unchanged', 'a.txt');
    expect(plainIndex(readFileSync(join(box.root, '.git', 'index')), 20)).toBeNull();
    box.git('update-index', '--no-assume-unchanged', 'a.txt');
    const blob = box.git('rev-parse', 'HEAD').trim();
    box.git('update-index', '--add', '--cacheinfo', `160000,${blob},module`);
    expect(plainIndex(readFileSync(join(box.root, '.git', 'index')), 20)).toBeNull();
    box.git('update-index', '--force-remove', 'module');
    expect(plainIndex(readFileSync(join(box.root, '.git', 'index')), 20)).not.toBeNull();
    box.git('update-index', '--split-index');
    expect(plainIndex(readFileSync(join(box.root, '.git', 'index')), 20)).toBeNull();
    box.git('update-index', '--no-split-index');
    box.git('update-index', '--index-version', '4');
    expect(plainIndex(readFileSync(join(box.root, '.git', 'index')), 20)).toBeNull();
  });

  it('is right with an index that is damaged', async () => {
    const box = committed(plain);
    const path = join(box.root, '.git', 'index');
    const index = readFileSync(path);
    writeFileSync(path, index.subarray(0, index.length >> 1));
    expect((await first(box)).paths).toEqual(Object.keys(plain).sort());
  });
});
