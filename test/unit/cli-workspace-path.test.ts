import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { workspacePath, workspacePaths } from '../../src/cli/workspace-path';
import { CheckpointsError } from '../../src/core/errors';

const top = realpathSync(mkdtempSync(path.join(tmpdir(), 'cli-paths-')));
const root = path.join(top, 'root');
const sub = path.join(root, 'sub');
mkdirSync(path.join(sub, 'deep'), { recursive: true });
writeFileSync(path.join(root, 'a.txt'), '');
writeFileSync(path.join(sub, 'b.txt'), '');
symlinkSync(root, path.join(top, 'link'));
symlinkSync(top, path.join(root, 'out'));
symlinkSync('sub', path.join(root, 'to-sub'));
afterAll(() => rmSync(top, { recursive: true }));

const nothing = () => Promise.resolve(false);

describe('paths of the command line', () => {
  it.each([
    [root, 'a.txt', 'a.txt'],
    [root, './sub/../a.txt', 'a.txt'],
    [root, 'gone.txt', 'gone.txt'],
    [root, 'sub/', 'sub'],
    [root, '.', ''],
    [root, path.join(root, 'a.txt'), 'a.txt'],
    [root, path.join(top, 'link', 'sub', 'new', 'x'), 'sub/new/x'],
    [path.join(top, 'link'), 'a.txt', 'a.txt'],
    [sub, 'b.txt', 'sub/b.txt'],
    [sub, '../a.txt', 'a.txt'],
    [sub, 'sub/b.txt', 'sub/b.txt'],
    [sub, 'a.txt', 'a.txt'],
    [sub, 'nowhere', 'sub/nowhere'],
    [root, 'out', 'out'],
    [root, 'to-sub', 'to-sub'],
    [root, 'to-sub/b.txt', 'sub/b.txt'],
    [root, 'out/x', 'out/x'],
  ])('from %s, %s is %s', async (cwd, given, wanted) => {
    expect(await workspacePath(root, cwd, given, nothing)).toBe(wanted);
  });

  it('prefers what the checkpoint knows, read from here', async () => {
    const knows = (known: string) => (one: string) => Promise.resolve(one === known);
    expect(await workspacePath(root, sub, 'old', knows('sub/old'))).toBe('sub/old');
    expect(await workspacePath(root, sub, 'sub/old', knows('sub/old'))).toBe('sub/old');
    expect(await workspacePath(root, sub, 'a.txt', knows('sub/a.txt'))).toBe('sub/a.txt');
    expect(await workspacePath(root, sub, 'b.txt', knows('b.txt'), { disk: false })).toBe('b.txt');
    // Then it was a folder.
    expect(await workspacePath(root, root, 'to-sub/b.txt', knows('to-sub/b.txt'))).toBe('to-sub/b.txt');
  });

  it('takes bytes that are not UTF-8 as they are printed, unless a file is really called so', async () => {
    const knows = (known: string) => (one: string) => Promise.resolve(one === known);
    expect(await workspacePath(root, sub, 'bad\\udcff\\uDCE9', knows('sub/bad\udcff\udce9'))).toBe(
      'sub/bad\udcff\udce9',
    );
    expect(await workspacePath(root, root, 'bad\\udcff', knows('bad\\udcff'))).toBe('bad\\udcff');
    writeFileSync(Buffer.concat([Buffer.from(`${root}/`), Buffer.from([0xff])]), '');
    expect(await workspacePath(root, sub, '\\udcff', nothing)).toBe('\udcff');
  });

  it.each(['../x', '/etc/passwd', ''])('refuses %j', async (given) => {
    const error = await workspacePath(root, root, given, nothing).catch((caught: unknown) => caught);
    expect(CheckpointsError.is(error, 'invalid-argument')).toBe(true);
  });

  it('takes the root for all', async () => {
    expect(await workspacePaths(root, root, undefined, nothing)).toBeUndefined();
    expect(await workspacePaths(root, root, ['a.txt', '.'], nothing)).toBeUndefined();
    expect(await workspacePaths(root, root, ['a.txt', './a.txt', 'sub'], nothing)).toEqual(['a.txt', 'sub']);
  });
});
