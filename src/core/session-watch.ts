import type { SessionEvent, SessionGateway, SessionInfo } from './sessions';

/**
 * The events of one folder's sessions, without holes: no server replays what was missed while the connection was
 * broken, so the sessions are then read again and compared, and the difference is told as events. Events of sessions
 * in other folders are left out.
 */
export async function watchSessions(
  gateway: Pick<SessionGateway, 'list' | 'events'>,
  directory: string,
  listener: (event: SessionEvent) => void,
  signal: AbortSignal,
): Promise<void> {
  let known: ReadonlyMap<string, SessionInfo> | null = null;
  const foreign = new Set<string>();
  let stale = true;
  let working: Promise<void> = Promise.resolve();

  const read = async (): Promise<SessionEvent[]> => {
    const before = known;
    known = new Map((await gateway.list(directory)).map((session) => [session.id, session]));
    return before ? compareSessions(before, known) : [];
  };
  const belongs = async (session: string): Promise<boolean> => {
    if (known?.has(session)) return true;
    if (foreign.has(session)) return false;
    // What else this reading finds has events of its own under way.
    await read();
    const found = known?.has(session) === true;
    if (!found) foreign.add(session);
    return found;
  };
  const handle = async (event: SessionEvent): Promise<void> => {
    if (event.type === 'connected' || event.type === 'gap') stale = true;
    if (stale && event.type !== 'lost') {
      for (const missed of await read()) listener(missed);
      stale = false;
    }
    if ('session' in event && !(await belongs(event.session))) return;
    listener(event);
  };
  await gateway.events((event) => {
    // One after the other: an event must not overtake the reading that tells whose it is.
    working = working
      .then(() => (signal.aborted ? undefined : handle(event)))
      .catch((error: unknown) => {
        // The server went away between event and reading: stale, until a reading succeeds.
        stale = true;
        listener({ type: 'lost', reason: error instanceof Error ? error.message : String(error) });
      });
  }, signal);
  await working;
}

/** What happened between two readings. A session that changed in any way may have new messages. */
export function compareSessions(
  before: ReadonlyMap<string, SessionInfo>,
  after: ReadonlyMap<string, SessionInfo>,
): SessionEvent[] {
  const events: SessionEvent[] = [];
  for (const [session, { directory }] of before)
    if (!after.has(session)) events.push({ type: 'session', change: 'deleted', session, directory });
  for (const [session, info] of after) {
    const old = before.get(session);
    const { directory } = info;
    if (!old) events.push({ type: 'session', change: 'created', session, directory });
    else if (JSON.stringify(old) !== JSON.stringify(info))
      events.push({ type: 'session', change: 'updated', session, directory }, { type: 'message', session });
  }
  return events;
}
