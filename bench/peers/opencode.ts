import { existsSync } from 'node:fs';
import { copyFile, mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Engine, EngineKind, Mark, Place } from '../engine';
import { git, gitList, gitText, nulList, type RunOptions } from '../exec';

const core = ['-c', 'core.longpaths=true', '-c', 'core.symlinks=true'];
const exact = ['-c', 'core.autocrlf=false', ...core];
const quoted = [...exact, '-c', 'core.quotepath=false'];
const largest = 2 * 1024 * 1024;
const batch = 100;

/**
 * OpenCode's own snapshots (1.18): a repository that borrows the user's objects and index; a checkpoint is a tree id
 * without a ref. `revert` checks out the paths its steps recorded; `restoreAll` is its unrevert, which rewrites every file.
 */
export class OpenCode implements Engine {
  readonly name = 'opencode';

  constructor(private readonly place: Place) {}

  async first(): Promise<Mark> {
    await mkdir(this.place.store, { recursive: true });
    const { tree, store } = this.place;
    await git(['init'], { env: { ...process.env, GIT_DIR: store, GIT_WORK_TREE: tree } });
    const settings = {
      'core.autocrlf': 'false',
      'core.longpaths': 'true',
      'core.symlinks': 'true',
      'core.fsmonitor': 'false',
      'feature.manyFiles': 'true',
      'index.version': '4',
      'index.threads': 'true',
      'core.untrackedCache': 'true',
    };
    for (const [key, value] of Object.entries(settings)) await git(['--git-dir', store, 'config', key, value]);
    const common = await gitText(['rev-parse', '--path-format=absolute', '--git-common-dir'], { cwd: tree });
    await mkdir(join(store, 'objects', 'info'), { recursive: true });
    await writeFile(join(store, 'objects', 'info', 'alternates'), join(common, 'objects') + '\n');
    await copyFile(join(common, 'index'), join(store, 'index'));
    return this.checkpoint();
  }

  async checkpoint(): Promise<Mark> {
    await this.add();
    return gitText(this.own(['write-tree']), this.at);
  }

