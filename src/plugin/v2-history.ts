import { CheckpointsError } from '../core/errors';
import type { SessionInfo, SessionMessage } from '../core/sessions';
import { v2Messages } from '../opencode/v2-normal';
import { forgetOldest, type SessionReader } from './tracker';
import type { V2Context } from './v2-context';
import type { V2Host } from './v2-host';

/** Conversations are long: so many are kept. */
const remembered = 20;

/**
 * The plugin is given what follows the last compaction; what came before it only the server tells. Where that cannot be reached, it is remembered
 * from the moment before the compaction. What this plugin did not see (it was started later) stays unknown.
 */
export class V2History implements SessionReader {
  private readonly before = new Map<string, SessionMessage[]>();

  constructor(
    private readonly context: V2Context,
    private readonly host: V2Host,
  ) {}

  get(session: string): Promise<SessionInfo> {
    return this.host.get(session);
  }

  async messages(session: string): Promise<SessionMessage[]> {
    try {
      return await this.host.messages(session);
    } catch (error) {
      const joined = CheckpointsError.is(error, 'server-unreachable') ? await this.joined(session) : null;
      if (joined === null) throw error;
      return joined;
    }
  }

  /** What is given begins with the last compaction that was finished: it is the seam. null: what came before it is not known. */
  private async joined(session: string): Promise<SessionMessage[] | null> {
    const given = v2Messages(await this.context.session.context({ sessionID: session }), await this.get(session));
    const [first] = given;
    if (first?.type !== 'compaction') return given;
    const before = this.before.get(session) ?? [];
    const seam = before.findIndex(({ id }) => id === first.id);
    return seam < 0 ? null : [...before.slice(0, seam), ...given];
  }

  /** A compaction begins, and is the last of the messages already. */
  async compacting(session: string): Promise<void> {
    const before = (await this.isReachable()) ? null : await this.joined(session);
    this.before.delete(session);
    if (before !== null) this.before.set(session, before);
    forgetOldest(this.before, remembered);
  }

  private async isReachable(): Promise<boolean> {
    try {
      await this.host.gateway();
      return true;
    } catch (error) {
      if (!CheckpointsError.is(error, 'server-unreachable')) throw error;
      return false;
    }
  }

  /** Messages were taken back: what is remembered may be among them. */
  forget(session: string): void {
    this.before.delete(session);
  }
}
