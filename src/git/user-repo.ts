import { existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { GitFacet } from '../core/model';
import type { HashName } from './pack-writer';
import { isMissing } from './refs';
import { quietFlags, runGit, userEnv } from './run';
import { readingObjects } from './user-objects';

/** The user's own repository, only read: where its parts lie. */
export interface UserRepo {
  objectFormat: HashName;
  gitDir: string;
  commonDir: string;
  index: string;
  objects: string;
  infoExclude: string;
  infoAttributes: string;
}

export async function findUserRepo(root: string): Promise<UserRepo | null> {
  const result = await runGit(
    [
      ...quietFlags,
      'rev-parse',
      '--path-format=absolute',
      '--show-object-format',
      '--show-toplevel',
      '--git-dir',
      '--git-common-dir',
      '--git-path',
      'index',
      '--git-path',
      'objects',
      '--git-path',
      'info/exclude',
      '--git-path',
      'info/attributes',
    ],
    { cwd: root, env: userEnv(), accept: [128, 129] },
  );
  if (result.code !== 0) return null;
  const [format, top, gitDir, commonDir, index, objects, infoExclude, infoAttributes] = result.stdout
    .toString('utf8')
    .split('\n');
  // A workspace inside a larger repository has no index of its own to build on.
  if (top !== root || !gitDir || !commonDir || !index || !objects || !infoExclude || !infoAttributes) return null;
  const objectFormat: HashName = format === 'sha256' ? 'sha256' : 'sha1';
  return { objectFormat, gitDir, commonDir, index, objects, infoExclude, infoAttributes };
}

/** The user's global ignore file: isolated git no longer sees it, so it is handed over by name. */
export async function globalExcludes(root: string): Promise<string> {
  const result = await runGit([...quietFlags, 'config', '--path', '--get', 'core.excludesFile'], {
    cwd: root,
    env: userEnv(),
    accept: [1, 128],
  });
  const named = result.stdout.toString('utf8').replace(/\n$/, '');
  if (result.code === 0 && named) return named;
  return join(process.env.XDG_CONFIG_HOME || join(homedir(), '.config'), 'git', 'ignore');
}

export interface Head {
  commit: string | null;
  branch: string | null;
}

/** HEAD by reading git's files; asks git where they are of another kind. */
export async function readHead(root: string, repo: UserRepo): Promise<Head> {
  const head = readText(join(repo.gitDir, 'HEAD'));
  if (head && /^[0-9a-f]{40,64}$/.test(head)) return { commit: head, branch: null };
  const ref = /^ref: (refs\/heads\/(?!\.invalid)(.+))$/.exec(head ?? '');
  if (ref) {
    const branch = ref[2]!;
    const loose = readText(join(repo.commonDir, ref[1]!));
    if (loose && /^[0-9a-f]{40,64}$/.test(loose)) return { commit: loose, branch };
    const packed = readText(join(repo.commonDir, 'packed-refs')) ?? '';
    const line = packed.split('\n').find((l) => l.endsWith(` ${ref[1]!}`));
    return { commit: line ? line.slice(0, line.indexOf(' ')) : null, branch };
  }
  const options = { cwd: root, env: userEnv(), accept: [1, 128] };
  const [commit, branch] = await Promise.all([
    runGit([...quietFlags, 'rev-parse', '-q', '--verify', 'HEAD'], options),
    runGit([...quietFlags, 'symbolic-ref', '-q', '--short', 'HEAD'], options),
  ]);
  const line = (out: Buffer): string | null => out.toString('utf8').trim() || null;
  return { commit: line(commit.stdout), branch: line(branch.stdout) };
}

export async function headTree(root: string): Promise<string | null> {
  const result = await runGit([...quietFlags, 'rev-parse', '-q', '--verify', 'HEAD^{tree}'], {
    cwd: root,
    env: userEnv(),
    accept: [1, 128],
  });
  return result.stdout.toString('utf8').trim() || null;
}

/** The slow and sure way, for trees that cannot be compared (converted line ends, files kept out). */
export async function isDirty(root: string, repo: UserRepo, scan: string): Promise<boolean> {
  const args = [...quietFlags, 'status', '--porcelain', '--no-renames', '--ignore-submodules=none'];
  const { stdout } = await readingObjects({ ...repo, top: root }, scan, (env) =>
    runGit(args, { cwd: root, env, accept: [128] }),
  );
  return stdout.length > 0;
}

/** Not all of its commit's files are on disk, and none of them is missing. */
export const isSparse = ({ gitDir }: UserRepo): boolean => existsSync(join(gitDir, 'info', 'sparse-checkout'));

export function gitFacet(head: Head, dirty: boolean): GitFacet {
  return { commit: head.commit, branch: head.branch, dirty };
}

function readText(path: string): string | null {
  try {
    return readFileSync(path, 'utf8').trimEnd();
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
}
