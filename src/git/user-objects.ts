import { randomBytes } from 'node:crypto';
import { constants, copyFileSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolder } from './folders';
import { isMissing } from './refs';
import { userEnv } from './run';

/** A repository of the user's, or one nested in theirs. */
export interface Asked {
  /** Its work tree. */
  top: string;
  /** null where it is not known: git finds it by itself. */
  gitDir: string | null;
  commonDir: string;
  objects: string;
}

/**
 * The environment for a question about an index of the user's. git expands a sparse one while it reads it, and writes the trees it comes by; asked
 * like this, it writes them to a folder of ours, which is gone afterwards, and the user's objects are only read.
 */
export async function readingObjects<T>(
  repo: Asked,
  scan: string,
  ask: (env: NodeJS.ProcessEnv) => Promise<T>,
): Promise<T> {
  const scratch = join(scan, `${process.pid}-${randomBytes(4).toString('hex')}`);
  makeFolder(scratch);
  try {
    return await ask({
      ...userEnv(),
      ...splitIndex(repo, join(scratch, 'git')),
      GIT_OBJECT_DIRECTORY: scratch,
      GIT_ALTERNATE_OBJECT_DIRECTORIES: quoted(repo.objects),
    });
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** Of a split index git dates the shared part anew whenever it reads it. So it reads copies, in a git folder of ours that has the rest in common with the user's. */
function splitIndex({ top, gitDir, commonDir }: Asked, ours: string): NodeJS.ProcessEnv {
  if (gitDir === null) return {};
  const shared = readdirSync(gitDir).filter((name) => name.startsWith('sharedindex.'));
  if (shared.length === 0) return {};
  makeFolder(join(ours, 'info'));
  for (const name of [...shared, 'index', 'HEAD', 'config.worktree', 'info/sparse-checkout']) {
    try {
      copyFileSync(join(gitDir, name), join(ours, name), constants.COPYFILE_FICLONE);
    } catch (error) {
      if (!isMissing(error)) throw error;
    }
  }
  return { GIT_DIR: ours, GIT_COMMON_DIR: commonDir, GIT_WORK_TREE: top };
}

/** It is a list: a name may hold what separates its names. */
function quoted(path: string): string {
  return `"${path.replace(/[\\"]/g, '\\$&').replace(/\n/g, '\\n')}"`;
}
