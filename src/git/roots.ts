import { createHash } from 'node:crypto';
import { existsSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, dirname, join, resolve, sep } from 'node:path';
import { CheckpointsError } from '../core/errors';
import { quietFlags, runGit, userEnv } from './run';

function workspaceId(root: string): string {
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
  const result = await runGit([...quietFlags, 'rev-parse', '--show-toplevel'], {
    cwd: folder,
    env: userEnv(),
    accept: [128, 129],
  });
  const top = result.stdout.toString('utf8').replace(/\r?\n$/, '');
  if (result.code !== 0 || top === '') return null;
  const real = realpathSync.native(top);
  // The git folder of a submodule names a work tree elsewhere.
  if (folder !== real && !folder.startsWith(real + sep)) return null;
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
  '/usr/local',
  '/usr/src',
  '/var/cache',
  '/var/lib',
  '/var/log',
  '/var/tmp',
];

/** Nothing below these is anybody's project. `/bin` and `/lib` are links into `/usr` on most systems: real paths are compared. */
const systemTrees =
  /^(\/usr)?\/(bin|sbin|lib(32|64|x32|exec)?)(\/|$)|^\/usr\/(share|include)(\/|$)|^\/(proc|sys|boot|System)(\/|$)/;

function isRefused(root: string): string | null {
  const home = real(homedir());
  if (root === home) return 'it is your home folder';
  for (const name of ['Desktop', 'Documents', 'Downloads'])
    if (root === join(home, name)) return `it is your ${name} folder`;
  if (dirname(root) === root) return 'it is the root of a file system';
  if (systemFolders.includes(root)) return 'it is a system folder';
  if (
    process.platform === 'win32' &&
    /^[a-z]:\\(windows(\\.*)?|program files( \(x86\))?|programdata|users)$/i.test(root)
  )
    return 'it is a system folder';
  if (process.platform !== 'win32' && systemTrees.test(root) && !root.startsWith(home + sep))
    return 'it is part of the system';
  if (home.startsWith(root + sep)) return 'your home folder lies inside it';
  return null;
}

/** A restore would rewrite the repository itself: its history, its index, its hooks. */
function holdsRepository(root: string): string | null {
  if (insideGitFolder(root)) return 'it is part of a git repository itself';
  const elsewhere = gitFileTarget(root);
  // Folders named `.git` are never captured; one of another name would be.
  const name = elsewhere?.startsWith(root + sep) ? elsewhere.slice(root.length + 1) : null;
  return name && !name.split(sep).includes('.git') ? `its git repository lies in it as ${name}` : null;
}

/** As git looks for its folder: a work tree is met first, even one that lies in a bare repository. */
function insideGitFolder(root: string): boolean {
  for (const folder of ancestors(root)) {
    if (basename(folder) === '.git') return true;
    if (existsSync(join(folder, '.git'))) return false;
    if (['HEAD', 'objects', 'refs'].every((name) => existsSync(join(folder, name)))) return true;
  }
  return false;
}

/** Where a `.git` that is a file leads to. */
function gitFileTarget(root: string): string | null {
  const path = join(root, '.git');
  if (!statSync(path, { throwIfNoEntry: false })?.isFile()) return null;
  const named = /^gitdir: (.+)/.exec(readFileSync(path, 'utf8'))?.[1];
  return named === undefined ? null : real(resolve(root, named.trimEnd()));
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
  if (reason) throw refused(root, `${reason}.`);
  const repository = holdsRepository(root);
  if (repository) throw refused(root, `${repository}. Open a work tree of it instead.`);
}

function refused(root: string, why: string): CheckpointsError {
  return new CheckpointsError('refused-root', `${root} cannot be a workspace: ${why}`, { details: { root } });
}

function real(path: string): string {
  try {
    return realpathSync.native(path);
  } catch {
    return path; // not there yet: nothing can lie inside it
  }
}
