import { closeSync, fsync, fsyncSync, openSync } from 'node:fs';
import { promisify } from 'node:util';

/** What was written to it, by whomever, is on the disk from here on. */
export function syncFile(path: string): void {
  const fd = openSync(path, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

const fsyncLater = promisify(fsync);

/** Several open files at once: waiting for the disk once is shorter than once for each. None is waited for any more when it ends or throws. */
export async function syncAll(fds: readonly number[]): Promise<void> {
  const ended = await Promise.allSettled(fds.map((fd) => fsyncLater(fd)));
  for (const one of ended) if (one.status === 'rejected') throw one.reason;
}
