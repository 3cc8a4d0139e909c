import type { ConversationPort } from '../core/conversation';
import { CheckpointsError } from '../core/errors';
import type { Checkpoint } from '../core/model';
import type { SentSessions, SyncOptions } from '../core/sync';
import { fetchedSessionRefs } from '../git/fetched';
import type { PackWriter } from '../git/pack-writer';
import { addSession, ownSessionRefs, sessionFacts } from '../git/session-store';
import type { GitStore } from '../git/store';
import { isSessionId } from '../git/untrusted-record';

/** Reasons for which asking the server once more is of no use. */
const hopeless = ['server-unreachable', 'opencode-missing', 'opencode-too-old', 'timeout'] as const;

/**
 * The sessions of checkpoints that are about to travel. What was sent is kept beside the checkpoints, so that an unchanged session
 * is not read from OpenCode again, and one that OpenCode has lost can still be sent.
 */
export class SessionSender {
  constructor(
    private readonly store: GitStore,
    private readonly conversation: ConversationPort | null,
  ) {}

  async collect(
    records: readonly Checkpoint[],
    writer: PackWriter,
    options: SyncOptions,
  ): Promise<{ commits: Map<string, string>; report: SentSessions }> {
    const commits = new Map<string, string>();
    const report: SentSessions = { sent: [], unchanged: [], skipped: [] };
    const wanted = new Map<string, Checkpoint>();
    for (const record of records) if (record.session) wanted.set(record.session.id, record);
    let down: string | null = this.conversation ? null : 'there is no way to OpenCode from here';
    let done = 0;
    for (const [session, record] of wanted) {
      options.onProgress?.({ phase: 'sessions', done: done++, total: wanted.size });
      if (options.signal?.aborted) throw new CheckpointsError('cancelled', 'Cancelled; nothing was sent.');
      const kept = this.kept(session, record);
      let why = down;
      // A session of somebody else is passed on as it came.
      if (why === null && record.origin === null) {
        const fresh = await this.fresh(session, kept, writer);
        if ('commit' in fresh) {
          commits.set(session, fresh.commit);
          continue;
        }
        why = fresh.why;
        if (fresh.down) down = fresh.why;
      }
      if (kept) commits.set(session, kept);
      else report.skipped.push({ session, reason: why ?? 'it did not come along' });
    }
    return { commits, report };
  }

  /** Sessions that no checkpoint needs any more are not kept. */
  async tidy(all: readonly Checkpoint[]): Promise<void> {
    const needed = new Set(all.map(({ session }) => session?.id));
    const kept = [...this.store.refsOf.list(ownSessionRefs).keys()];
    await this.store.refsOf.remove(kept.filter((id) => !needed.has(id)).map((id) => ownSessionRefs + id));
  }

  private kept(session: string, record: Checkpoint): string | null {
    if (!isSessionId(session)) return null;
    const { refsOf, fetched } = this.store;
    if (record.origin === null) return refsOf.read(ownSessionRefs + session);
    const at = fetched.find(record.id);
    return at && refsOf.read(`${fetchedSessionRefs}${at.origin}/${session}`);
  }

  private async fresh(
    session: string,
    kept: string | null,
    writer: PackWriter,
  ): Promise<{ commit: string } | { why: string; down: boolean }> {
    if (!this.conversation || !isSessionId(session)) return { why: 'it has no id that can travel', down: false };
    const known = kept ? await sessionFacts(this.store.reader, kept, session) : null;
    try {
      const stored = await this.conversation.exportSession(session, known?.stamp ?? null);
      if (!stored) return kept ? { commit: kept } : { why: 'it could not be read', down: false };
      // For the next time; and the writer of this exchange has it as well.
      await this.keep(session, kept, stored);
      return { commit: addSession(writer, stored) };
    } catch (error) {
      if (!CheckpointsError.is(error)) throw error;
      return { why: error.message, down: (hopeless as readonly string[]).includes(error.reason) };
    }
  }

  private keep(session: string, before: string | null, stored: Parameters<typeof addSession>[1]): Promise<void> {
    return this.store.sharing('sync', 15_000, undefined, async () => {
      const writer = this.store.newWriter();
      const commit = addSession(writer, stored);
      await writer.flush();
      // Another process that was faster has one that is as good.
      if (commit !== before) await this.store.refsOf.swap(ownSessionRefs + session, before, commit);
    });
  }
}
