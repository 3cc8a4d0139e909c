import { mkdir, rm, stat, utimes } from 'node:fs/promises';
import { dirname } from 'node:path';
import { withShortLock } from '../core/short-lock';

/** A lock that is not touched for this long belongs to nobody any more. */
const staleMs = 30_000;
const beatMs = 5_000;
/** Between making the file and writing into it who made it there is no waiting. */
const namelessMs = 2_000;

/** A lock for work of minutes: while it goes on, the lock is kept fresh. Throws `busy` when another process has it. */
export async function withLongLock<T>(
  path: string,
  work: (confirm: () => Promise<void>) => Promise<T>,
  waitMs = 0,
): Promise<T> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  await dropNameless(path);
  return withShortLock(
    path,
    async (confirm) => {
      const beat = setInterval(() => {
        const now = new Date();
        // Taken over or removed: `confirm` tells, before anything depends on it.
        utimes(path, now, now).catch(() => undefined);
      }, beatMs);
      beat.unref();
      try {
        return await work(confirm);
      } finally {
        clearInterval(beat);
      }
    },
    { waitMs, staleMs },
  );
}

/** A process that was killed between the two left a lock that nobody owns. */
async function dropNameless(path: string): Promise<void> {
  // Not there: the usual case.
  const info = await stat(path).catch(() => null);
  if (info?.size === 0 && Date.now() - info.mtimeMs > namelessMs) await rm(path, { force: true });
}
