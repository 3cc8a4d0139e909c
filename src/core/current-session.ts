import { setTimeout as pause } from 'node:timers/promises';
import { anchorNow } from './anchors';
import type { SessionAnchor } from './model';
import type { SessionGateway, SessionInfo } from './sessions';

/** A session that nobody has touched for longer is not what somebody means by "now". */
const freshMs = 12 * 60 * 60_000;
/** What a checkpoint by hand waits for the conversation; the files do not wait for a server that hangs. */
const patienceMs = 2000;

/**
 * The conversation that is going on in a folder: that of the session somebody last wrote in, today, on whichever of the servers that run.
 * null when there is none.
 */
export async function currentSession(
  running: () => Promise<SessionGateway[]>,
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

/** A session, and who has it. */
export interface ListedOn {
  gateway: SessionGateway;
  session: SessionInfo;
}

/** The folder's sessions on all of these servers, each once. One that fails hides nothing that another one has. */
export async function listedOn(gateways: readonly SessionGateway[], directory: string): Promise<ListedOn[]> {
  const lists = await Promise.allSettled(gateways.map((gateway) => gateway.list(directory)));
  const [failed] = lists.flatMap((list) => (list.status === 'rejected' ? [list.reason as unknown] : []));
  if (failed !== undefined && lists.every(({ status }) => status === 'rejected')) throw failed;
  const found = new Map<string, ListedOn>();
  for (const [at, list] of lists.entries()) {
    const gateway = gateways[at];
    if (gateway === undefined || list.status === 'rejected') continue;
    for (const session of list.value) if (!found.has(session.id)) found.set(session.id, { gateway, session });
  }
  return [...found.values()];
}

async function read(
  running: () => Promise<SessionGateway[]>,
  directory: string,
  now: number,
): Promise<SessionAnchor | null> {
  const [latest] = (await listedOn(await running(), directory))
    .filter(
      ({ session: { parentId, archived, updatedAt } }) => parentId === null && !archived && now - updatedAt < freshMs,
    )
    .sort((a, b) => b.session.updatedAt - a.session.updatedAt);
  if (latest === undefined) return null;
  const anchor = anchorNow(latest.session, await latest.gateway.messages(latest.session.id));
  // A session that was opened and not used has nothing to go back to.
  return anchor.messageCount === 0 ? null : anchor;
}
