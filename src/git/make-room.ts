import { readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { CheckpointsError } from '../core/errors';
import type { Layout } from './layout';

/**
 * For what gives space back: on a disk that is full to the last byte it could not even take a lease. What is only there to be fast goes then, one after
 * the other, until it has room.
 */
export async function withRoom<T>(layout: Layout, work: () => Promise<T>): Promise<T> {
  for (;;)
    try {
      return await work();
    } catch (error) {
      if (!CheckpointsError.is(error, 'disk-full') || !makeRoom(layout)) throw error;
    }
}

/** The query index is made anew from the refs, the scanner's by the next look at the files. False: neither was there. */
function makeRoom({ folder, scan }: Layout): boolean {
  const indexes = readdirSync(folder).filter((name) => name === 'index.db' || name.startsWith('index.db.tmp-'));
  for (const path of [...indexes.map((name) => join(folder, name)), join(scan, 'index')]) {
    const found = statSync(path, { throwIfNoEntry: false });
    if (!found?.isFile() || found.size === 0) continue;
    rmSync(path, { force: true });
    return true;
  }
  return false;
}
