import { CheckpointsError } from './errors';
import { fingerprint, lineage, sharedMessages, suspects, type Fingerprint, type SessionNode } from './lineage';
import type { SessionGateway, SessionInfo, SessionMessage } from './sessions';

/** At most so many sessions are read to find out where one comes from. */
const candidateLimit = 20;

/** The tree of a folder's sessions; reads messages only where nothing else tells where a session comes from. */
export class LineageReader {
  /** Copied messages never change, and neither do their times: read once, known for good. */
  private readonly copied = new Map<string, Fingerprint>();
  private readonly whole = new Map<string, { updatedAt: number; fingerprint: Fingerprint }>();

  constructor(private readonly gateway: Pick<SessionGateway, 'list' | 'messages'>) {}

  async read(directory: string): Promise<SessionNode[]> {
    const sessions = await this.gateway.list(directory);
    const byId = new Map(sessions.map((session) => [session.id, session]));
    const known = new Map<string, Fingerprint>();
    for (const [id, candidates] of suspects(sessions)) {
      const session = byId.get(id);
      const own = session && (await this.copiedBy(session));
      if (!own || own.length === 0) continue;
      known.set(id, own);
      for (const candidate of candidates.slice(0, candidateLimit)) {
        const other = byId.get(candidate);
        const print = other && (await this.wholeOf(other));
        if (!print) continue;
        known.set(candidate, print);
        if (sharedMessages(print, own) === own.length) break;
      }
    }
    return lineage(sessions, known);
  }

  /** The messages that are older than their session. */
  private async copiedBy(session: SessionInfo): Promise<Fingerprint | null> {
    const cached = this.copied.get(session.id);
    if (cached) return cached;
    const messages = await this.messages(session.id);
    if (!messages) return null;
    const print = fingerprint(messages.filter(({ createdAt }) => createdAt <= session.createdAt));
    this.copied.set(session.id, print);
    return print;
  }

  private async wholeOf(session: SessionInfo): Promise<Fingerprint | null> {
    const cached = this.whole.get(session.id);
    if (cached?.updatedAt === session.updatedAt) return cached.fingerprint;
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
