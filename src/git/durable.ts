import { randomBytes } from 'node:crypto';
import { closeSync, fsyncSync, openSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { codeOf } from '../core/atomic-file';
import { CheckpointsError } from '../core/errors';
import { makeFolder } from './folders';
import { isMissing } from './refs';

/** Temporary file beside the target, synced, then renamed over it: old or new, never half. */
export function writeFileDurably(path: string, content: string | Buffer, mode = 0o600): void {
  makeFolder(dirname(path));
  const temporary = `${path}.tmp-${process.pid}-${randomBytes(4).toString('hex')}`;
  try {
    const fd = openSync(temporary, 'wx', mode);
    try {
      writeFileSync(fd, content);
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
}

/** The names in these folders survive a power cut from here on; on one volume what came first survives where what follows does. */
export function syncFolders(folders: readonly string[]): void {
  if (process.platform === 'win32') return; // no folder can be opened there
  for (const folder of folders) {
    const fd = openSync(folder, 'r');
    try {
      fsyncSync(fd);
    } catch (error) {
      // Some network file systems have no such thing.
      if (!['EINVAL', 'ENOTSUP', 'ENOSYS'].includes(codeOf(error))) throw error;
    } finally {
      closeSync(fd);
    }
  }
}

/** null when the file is not there; a damaged one throws. */
export function readJson(path: string): unknown {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if (isMissing(error)) return null;
    if ((error as NodeJS.ErrnoException).code === 'EISDIR')
      throw new CheckpointsError('store-broken', `A folder is where a file should be: ${path}.`, { cause: error });
    throw error;
  }
  return JSON.parse(text);
}
