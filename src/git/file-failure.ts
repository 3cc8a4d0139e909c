import { sep } from 'node:path';
import { CheckpointsError } from '../core/errors';

const words: Record<string, string> = {
  EACCES: 'may not be written',
  EPERM: 'may not be written',
  EROFS: 'lies on a read-only volume',
  EBUSY: 'in use',
  ETXTBSY: 'in use',
  ENAMETOOLONG: 'its name is too long here',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk is full',
};

const misplaced = ['ENOTDIR', 'EISDIR', 'EEXIST', 'ENOENT', 'ELOOP', 'EIO'];

/** Why the file system did not let one path be changed; null when it was not the file system. */
export function inWords(error: unknown): string | null {
  const { code, errno } = (error ?? {}) as NodeJS.ErrnoException;
  if (typeof code !== 'string' || typeof errno !== 'number') return null;
  return words[code] ?? `cannot be changed (${code})`;
}

export function isFull(error: unknown): boolean {
  const code = (error as NodeJS.ErrnoException | null)?.code;
  return code === 'ENOSPC' || code === 'EDQUOT';
}

/** What the file system says about our store or, where it names a path of theirs, about the user's files: as a reason. */
export function storeFailure(error: unknown, store: string, root?: string): unknown {
  const code = (error as NodeJS.ErrnoException | null)?.code;
  const theirs = root !== undefined && concerns(error, root, store);
  if (isFull(error)) {
    const whose = theirs ? `workspace is full (${root})` : `store is full (${store})`;
    return new CheckpointsError('disk-full', `The disk of the ${whose}.`, { cause: error });
  }
  // Something else or nothing lies where a folder or file of ours belongs, or the disk does not give it back.
  if (!theirs && isWithin(error, store) && misplaced.includes(code ?? ''))
    return new CheckpointsError('store-broken', `The store is damaged: ${(error as Error).message}.`, { cause: error });
  if (code !== 'EROFS' && code !== 'EACCES' && code !== 'EPERM') return error;
  return theirs
    ? new CheckpointsError('workspace-readonly', `The workspace cannot be written (${root}).`, { cause: error })
    : new CheckpointsError('store-readonly', `The store cannot be written (${store}).`, { cause: error });
}

function concerns(error: unknown, root: string, store: string): boolean {
  return named(error).some((one) => below(one, root) && !below(one, store));
}

function isWithin(error: unknown, folder: string): boolean {
  return named(error).some((one) => below(one, folder));
}

function named(error: unknown): string[] {
  const { path, dest } = error as NodeJS.ErrnoException & { dest?: string };
  return [path, dest].filter((one) => typeof one === 'string');
}

function below(one: string, folder: string): boolean {
  return one === folder || one.startsWith(folder + sep);
}
