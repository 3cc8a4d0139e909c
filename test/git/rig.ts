import { createHash } from 'node:crypto';
import { execFileSync } from 'node:child_process';
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { Workspace } from '../../src/core/workspace';
import { openWorkspace, type OpenOptions } from '../../src/git/open';
import { GitSync } from '../../src/sync/sync';

export interface Sandbox {
  /** The workspace. */
  root: string;
  /** The folder of all stores. */
  home: string;
  open(options?: Partial<OpenOptions>): Promise<Workspace>;
  write(path: string, content: string | Buffer): void;
  read(path: string): string;
  git(...args: string[]): string;
  sh(script: string): string;
}

/** Newer gits tidy up behind a commit, in the background: a test that looks at every byte of `.git` must not meet that. */
const settings = ['user.name=Test', 'user.email=test@localhost', 'maintenance.auto=false'].flatMap((one) => [
  '-c',
  one,
]);

/** A fresh folder with its own store, removed when the test ends. `git: false` for a folder without git. */
export function sandbox(options: { git?: boolean; name?: string } = {}): Sandbox {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'checkpoints-git-')));
  const root = join(base, options.name ?? 'work');
  const home = join(base, 'store');
  mkdirSync(root);
  const open: Workspace[] = [];
  onTestFinished(async () => {
    for (const workspace of open) await workspace.close();
    execFileSync('chmod', ['-R', 'u+rwX', base]);
    rmSync(base, { recursive: true, force: true });
  });
  const env = { ...process.env, HOME: base, XDG_CONFIG_HOME: join(base, 'config') };
  const box: Sandbox = {
    root,
    home,
    async open(more = {}) {
      const workspace = await openWorkspace({ directory: root, home, sync: (parts) => new GitSync(parts), ...more });
      open.push(workspace);
      return workspace;
    },
    write(path, content) {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      writeFileSync(join(root, path), content);
    },
    read: (path) => readFileSync(join(root, path), 'utf8'),
    git: (...args) =>
      execFileSync('git', [...settings, ...args], {
        cwd: root,
        env,
        encoding: 'utf8',
        stdio: ['pipe', 'pipe', 'pipe'],
      }),
    sh: (script) =>
      execFileSync('bash', ['-ec', script], { cwd: root, env, encoding: 'utf8', stdio: ['pipe', 'pipe', 'pipe'] }),
  };
  if (options.git !== false) box.git('init', '-q', '-b', 'main');
  return box;
}

/** Everything below a folder but `.git`: type, executable bit and content of each path. Names are bytes. */
export function picture(root: string, options: { except?: (path: string) => boolean } = {}): Map<string, string> {
  const out = new Map<string, string>();
  const walk = (folder: Buffer, prefix: string): void => {
    const entries = readdirSync(folder, { withFileTypes: true, encoding: 'buffer' }) as unknown as Array<{
      name: Buffer;
    }>;
    for (const { name } of entries) {
      const text = name.toString('latin1');
      if (text === '.git') continue;
      const path = prefix + text;
      if (options.except?.(path)) continue;
      const full = Buffer.concat([folder, Buffer.from('/'), name]);
      const stat = lstatSync(full);
      if (stat.isDirectory()) {
        out.set(`${path}/`, 'folder');
        walk(full, `${path}/`);
      } else if (stat.isSymbolicLink())
        out.set(path, `link ${(readlinkSync(full, { encoding: 'buffer' }) as unknown as Buffer).toString('latin1')}`);
      else if (stat.isFile())
        out.set(path, `${stat.mode & 0o100 ? 'exec' : 'file'} ${readFileSync(full).toString('latin1')}`);
      else out.set(path, 'special');
    }
  };
  walk(Buffer.from(root), '');
  return new Map([...out].sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** One hash over every byte of every `.git` below a folder. */
export function gitBytes(root: string): string {
  const hash = createHash('sha256');
  const walk = (folder: string, inside: boolean): void => {
    for (const entry of readdirSync(folder, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1))) {
      const path = join(folder, entry.name);
      const within = inside || entry.name === '.git';
      if (entry.isDirectory()) walk(path, within);
      else if (within && entry.isFile()) hash.update(path).update('\0').update(readFileSync(path)).update('\0');
    }
  };
  walk(root, false);
  return hash.digest('hex');
}
