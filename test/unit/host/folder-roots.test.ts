import { beforeEach, describe, expect, it } from 'vitest';
import { FolderRoots } from '../../../src/host/folder-roots';

interface FakeRoot {
  id: string;
  shownAs: string;
}

describe('roots of folders', () => {
  /** What folders lead to; an error for those that cannot be opened. */
  let disk: Record<string, string | Error>;
  let opened: string[];
  let closed: FakeRoot[];
  let folders: FolderRoots<string, FakeRoot>;

  beforeEach(() => {
    disk = { a: '/a', b: '/b', 'repo/x': '/repo', 'repo/y': '/repo' };
    opened = [];
    closed = [];
    folders = new FolderRoots({
      key: (folder) => folder,
      open: async (folder) => {
        opened.push(folder);
        const id = disk[folder];
        if (typeof id !== 'string') throw id ?? new Error(`no ${folder}`);
        return { id, shownAs: folder };
      },
      id: ({ id }) => id,
      place: async (root, folder) => {
        root.shownAs = folder;
      },
      close: async (root) => closed.push(root),
    });
  });

  const ids = (): string[] => folders.roots.map(({ id }) => id);

  it('stay the same while their folders stay', async () => {
    await folders.match(['a']);
    const [a] = folders.roots;
    expect(await folders.match(['a', 'b'])).toEqual([]);
    expect(folders.roots[0]).toBe(a);
    expect(ids()).toEqual(['/a', '/b']);
    expect(opened).toEqual(['a', 'b']);
    expect((await folders.match(['a'])).map(({ id }) => id)).toEqual(['/b']);
    expect(folders.roots).toEqual([a]);
    expect(closed).toEqual([]);
  });

  it('are tried again when they could not be opened, and only those', async () => {
    disk['b'] = new Error('no git');
    await folders.match(['a', 'b']);
    expect(folders.failed).toMatchObject([{ folder: 'b', error: { message: 'no git' } }]);
    expect(ids()).toEqual(['/a']);
    disk['b'] = '/b';
    await folders.match(['a', 'b']);
    expect(folders.failed).toEqual([]);
    expect(opened).toEqual(['a', 'b', 'b']);
  });

  it('are shared by folders of one repository, and outlive the first of them', async () => {
    await folders.match(['repo/x', 'repo/y']);
    const [root] = folders.roots;
    expect(ids()).toEqual(['/repo']);
    expect(closed.map(({ shownAs }) => shownAs)).toEqual(['repo/y']);
    expect(root?.shownAs).toBe('repo/x');
    expect(await folders.match(['repo/y'])).toEqual([]);
    expect(folders.roots[0]).toBe(root);
    expect(root?.shownAs).toBe('repo/y');
    expect(opened).toEqual(['repo/x', 'repo/y']);
  });

  it('go on when another folder of the repository takes the place of theirs', async () => {
    await folders.match(['repo/x']);
    const [root] = folders.roots;
    expect(await folders.match(['repo/y'])).toEqual([]);
    expect(folders.roots).toEqual([root]);
    expect(closed.length).toBe(1);
    expect(closed[0]).not.toBe(root);
  });

  it('are handed over to be closed, and opened anew afterwards', async () => {
    await folders.match(['a']);
    const [before] = folders.roots;
    expect(folders.clear()).toEqual([before]);
    expect(folders.roots).toEqual([]);
    await folders.match(['a']);
    expect(folders.roots[0]).not.toBe(before);
  });
});
