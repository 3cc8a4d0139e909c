import { randomBytes } from 'node:crypto';
import { open, readdir, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { CheckpointsError, type Reason } from './errors';

/** Names of temporary files: the file's own, the process, and something nobody else has. */
const temporary = /\.tmp-\d+-[0-9a-f]{12}$/;
/** A writer needs milliseconds; what is left after this long belongs to a process that was killed. */
const leftoverAge = 60_000;

/**
 * The file has either its old content or all of the new one, whatever happens in between. `beforeRename` may still object, by throwing, when the new
 * content is on disk but not yet in place.
 */
export async function writeAtomic(
  path: string,
  content: string | Uint8Array,
  mode = 0o600,
  beforeRename?: () => void | Promise<void>,
): Promise<void> {
  const temp = `${path}.tmp-${process.pid}-${randomBytes(6).toString('hex')}`;
  try {
    const file = await open(temp, 'wx', mode);
    try {
      await file.writeFile(content);
      await file.sync();
    } finally {
      await file.close();
    }
    await beforeRename?.();
    await rename(temp, path);
  } catch (error) {
    await rm(temp, { force: true });
    throw storeError(error, path);
  }
  await syncFolder(dirname(path));
}

/** So that the rename itself survives a power cut. Not every system lets a folder be opened; the file is whole without it. */
async function syncFolder(folder: string): Promise<void> {
  if (process.platform === 'win32') return;
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } catch (error) {
    // Some network file systems refuse this with EINVAL or ENOTSUP: then there is nothing to be done about it.
    if (!['EINVAL', 'ENOTSUP', 'ENOSYS', 'EIO'].includes(codeOf(error))) throw storeError(error, folder);
  } finally {
    await handle.close();
  }
}

/** Removes temporary files that killed writers of `path` left beside it; says which. */
export async function sweepLeftovers(path: string, now = Date.now()): Promise<string[]> {
  const folder = dirname(path);
  const removed: string[] = [];
  for (const name of await readdir(folder)) {
    if (!name.startsWith(`${basename(path)}.`) || !temporary.test(name)) continue;
    const full = join(folder, name);
    const age = await stat(full).then(
      (info) => now - info.mtimeMs,
      // Its writer has just renamed or removed it.
      () => -1,
    );
    if (age < leftoverAge) continue;
    await rm(full, { force: true });
    removed.push(name);
  }
  return removed;
}

const reasons: Record<string, Reason> = {
  ENOSPC: 'disk-full',
  EDQUOT: 'disk-full',
  EROFS: 'store-readonly',
  EACCES: 'store-readonly',
  EPERM: 'store-readonly',
};

/** The system's error with the reason hosts know, the original kept. */
export function storeError(error: unknown, path: string): unknown {
  const reason = reasons[codeOf(error)];
  if (reason === undefined) return error;
  const why = reason === 'disk-full' ? 'the disk is full' : 'it is read-only';
  return new CheckpointsError(reason, `${path} could not be written: ${why}.`, { cause: error });
}

export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
}
