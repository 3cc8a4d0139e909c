import { randomBytes } from 'node:crypto';
import { open, readFile, rm, stat } from 'node:fs/promises';
import { hostname } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import { codeOf, storeError } from './atomic-file';
import { CheckpointsError } from './errors';

export interface ShortLockOptions {
  /** Longest wait for others. */
  waitMs?: number;
  /** It is held for milliseconds: one this old belongs to a process that hangs or to a machine that is gone. */
  staleMs?: number;
}

/** Another process took the lock over while its owner stood still. The work has to be done again. */
class LostLock extends Error {}

interface Owner {
  pid: number;
  host: string;
  token: string;
}

const retries = 5;

/**
 * Runs `work` alone among all processes that use the same lock file. A lock whose process died is taken over at once, one that is too old after a
 * while. Since its owner may only have slept, it calls `confirm` right before its change becomes visible; if the lock was lost by
 * then, nothing is changed and the work begins anew.
 */
export async function withShortLock<T>(
  path: string,
  work: (confirm: () => Promise<void>) => Promise<T>,
  options: ShortLockOptions = {},
): Promise<T> {
  const waitMs = options.waitMs ?? 10_000;
  const staleMs = options.staleMs ?? 10_000;
  for (let attempt = 1; ; attempt++) {
    const owner: Owner = { pid: process.pid, host: hostname(), token: randomBytes(12).toString('hex') };
    await acquire(path, owner, waitMs, staleMs);
    const isMine = async (): Promise<boolean> => (await holderOf(path))?.owner?.token === owner.token;
    try {
      return await work(async () => {
        if (!(await isMine())) throw new LostLock(`The lock ${path} was taken over.`);
      });
    } catch (error) {
      if (!(error instanceof LostLock) || attempt === retries) throw error;
    } finally {
      if (await isMine()) await rm(path, { force: true });
    }
  }
}

async function acquire(path: string, owner: Owner, waitMs: number, staleMs: number): Promise<void> {
  const deadline = Date.now() + waitMs;
  for (let delay = 2; ; delay = Math.min(delay * 1.5, 40)) {
    if (await create(path, owner)) return;
    const holder = await holderOf(path);
    if (holder !== null && isStale(holder, staleMs)) await takeOver(path, holder, staleMs);
    else if (holder !== null) {
      if (Date.now() > deadline)
        throw new CheckpointsError('busy', `Process ${holder.owner?.pid ?? '?'} holds ${path}.`);
      // Uneven steps: waiters that began together do not come back together.
      await pause(delay * (0.5 + Math.random()));
    }
  }
}

async function create(path: string, owner: Owner): Promise<boolean> {
  try {
    const file = await open(path, 'wx', 0o600);
    try {
      await file.writeFile(JSON.stringify(owner));
    } finally {
      await file.close();
    }
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    throw storeError(error, path);
  }
}

interface Holder {
  /** Null: it has not yet written who it is. */
  owner: Owner | null;
  ageMs: number;
}

async function holderOf(path: string): Promise<Holder | null> {
  try {
    const { mtimeMs } = await stat(path);
    return { owner: parse(await readFile(path, 'utf8')), ageMs: Date.now() - mtimeMs };
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null;
    throw storeError(error, path);
  }
}

function parse(text: string): Owner | null {
  try {
    return JSON.parse(text) as Owner;
  } catch (error) {
    // Created, not yet written: its age decides.
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}

function isStale({ owner, ageMs }: Holder, staleMs: number): boolean {
  // A clock that was set back makes a lock seem to come from the future.
  if (Math.abs(ageMs) > staleMs) return true;
  return owner !== null && owner.host === hostname() && !isAlive(owner.pid);
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return codeOf(error) !== 'ESRCH';
  }
}

/** One at a time, and after another look: else the second of two would remove the lock that the first one has just made its own. */
async function takeOver(path: string, seen: Holder, staleMs: number): Promise<void> {
  const guard = `${path}.takeover`;
  if (!(await create(guard, { pid: process.pid, host: hostname(), token: '' }))) {
    const other = await holderOf(guard);
    if (other !== null && isStale(other, staleMs)) await rm(guard, { force: true });
    else await pause(5);
    return;
  }
  try {
    const holder = await holderOf(path);
    const same = holder !== null && holder.owner?.token === seen.owner?.token;
    if (same && isStale(holder, staleMs)) await rm(path, { force: true });
  } finally {
    await rm(guard, { force: true });
  }
}
