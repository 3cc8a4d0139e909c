import { setTimeout as pause } from 'node:timers/promises';
import { anchorNow } from './anchors';
import type { SessionAnchor } from './model';
import type { SessionGateway } from './sessions';

/** A session that nobody has touched for longer is not what somebody means by "now". */
const freshMs = 12 * 60 * 60_000;
/** What a checkpoint by hand waits for the conversation; the files do not wait for a server that hangs. */
const patienceMs = 2000;

/** The conversation that is going on in a folder: that of the session somebody last wrote in, today. null when there is none. */
export async function currentSession(
  running: () => Promise<SessionGateway | null>,
  directory: string,
  now = Date.now(),
): Promise<SessionAnchor | null> {
  const stop = new AbortController();
  try {
    return await Promise.race([
      read(running, directory, now),
      pause(patienceMs, null, { signal: stop.signal, ref: false }),
    ]);
  } finally {
    stop.abort();
  }
}

async function read(
  running: () => Promise<SessionGateway | null>,
  directory: string,
  now: number,
): Promise<SessionAnchor | null> {
  const gateway = await running();
  if (gateway === null) return null;
  const [latest] = (await gateway.list(directory))
    .filter(({ parentId, archived, updatedAt }) => parentId === null && !archived && now - updatedAt < freshMs)
    .sort((a, b) => b.updatedAt - a.updatedAt);
  if (latest === undefined) return null;
  const anchor = anchorNow(latest, await gateway.messages(latest.id));
  // A session that was opened and not used has nothing to go back to.
  return anchor.messageCount === 0 ? null : anchor;
}
