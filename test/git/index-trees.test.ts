import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { knownShapes, withAllTrees } from '../../src/git/index-trees';
import type { GitStore } from '../../src/git/store';
import { parseTree, type TreeEntry } from '../../src/git/tree-format';
import { sandbox, type Sandbox } from './rig';

/** Every tree below a tree, itself included. */
function allTrees(gitDir: string, tree: string): string[] {
  const out = execFileSync('git', [`--git-dir=${gitDir}`, 'ls-tree', '-r', '-t', '-d', '--object-only', tree]);
  return [...new Set([tree, ...out.toString('latin1').split('\n').filter(Boolean)])].sort();
}

describe('an index whose folders git has forgotten', () => {
  /** Some folders are known, some are not, one is new; the names are not only ASCII. */
  const half = (): { box: Sandbox; index: string; tree: string; entries: (tree: string) => Promise<TreeEntry[]> } => {
    const box = sandbox();
    for (const name of ['a/b/c/1.txt', 'a/b/2.txt', 'a/x/3.txt', 'é/ü/4.txt', 'z.txt']) box.write(name, name);
    box.git('add', '-A');
    box.git('commit', '-q', '-m', 'one');
    box.write('a/b/c/1.txt', 'changed');
    box.write('a-new/d/e/5.txt', 'new');
    box.sh('rm -r "é"');
    box.git('add', '-A');
    const index = join(box.root, '.git', 'index');
    const before = readFileSync(index);
    const tree = box.git('write-tree').trim(); // which also writes the trees into the index
    writeFileSync(index, before);
    const entries = (oid: string): Promise<TreeEntry[]> =>
      Promise.resolve(parseTree(execFileSync('git', ['cat-file', 'tree', oid], { cwd: box.root }), 20));
    return { box, index, tree, entries };
  };

  it('knows them all again, and git finds them right', async () => {
    const { box, index, tree, entries } = half();
    const forgotten = knownShapes(readFileSync(index), 20);
    const complete = (await withAllTrees(readFileSync(index), tree, { entries, extra: 0, algorithm: 'sha1' }))!;
    const below = allTrees(join(box.root, '.git'), tree).filter((oid) => oid !== tree);
    expect(below.some((oid) => !forgotten.has(oid))).toBe(true);
    expect([...knownShapes(complete, 20).keys()].sort()).toEqual(below);
    writeFileSync(index, complete);
    // git compares what the index says of its folders with the entries, and ends where it is wrong.
    box.sh('GIT_TEST_CHECK_CACHE_TREE=1 git update-index --force-write-index');
    expect(box.git('fsck', '--cache').includes('error')).toBe(false);
    expect(box.git('write-tree').trim()).toBe(tree);
    expect(box.git('status', '--porcelain')).toBe(box.git('status', '--porcelain', '--no-renames'));
    expect(box.git('diff', '--cached', '--name-status', '--no-renames', '-z').split('\0')).toEqual(
      expect.arrayContaining(['a-new/d/e/5.txt', 'a/b/c/1.txt', 'é/ü/4.txt']),
    );
  });

  it('is left as it is where it holds something else, or is damaged', async () => {
    const { index, tree, entries } = half();
    const data = readFileSync(index);
    const parts = { entries, algorithm: 'sha1' as const };
    expect(await withAllTrees(data, tree, { ...parts, extra: 1 })).toBeNull();
    expect(await withAllTrees(Buffer.from('garbage, and long enough'), tree, { ...parts, extra: 0 })).toBeNull();
    expect(await withAllTrees(data.subarray(0, 150), tree, { ...parts, extra: 0 })).toBeNull();
    const broken = Buffer.from(data);
    broken.fill(0xff, broken.indexOf('TREE') + 8, broken.indexOf('TREE') + 40);
    expect(await withAllTrees(broken, tree, { ...parts, extra: 0 })).toBeNull();
    expect(knownShapes(broken, 20).size).toBe(0);
  });

  it("is the scanner's, too, after many changes were taken in", async () => {
    const box = sandbox();
    const names = Array.from({ length: 90 }, (_, i) => `many/${i % 9}/below/${i}.txt`);
    for (const name of names) box.write(name, 'old');
    box.git('add', '-A');
    box.git('commit', '-q', '-m', 'one');
    const workspace = await box.open();
    await workspace.create();
    for (const name of names) box.write(name, 'new');
    const { files } = await workspace.create();
    await workspace.close(); // it waits for what is caught up in the background
    const { layout } = (workspace as unknown as { store: GitStore }).store;
    const known = knownShapes(readFileSync(join(layout.scan, 'index')), 20);
    const below = allTrees(layout.gitDir, files.tree).filter((oid) => oid !== files.tree);
    expect([...known.keys()].sort()).toEqual(below);
  });
});
