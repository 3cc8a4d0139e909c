import { setTimeout as sleep } from 'node:timers/promises';
import { CheckpointsError } from '../core/errors';

/** Asks until the answer is yes; throws `timeout` when it never is. */
export async function waitUntil(what: string, timeoutMs: number, ask: () => Promise<boolean>): Promise<void> {
  const end = Date.now() + timeoutMs;
  for (let wait = 50; ; wait = Math.min(wait * 2, 500)) {
    if (await ask()) return;
    if (Date.now() > end) throw new CheckpointsError('timeout', `${what} took longer than ${timeoutMs / 1000} s`);
    await sleep(wait);
  }
}
