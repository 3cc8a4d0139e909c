import { execFileSync } from 'node:child_process';
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { layoutOf } from '../../src/git/layout';
import type { Sandbox } from './rig';

const env = { ...process.env, GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' };

export interface Bare {
  path: string;
  git(...args: string[]): string;
  /** ref -> oid */
  refs(): Map<string, string>;
  /** Every path of every commit that any ref reaches. */
  paths(): Set<string>;
  /** Everything that is reachable, as text: file contents and messages. */
  everything(): string;
  objects(): number;
}

/** A bare repository that people push to; removed when the test ends. */
export function bareRemote(...options: string[]): Bare {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'checkpoints-remote-')));
  onTestFinished(() => rmSync(base, { recursive: true, force: true }));
  const path = join(base, 'shared.git');
  execFileSync('git', ['init', '-q', '--bare', ...options, path], { env });
  return bareAt(path);
}

export function bareAt(path: string): Bare {
  const git = (...args: string[]): string =>
    execFileSync('git', [`--git-dir=${path}`, ...args], { env, encoding: 'utf8', maxBuffer: 256 << 20 });
  const lines = (text: string): string[] => text.split('\n').filter(Boolean);
  return {
    path,
    git,
    refs: () =>
      new Map(
        lines(git('for-each-ref', '--format=%(refname) %(objectname)')).map((l) => l.split(' ') as [string, string]),
      ),
    paths: () => {
      const found = new Set<string>();
      for (const commit of lines(git('rev-list', '--all')))
        for (const name of git('ls-tree', '-r', '-z', '--name-only', commit).split('\0')) if (name) found.add(name);
      return found;
    },
    everything: () =>
      lines(git('rev-list', '--objects', '--all'))
        .map((line) => git('cat-file', '-p', line.split(' ')[0] ?? ''))
        .join('\n'),
    objects: () =>
      Number(/count: (\d+)/.exec(git('count-objects', '-v'))?.[1]) +
      Number(/in-pack: (\d+)/.exec(git('count-objects', '-v'))?.[1]),
  };
}

/** The store of a workspace, for looking into it with git itself. */
export function storeOf(box: Sandbox): Bare {
  return bareAt(layoutOf(box.home, box.root).gitDir);
}
