import { describe, expect, it } from 'vitest';
import type { GitStore } from '../../src/git/store';
import { modes, type Leaf } from '../../src/git/tree-format';
import { Trees } from '../../src/git/trees';
import { sandbox } from './rig';

describe('trees that are not in the store yet', () => {
  it('can be read, however many others were met meanwhile', async () => {
    const box = sandbox();
    const workspace = await box.open();
    const { store } = workspace as unknown as { store: GitStore };
    // So little is kept that nearly every folder is forgotten at once.
    const trees = new Trees(store.reader, 20, 40);
    const writer = store.newWriter();
    const version = (content: string): Leaf => ({ mode: modes.file, oid: writer.add('blob', Buffer.from(content)) });
    const paths = Array.from({ length: 90 }, (_, i) => `folder-${i % 30}/below/${i}.txt`);
    const all = (content: string): Map<string, Leaf> => new Map(paths.map((path) => [path, version(content)]));
    const before = await trees.update(trees.emptyTree, all('before'), writer);
    const after = await trees.update(before, all('after'), writer);
    const changed = (await trees.diff(before, after)).map(({ path }) => path);
    expect(changed).toEqual([...paths].sort());
    await writer.flush();
    expect((await new Trees(store.reader, 20).diff(before, after)).map(({ path }) => path)).toEqual(changed);
    expect((await trees.diff(before, after)).map(({ path }) => path)).toEqual(changed);
    await workspace.close();
  });
});

describe('the same comparison', () => {
  it('is made once for all who ask, also after others, and again after it failed', async () => {
    const box = sandbox();
    const workspace = await box.open();
    const { store } = workspace as unknown as { store: GitStore };
    const writer = store.newWriter();
    const version = (content: string): Leaf => ({ mode: modes.file, oid: writer.add('blob', Buffer.from(content)) });
    const before = await store.trees.update(store.trees.emptyTree, new Map([['a/b.txt', version('x')]]), writer);
    const after = await store.trees.update(before, new Map([['a/b.txt', version('y')]]), writer);
    await writer.flush();

    const trees = new Trees(store.reader, 20);
    let read = 0;
    const entries = trees.entries.bind(trees);
    let fails = true;
    trees.entries = async (oid) => {
      read += 1;
      if (fails) throw new Error('lost');
      return entries(oid);
    };
    await expect(Promise.all([trees.diff(before, after), trees.diff(before, after)])).rejects.toThrow('lost');
    fails = false;
    read = 0;
    const [one, two] = await Promise.all([trees.diff(before, after), trees.diff(before, after)]);
    expect(one!.map(({ path }) => path)).toEqual(['a/b.txt']);
    one!.length = 0; // each has a list of its own
    expect(two!.map(({ path }) => path)).toEqual(['a/b.txt']);
    expect(await trees.diff(after, after)).toEqual([]);
    expect(await trees.diff(before, after, ['other'])).toEqual([]);
    expect((await trees.diff(before, after)).map(({ path }) => path)).toEqual(['a/b.txt']);
    // Both sides of two folders, and of the top once more for the paths that were asked for.
    expect(read).toBe(4 + 2);
    await workspace.close();
  });
});
