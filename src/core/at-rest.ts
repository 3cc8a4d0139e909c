import { setTimeout as pause } from 'node:timers/promises';
import { isUnfinished } from './anchors';
import type { SessionMessage } from './sessions';

/**
 * A session that was told to be idle, as it is then: OpenCode 1 says so a moment before an answer that failed or was stopped is written
 * down as finished, and that may take seconds where a command had to be stopped. One that is never finished (its process died) is waited for in vain.
 */
export async function atRest<T extends { messages: readonly SessionMessage[] }>(
  read: () => Promise<T>,
  patienceMs = 10_000,
): Promise<T> {
  const end = Date.now() + patienceMs;
  for (;;) {
    const found = await read();
    if (!isUnfinished(found.messages.findLast(({ role }) => role !== 'other')) || Date.now() >= end) return found;
    await pause(100);
  }
}
