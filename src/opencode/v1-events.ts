import { notePrefix, type SessionEvent } from '../core/sessions';
import { Recent, type EventMapper } from './events';
import { isFields } from './shapes';
import type { V1Message, V1Part, V1Session } from './v1-normal';

interface Raw {
  directory?: string | null;
  payload?: { type: string; properties?: Properties };
}

interface Properties {
  sessionID?: string;
  info?: V1Session | V1Message['info'];
  part?: V1Part;
  status?: { type: string };
}

/** OpenCode 1's `/global/event`: the events of all folders, each wrapped with its folder. */
export class V1Events implements EventMapper {
  /** When each session seen to be created was created: older messages in it are copies. */
  private readonly created = new Recent<number>(1000);
  private readonly copies = new Recent<true>(20_000);
  /** Prompts whose text has not come yet: only that tells a note or a compaction from a prompt. */
  private readonly prompts = new Recent<true>(1000);
  private readonly seen = new Recent<true>();
  private readonly busy = new Recent<boolean>();
  private live = false;

  /**
   * The server says that it is connected a moment before it listens to its own events: what happens in between is lost.
   * The first event after that (a heartbeat, at the latest) proves that it listens.
   */
  map(raw: unknown): SessionEvent[] {
    const { payload } = raw as Raw;
    if (this.live || payload?.type === 'server.connected') return this.meaning(raw as Raw);
    this.live = true;
    return [{ type: 'gap' }, ...this.meaning(raw as Raw)];
  }

  private meaning({ directory = null, payload }: Raw): SessionEvent[] {
    const properties = payload?.properties ?? {};
    const session = properties.sessionID ?? '';
    switch (payload?.type) {
      case 'session.created':
      case 'session.updated':
      case 'session.deleted': {
        const info = properties.info as V1Session | undefined;
        const change = payload.type.slice('session.'.length) as 'created' | 'updated' | 'deleted';
        if (change === 'created' && info?.time) this.created.set(info.id, info.time.created);
        return [{ type: 'session', change, session: info?.id ?? session, directory: info?.directory ?? directory }];
      }
      case 'message.updated':
        return this.message(properties.info as V1Message['info'] | undefined);
      case 'message.part.updated':
        return properties.part ? this.part(properties.part) : [];
      case 'message.removed':
      case 'message.part.removed':
        return [{ type: 'message', session }];
      case 'session.status':
        return this.status(session, properties.status?.type !== 'idle');
      case 'session.idle':
        return this.status(session, false);
      case 'session.compacted':
        return [{ type: 'compacted', session }];
      case 'todo.updated':
        return [{ type: 'todos', session }];
      default:
        return [];
    }
  }

  /** A fork announces every copied message and part: about a thousand events for 300 messages. */
  private message(info: V1Message['info'] | undefined): SessionEvent[] {
    // What cannot be read is passed over: an error would end the stream, again and again.
    if (!isFields(info?.time)) return [];
    if (info.time.created <= (this.created.get(info.sessionID) ?? -1)) {
      this.copies.set(info.id, true);
      return [];
    }
    // A prompt is updated once more after its turn, with the turn's changes.
    if (info.role === 'user' && !this.seen.has(info.id)) {
      this.seen.set(info.id, true);
      this.prompts.set(info.id, true);
    }
    return [{ type: 'message', session: info.sessionID }];
  }

  private part(part: V1Part): SessionEvent[] {
    const { sessionID: session, messageID: messageId } = part;
    if (this.copies.has(messageId)) return [];
    if (this.prompts.delete(messageId)) {
      const typed = part.type !== 'compaction' && part.synthetic !== true && !part.text?.startsWith(notePrefix);
      return typed ? [{ type: 'prompt', session, messageId }] : [];
    }
    const done = part.state?.status === 'completed' || part.state?.status === 'error';
    return done || part.type === 'step-finish' || part.type === 'patch' ? [{ type: 'message', session }] : [];
  }

  private status(session: string, busy: boolean): SessionEvent[] {
    if (this.busy.get(session) === busy) return [];
    this.busy.set(session, busy);
    return [{ type: busy ? 'busy' : 'idle', session }];
  }
}
