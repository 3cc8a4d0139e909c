import { readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { splitNul } from './empty-folders';
import { decodePath, encodePath, fsPath } from './path-bytes';
import { quietFlags, runGit } from './run';
import { readingObjects, type Asked } from './user-objects';

/**
 * Which of these new paths a nested repository leaves out by its own `info/exclude`. That file lies in its git folder, where the walk
 * never comes; so its git is asked, and only where the file says anything at all. What it tracks it does not leave out. Where git
 * cannot tell, nothing is left out: too much in a snapshot can be seen, too little is missed when it is too late.
 */
export async function excludedByNested(
  root: string,
  nested: readonly string[],
  paths: string[],
  scan: string,
): Promise<Set<string>> {
  const out = new Set<string>();
  const asking = nested.filter((folder) => hasRules(root, folder));
  if (asking.length === 0) return out;
  const owners = [...nested].sort((a, b) => b.length - a.length);
  const ownerOf = (path: string): string | undefined => owners.find((folder) => path.startsWith(`${folder}/`));
  for (const folder of asking) {
    const cwd = fsPath(root, folder);
    const own = paths.filter((path) => path.startsWith(`${folder}/`) && ownerOf(path) === folder);
    if (own.length === 0 || typeof cwd !== 'string') continue;
    const names = own.map((path) => encodePath(`./${path.slice(folder.length + 1)}`));
    const input = Buffer.concat(names.flatMap((name) => [name, Buffer.from([0])]));
    const args = [...quietFlags, 'check-ignore', '-z', '--stdin'];
    const result = await readingObjects(nestedRepo(root, folder), scan, (env) =>
      runGit(args, { cwd, env, input, accept: [1, 128] }),
    );
    if (result.code === 0)
      for (const name of splitNul(result.stdout)) out.add(`${folder}/${decodePath(name.subarray(2))}`);
  }
  return out;
}

function hasRules(root: string, folder: string): boolean {
  const git = gitFolderOf(root, folder);
  const text = git === null ? null : textOf(join(commonFolder(git), 'info', 'exclude'));
  return text !== null && text.split('\n').some((line) => line.trim() !== '' && !line.startsWith('#'));
}

/** Submodules and linked worktrees have theirs elsewhere; null where there is none, or none that we may see. */
export function gitFolderOf(root: string, folder: string): string | null {
  const git = join(root, folder, '.git');
  const text = textOf(git);
  if (text === null) return textOf(join(git, 'HEAD')) === null ? null : git;
  const named = /^gitdir: (.+)$/m.exec(text)?.[1];
  return named ? resolve(dirname(git), named) : null;
}

/** The repository at a folder of the workspace, '' being the workspace itself. */
export function nestedRepo(root: string, folder: string): Asked {
  const gitDir = gitFolderOf(root, folder);
  const commonDir = commonFolder(gitDir ?? join(root, folder, '.git'));
  return { top: join(root, folder), gitDir, commonDir, objects: join(commonDir, 'objects') };
}

/** Of a linked worktree: where what all of them share lies. */
function commonFolder(git: string): string {
  const named = textOf(join(git, 'commondir'))?.trim();
  return named ? resolve(git, named) : git;
}

function textOf(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null; // none, or none that we may see: then git cannot be asked either
  }
}