  /** Between two trees; the original also builds a patch per file in JavaScript, which is left out in its favour. */
  async diff(from: Mark, to: Mark): Promise<string[]> {
    const between = ['diff', '--no-ext-diff', '--no-renames'];
    const status = await gitText([...quoted, ...this.own([...between, '--name-status', from, to, '--', '.'])], this.at);
    const counts = await gitText([...quoted, ...this.own([...between, '--numstat', from, to, '--', '.'])], this.at);
    const kinds = new Map(status.split('\n').map((line) => [line.slice(2), line[0]] as const));
    const paths = counts
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => line.split('\t')[2] ?? '');
    const wanted = paths.flatMap((path) => {
      if (kinds.get(path) === 'A') return [`${to}:${path}`];
      if (kinds.get(path) === 'D') return [`${from}:${path}`];
      return [`${from}:${path}`, `${to}:${path}`];
    });
    await git([...exact, ...this.own(['cat-file', '--batch'])], { ...this.at, input: wanted.join('\n') + '\n' });
    return paths;
  }

  /** Its undo: a snapshot of now first, then the recorded paths, a hundred at a time. */
  async restore(target: Mark, changed: readonly string[]): Promise<void> {
    await this.checkpoint();
    await git([...core, ...this.own(['cat-file', '-e', `${target}^{tree}`])], this.at);
    for (let start = 0; start < changed.length; start += batch)
      await this.revert(target, changed.slice(start, start + batch));
  }

  /** Its redo. */
  async restoreAll(target: Mark): Promise<void> {
    await git([...core, ...this.own(['read-tree', target])], this.at);
    await git([...core, ...this.own(['checkout-index', '-a', '-f'])], this.at);
  }

  settle(): Promise<void> {
    return Promise.resolve();
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  private async revert(target: Mark, paths: readonly string[]): Promise<void> {
    const files = (list: readonly string[]): string[] => list.map((path) => join(this.place.tree, path));
    if (paths.length === 1) {
      const one = await git([...core, ...this.own(['checkout', target, '--', ...files(paths)])], {
        ...this.at,
        allow: [1],
      });
      if (one.code === 0) return;
      await git([...core, ...this.own(['ls-tree', target, '--', ...paths])], this.at);
      await rm(join(this.place.tree, paths[0] ?? ''), { force: true });
      return;
    }
    const listed = await gitText([...core, ...this.own(['ls-tree', '--name-only', target, '--', ...paths])], this.at);
    const there = new Set(listed.split('\n'));
    const back = paths.filter((path) => there.has(path));
    if (back.length > 0) await git([...core, ...this.own(['checkout', target, '--', ...files(back)])], this.at);
    for (const file of files(paths.filter((path) => !there.has(path)))) await rm(file, { force: true });
  }

  private async add(): Promise<void> {
    await this.syncExcludes([]);
    const [changed, untracked] = await Promise.all([
      gitList([...quoted, ...this.own(['diff-files', '--name-only', '-z', '--', '.'])], this.at),
      gitList([...quoted, ...this.own(['ls-files', '--others', '--exclude-standard', '-z', '--', '.'])], this.at),
    ]);
    const all = [...new Set([...changed, ...untracked])];
    if (all.length === 0) return;
    const ignored = await this.ignored(all);
    if (ignored.size > 0) await this.onPaths(['rm', '--cached', '-f', '--ignore-unmatch'], [...ignored]);
    const kept = all.filter((path) => !ignored.has(path));
    if (kept.length === 0) return;
    const sizes = new Map(await Promise.all(kept.map(async (path) => [path, await this.size(path)] as const)));
    const large = untracked.filter((path) => (sizes.get(path) ?? 0) > largest);
    await this.syncExcludes(large);
    await this.onPaths(
      ['add', '--all', '--sparse'],
      kept.filter((path) => !large.includes(path)),
    );
  }

  private onPaths(command: readonly string[], paths: readonly string[]): Promise<unknown> {
    return git([...exact, ...this.own([...command, '--pathspec-from-file=-', '--pathspec-file-nul'])], {
      ...this.at,
      input: paths.map((path) => `:(top,literal)${path}\0`).join(''),
    });
  }

  private async ignored(paths: readonly string[]): Promise<Set<string>> {
    const user = ['--git-dir', join(this.place.tree, '.git'), '--work-tree', this.place.tree];
    const check = await git([...quoted, ...user, 'check-ignore', '--no-index', '--stdin', '-z'], {
      ...this.at,
      input: paths.join('\0') + '\0',
      allow: [1],
    });
    return new Set(nulList(check.stdout.toString('utf8')));
  }

  /** A file that is gone has no size. */
  private size(path: string): Promise<number> {
    return stat(join(this.place.tree, path)).then(
      (found) => found.size,
      () => 0,
    );
  }

  private async syncExcludes(large: readonly string[]): Promise<void> {
    const file = await gitText(['rev-parse', '--path-format=absolute', '--git-path', 'info/exclude'], this.at);
    const users = existsSync(file) ? (await readFile(file, 'utf8')).trimEnd() : '';
    await mkdir(join(this.place.store, 'info'), { recursive: true });
    const lines = [users, ...large.map((path) => `/${path}`)].filter((line) => line !== '');
    await writeFile(join(this.place.store, 'info', 'exclude'), lines.map((line) => line + '\n').join(''));
  }

  private own(command: readonly string[]): string[] {
    return ['--git-dir', this.place.store, '--work-tree', this.place.tree, ...command];
  }

  private get at(): RunOptions {
    return { cwd: this.place.tree };
  }
}

export const opencode: EngineKind = {
  name: 'opencode',
  plainFolders: false,
  scans: true,
  slowFirst: false,
  open: (place) => new OpenCode(place),
};
