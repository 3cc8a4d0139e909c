import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolder } from './folders';
import { userEnv } from './run';

/**
 * The environment for a question about an index of the user's. git expands a sparse one while it reads it, and writes the trees it comes by; asked
 * like this, it writes them to a folder of ours, which is gone afterwards, and the user's objects are only read.
 */
export async function readingObjects<T>(
  { objects, scan }: { objects: string; scan: string },
  ask: (env: NodeJS.ProcessEnv) => Promise<T>,
): Promise<T> {
  const scratch = join(scan, `${process.pid}-${randomBytes(4).toString('hex')}`);
  makeFolder(scratch);
  try {
    return await ask({
      ...userEnv(),
      GIT_OBJECT_DIRECTORY: scratch,
      GIT_ALTERNATE_OBJECT_DIRECTORIES: quoted(objects),
    });
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** It is a list: a name may hold what separates its names. */
function quoted(path: string): string {
  return `"${path.replace(/[\\"]/g, '\\$&').replace(/\n/g, '\\n')}"`;
}
