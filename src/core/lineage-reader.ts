import { CheckpointsError } from './errors';
import { fingerprint, lineage, sharedMessages, suspects, type Fingerprint, type SessionNode } from './lineage';
import type { SessionGateway, SessionInfo, SessionMessage } from './sessions';

/** OpenCode 1 copies a long session for seconds after the fork is listed: what is read before is not all of it. */
const copyingMs = 60_000;
/** At most so many sessions are read to find out where one comes from. */
const candidateLimit = 20;

/** The tree of a folder's sessions; reads messages only where nothing else tells where a session comes from. */
export class LineageReader {
  /** Copied messages never change, and neither do their times: read once, known for good. */
  private readonly copied = new Map<string, Fingerprint>();
  private readonly whole = new Map<string, { updatedAt: number; fingerprint: Fingerprint }>();

  constructor(private readonly gateway: Pick<SessionGateway, 'list' | 'messages'>) {}

  async read(directory: string): Promise<SessionNode[]> {
    return this.of(await this.gateway.list(directory));
  }

  /** `counts`: also how much each fork took over, where only its messages tell. */
  async of(sessions: readonly SessionInfo[], counts = false): Promise<SessionNode[]> {
    const byId = new Map(sessions.map((session) => [session.id, session]));
    const known = new Map<string, Fingerprint>();
    for (const [id, candidates] of suspects(sessions)) {
      const session = byId.get(id);
      const own = session && (await this.copiedBy(session));
      if (!own || own.length === 0) continue;
      known.set(id, own);
      for (const candidate of candidates.slice(0, candidateLimit)) {
        const other = byId.get(candidate);
        const print = other && (await this.wholeOf(other, session.createdAt));
        if (!print) continue;
        known.set(candidate, print);
        if (sharedMessages(print, own) === own.length) break;
      }
    }
    const roots = lineage(sessions, known);
    if (counts) await this.countShared(roots);
    return roots;
  }

  /** OpenCode 2 says what a session was forked from, but not how much of it was taken over. */
  private async countShared(nodes: readonly SessionNode[]): Promise<void> {
    for (const { session, link, children } of nodes) {
      if (link?.kind === 'fork' && link.count === null) link.count = (await this.copiedBy(session))?.length ?? null;
      await this.countShared(children);
    }
  }

  /** The messages that are older than their session. */
  private async copiedBy(session: SessionInfo): Promise<Fingerprint | null> {
    const cached = this.copied.get(session.id);
    if (cached) return cached;
    const messages = await this.messages(session.id);
    if (!messages) return null;
    const print = fingerprint(messages.filter(({ createdAt }) => createdAt <= session.createdAt));
    if (Date.now() - session.createdAt > copyingMs) this.copied.set(session.id, print);
    return print;
  }

  /** As it was at `since` or later: what a fork took over was there when the fork was made, and does not change. */
  private async wholeOf(session: SessionInfo, since: number): Promise<Fingerprint | null> {
    const cached = this.whole.get(session.id);
    if (cached && (cached.updatedAt === session.updatedAt || cached.updatedAt >= since)) return cached.fingerprint;
    const messages = await this.messages(session.id);
    if (!messages) return null;
    const print = fingerprint(messages);
    this.whole.set(session.id, { updatedAt: session.updatedAt, fingerprint: print });
    return print;
  }

  private async messages(session: string): Promise<SessionMessage[] | null> {
    try {
      return await this.gateway.messages(session);
    } catch (error) {
      // Deleted since it was listed.
      if (CheckpointsError.is(error, 'session-missing')) return null;
      throw error;
    }
  }
}
