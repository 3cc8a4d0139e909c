import { createHash } from 'node:crypto';
import { existsSync, realpathSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join, sep } from 'node:path';
import { CheckpointsError } from '../core/errors';
import { runGit, userEnv } from './run';

export function workspaceId(root: string): string {
  return createHash('sha256').update(root).digest('hex').slice(0, 16);
}

export function workspaceFolder(home: string, root: string): string {
  return join(home, 'workspaces', workspaceId(root));
}

/** The same for all hosts: nearest ancestor with a store, else the git top level, else the folder itself. */
export async function resolveRoot(directory: string, home: string): Promise<string> {
  let start: string;
  try {
    start = realpathSync.native(directory);
    if (!statSync(start).isDirectory()) throw new Error('not a folder');
  } catch (error) {
    throw new CheckpointsError('invalid-argument', `There is no folder ${directory}.`, { cause: error });
  }
  const existing = ancestors(start).find((folder) => existsSync(join(workspaceFolder(home, folder), 'workspace.json')));
  const root = existing ?? (await gitTopLevel(start)) ?? start;
  refuseUnsafe(root, home);
  return root;
}

function ancestors(path: string): string[] {
  const out = [path];
  for (let at = path; dirname(at) !== at;) out.push((at = dirname(at)));
  return out;
}

async function gitTopLevel(folder: string): Promise<string | null> {
  const result = await runGit(['rev-parse', '--show-toplevel'], {
    cwd: folder,
    env: userEnv(),
    accept: [128, 129],
  });
  const top = result.stdout.toString('utf8').replace(/\r?\n$/, '');
  if (result.code !== 0 || top === '') return null;
  const real = realpathSync.native(top);
  // A home folder under version control is still a home folder: the workspace is then the folder itself.
  return isRefused(real) ? null : real;
}

const systemFolders = [
  '/',
  '/tmp',
  '/var',
  '/etc',
  '/usr',
  '/bin',
  '/sbin',
  '/lib',
  '/opt',
  '/dev',
  '/proc',
  '/sys',
  '/boot',
  '/root',
  '/home',
  '/Users',
  '/System',
  '/Library',
  '/Applications',
  '/private',
  '/private/tmp',
  '/private/var',
  '/mnt',
  '/media',
  '/srv',
  '/run',
];

function isRefused(root: string): string | null {
  const home = real(homedir());
  if (root === home) return 'it is your home folder';
  for (const name of ['Desktop', 'Documents', 'Downloads'])
    if (root === join(home, name)) return `it is your ${name} folder`;
  if (dirname(root) === root) return 'it is the root of a file system';
  if (systemFolders.includes(root)) return 'it is a system folder';
  if (process.platform === 'win32' && /^[a-z]:\\(windows|program files( \(x86\))?|programdata|users)$/i.test(root))
    return 'it is a system folder';
  if (home.startsWith(root + sep)) return 'your home folder lies inside it';
  return null;
}

function refuseUnsafe(root: string, home: string): void {
  const why = isRefused(root);
  const store = real(home);
  const reason =
    why ??
    (root === store || root.startsWith(store + sep)
      ? 'it is the store of the checkpoints itself'
      : store.startsWith(root + sep)
        ? 'the store of the checkpoints lies inside it'
        : null);
  if (reason)
    throw new CheckpointsError(
      'refused-root',
      `${root} cannot be a workspace: ${reason}. Open a project folder inside it.`,
      {
        details: { root },
      },
    );
}

function real(path: string): string {
  try {
    return realpathSync.native(path);
  } catch {
    return path; // not there yet: nothing can lie inside it
  }
}
