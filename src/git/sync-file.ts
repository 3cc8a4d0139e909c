import { closeSync, fsyncSync, openSync } from 'node:fs';

/** What was written to it, by whomever, is on the disk from here on. */
export function syncFile(path: string): void {
  const fd = openSync(path, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
