import { mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { codeOf } from '../core/atomic-file';

/**
 * A folder with all above it, or the reason why not. Node's own `recursive` says "no such file" where a volume is read-only or full,
 * and never ends where a file system says so itself (/proc, a drive that is gone).
 */
export function makeFolder(path: string, mode = 0o777, make: (path: string, mode: number) => void = makeOne): void {
  try {
    make(path, mode);
  } catch (error) {
    if (codeOf(error) !== 'ENOENT' || dirname(path) === path) throw error;
    makeFolder(dirname(path), mode, make);
    make(path, mode);
  }
}

function makeOne(path: string, mode: number): void {
  try {
    mkdirSync(path, { mode });
  } catch (error) {
    // Whatever it says of a folder that is there: some file systems name another reason first.
    if (!statSync(path, { throwIfNoEntry: false })?.isDirectory()) throw error;
  }
}
