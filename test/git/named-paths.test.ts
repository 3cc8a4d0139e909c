import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { normalisePaths } from '../../src/git/capture';

describe.skipIf(process.platform === 'win32')('paths that a tool names', () => {
  let home: string;
  let root: string;
  beforeEach(() => {
    home = realpathSync(mkdtempSync(join(tmpdir(), 'named-paths-')));
    root = join(home, 'root');
    mkdirSync(join(root, 'sub'), { recursive: true });
    writeFileSync(join(root, 'real.txt'), '');
  });
  afterEach(() => rmSync(home, { recursive: true, force: true }));
  const link = (target: string, path: string): void => symlinkSync(target, join(root, path));

  it('are those of the files that are written through links', () => {
    link('real.txt', 'alias.txt');
    link('../alias.txt', 'sub/twice.txt');
    link('sub', 'linked');
    link('sub/new.txt', 'dangling.txt');
    const inside = (path: string): string[] => normalisePaths(root, [path]).inside;
    expect(inside('real.txt')).toEqual(['real.txt']);
    expect(inside('alias.txt')).toEqual(['alias.txt', 'real.txt']);
    expect(inside('linked/twice.txt')).toEqual(['sub/twice.txt', 'alias.txt', 'real.txt']);
    expect(inside('linked/none/yet.txt')).toEqual(['sub/none/yet.txt']);
    expect(inside('dangling.txt')).toEqual(['dangling.txt', 'sub/new.txt']);
  });

  it('are told where a link leads out, and end where links go in circles', () => {
    link('../far.txt', 'out.txt');
    link('round.txt', 'circle.txt');
    link('circle.txt', 'round.txt');
    expect(normalisePaths(root, ['out.txt'])).toEqual({
      inside: ['out.txt'],
      outside: [{ path: join(home, 'far.txt'), reason: 'outside the workspace' }],
    });
    expect(normalisePaths(root, ['circle.txt'])).toEqual({ inside: ['circle.txt', 'round.txt'], outside: [] });
  });
});
