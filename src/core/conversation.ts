import { counted } from './anchors';
import { CheckpointsError } from './errors';
import { forkAt, locateAnchor } from './fork';
import type { Checkpoint, ConversationPlan, SessionAnchor } from './model';
import { notePrefix, type SessionGateway } from './sessions';

/** What a restore does with the conversation; a host that has no way to OpenCode has none. */
export interface ConversationPort {
  /** Throws when the checkpoint's messages are nowhere any more. */
  plan(target: Checkpoint): Promise<ConversationPlan>;
  /** Throws `session-busy` while the server works on it. */
  refuseBusy(target: Checkpoint): Promise<void>;
  /** The last step of a restore: it leaves the original session alone, and either the whole fork is there or none. */
  fork(target: Checkpoint, done: RestoredFiles | null): Promise<{ id: string }>;
}

/** What happened to the files before the conversation was forked; null when they were left out. */
export interface RestoredFiles {
  restored: readonly string[];
  deleted: readonly string[];
}

const namedPaths = 20;

export class GatewayConversation implements ConversationPort {
  constructor(
    private readonly directory: string,
    private readonly gateway: () => Promise<SessionGateway>,
  ) {}

  async plan(target: Checkpoint): Promise<ConversationPlan> {
    const anchor = anchorOf(target);
    const { session, point, messages } = await locateAnchor(await this.gateway(), {
      anchor,
      at: Date.parse(target.createdAt),
      byCount: target.trigger === 'import',
      directory: this.directory,
    });
    return { session, messageCount: point.count, currentCount: counted(messages).length };
  }

  async refuseBusy(target: Checkpoint): Promise<void> {
    const { id } = anchorOf(target);
    const gateway = await this.gateway();
    try {
      if ((await gateway.busy(id)) !== 'busy') return;
    } catch (error) {
      // A session that is gone is not at work; a fork of it may still have the messages.
      if (CheckpointsError.is(error, 'session-missing')) return;
      throw error;
    }
    throw new CheckpointsError('session-busy', `Session ${id} is at work`, { details: { session: id } });
  }

  async fork(target: Checkpoint, done: RestoredFiles | null): Promise<{ id: string }> {
    const { session } = await forkAt(await this.gateway(), {
      anchor: anchorOf(target),
      at: Date.parse(target.createdAt),
      byCount: target.trigger === 'import',
      directory: this.directory,
      title: target.title,
      checkpoint: target.id,
      note: restoreNote(target, done),
    });
    return { id: session.id };
  }
}

function anchorOf(target: Checkpoint): SessionAnchor {
  if (target.session) return target.session;
  throw new CheckpointsError('no-conversation', `The checkpoint "${target.title}" has no conversation.`);
}

/** What the agent is told, since its memory of the files may be of another time. */
export function restoreNote(target: Pick<Checkpoint, 'title' | 'id'>, done: RestoredFiles | null): string {
  const to = `the checkpoint "${target.title}" (${target.id})`;
  if (!done)
    return `${notePrefix} This conversation was taken back to ${to}. The files were left as they are: read them again.`;
  const lines = [...done.restored.map((path) => `- ${path}`), ...done.deleted.map((path) => `- ${path} (deleted)`)];
  const rest = lines.length - namedPaths;
  const list = [...lines.slice(0, namedPaths), ...(rest > 0 ? [`- and ${rest} more`] : [])];
  const what =
    lines.length === 0 ? 'No file had to be changed for it.' : `These files were restored:\n${list.join('\n')}`;
  return `${notePrefix} Files and conversation were taken back to ${to}. ${what}`;
}
