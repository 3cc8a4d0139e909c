import { notePrefix, type SessionEvent } from '../core/sessions';
import { Recent, type EventMapper } from './events';

interface Raw {
  type: string;
  location?: { directory?: string };
  data?: {
    sessionID?: string;
    inboxID?: string;
    item?: { type?: string; payload?: { text?: string } };
    location?: { directory?: string };
  };
}

/** The conversation changed. What streams in between (deltas, tool input) is left out. */
const messageEvents = new Set([
  'session.inbox.delivered',
  'session.step.started',
  'session.step.ended',
  'session.step.failed',
  'session.tool.success',
  'session.tool.failed',
  'session.shell.started',
  'session.shell.ended',
  'session.synthetic',
  'session.message.content.updated',
  'session.compaction.ended',
  'session.compaction.failed',
  'session.revert.staged',
  'session.revert.cleared',
  'session.revert.committed',
]);

const changes: Record<string, 'created' | 'updated' | 'deleted'> = {
  'session.created': 'created',
  'session.forked': 'created',
  'session.updated': 'updated',
  'session.renamed': 'updated',
  'session.metadata.updated': 'updated',
  'session.moved': 'updated',
  'session.agent.selected': 'updated',
  'session.model.selected': 'updated',
  'session.deleted': 'deleted',
};

/** OpenCode 2's `/api/event`: the events of all folders. */
export class V2Events implements EventMapper {
  /** Prompts that wait for delivery; the inbox's id becomes the message's. */
  private readonly prompts = new Recent<true>(1000);

  map(raw: unknown): SessionEvent[] {
    const { type, data = {}, location } = raw as Raw;
    const { sessionID: session, inboxID } = data;
    if (session === undefined) return [];
    const out: SessionEvent[] = [];
    const change = changes[type];
    const directory = data.location?.directory ?? location?.directory ?? null;
    if (change) out.push({ type: 'session', change, session, directory });
    if (messageEvents.has(type)) out.push({ type: 'message', session });
    if (type === 'session.execution.started') out.push({ type: 'busy', session });
    else if (type.startsWith('session.execution.')) out.push({ type: 'idle', session });
    else if (type === 'session.compaction.ended') out.push({ type: 'compacted', session });
    else if (type === 'session.inbox.enqueued' && inboxID !== undefined) {
      if (data.item?.type === 'user' && !data.item.payload?.text?.startsWith(notePrefix))
        this.prompts.set(inboxID, true);
    } else if (type === 'session.inbox.delivered' && inboxID !== undefined && this.prompts.delete(inboxID))
      out.push({ type: 'prompt', session, messageId: inboxID });
    return out;
  }
}
