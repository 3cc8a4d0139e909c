import { randomBytes } from 'node:crypto';
import { CheckpointsError } from '../core/errors';
import type { SessionGateway, SessionInfo, SessionMessage } from '../core/sessions';
import { Http, type Endpoint } from '../opencode/http';
import { isFields, isText, shape, type Shape } from '../opencode/shapes';
import { V2Gateway } from '../opencode/v2';
import { v2Messages, v2Session } from '../opencode/v2-normal';
import type { Permission, Question } from './tool-spec';
import type { SessionReader } from './tracker';
import type { V2Context, V2Event } from './v2-context';
import { findSelf } from './v2-self';

/** Not to look for an address at every call when there is none to be found. */
const retryMs = 30_000;

const effectShape: Shape<{ data: { effect: string } }> = shape(
  'the effect of a permission',
  (raw) => isFields(raw) && isFields(raw['data']) && isText(raw['data']['effect']),
);

/** OpenCode 2 as a plugin reaches it: what it is given where that is enough, else its own server. */
export class V2Host implements SessionReader {
  private found: { endpoint: Endpoint; gateway: SessionGateway } | null = null;
  private looking: Promise<Endpoint | null> | null = null;
  private lookedAt = 0;
  private readonly questions = new Map<string, (reply: string) => void>();

  constructor(private readonly context: V2Context) {}

  async get(session: string): Promise<SessionInfo> {
    return v2Session(await this.context.session.get({ sessionID: session }));
  }

  /** The server is asked only when a compaction hides what came before it. */
  async messages(session: string): Promise<SessionMessage[]> {
    const recent = await this.context.session.context({ sessionID: session });
    if (recent.some(({ type }) => type === 'compaction')) return (await this.gateway()).messages(session);
    return v2Messages(recent, await this.get(session));
  }

  async gateway(): Promise<SessionGateway> {
    const found = await this.reach();
    if (found) return found.gateway;
    throw new CheckpointsError(
      'server-unreachable',
      "OpenCode's own server cannot be reached from its plugin (no known port, or no known password).",
    );
  }

  private async reach(): Promise<typeof this.found> {
    if (this.found || Date.now() - this.lookedAt < retryMs) return this.found;
    this.looking ??= findSelf().finally(() => {
      this.looking = null;
      this.lookedAt = Date.now();
    });
    const endpoint = await this.looking;
    if (endpoint) this.found ??= { endpoint, gateway: new V2Gateway({ endpoint, version: '2' }) };
    return this.found;
  }

  /** The same question as OpenCode's own tools ask. Nobody answers for the user: it waits as long as the call does. */
  async ask(
    call: { sessionID: string; messageID: string; id: string; signal?: AbortSignal },
    { permission, resource, summary }: Question,
  ): Promise<Permission> {
    const found = await this.reach();
    if (!found) return 'unavailable';
    const id = `per_${randomBytes(13).toString('hex')}`;
    const http = new Http(found.endpoint);
    const path = `/api/session/${call.sessionID}/permission`;
    const answered = new Promise<string>((resolve) => {
      this.questions.set(id, resolve);
      if (call.signal?.aborted) resolve('reject');
      call.signal?.addEventListener('abort', () => resolve('reject'), { once: true });
    });
    try {
      const { data } = await http.read(effectShape, 'POST', path, {
        body: {
          id,
          action: permission,
          resources: [resource],
          metadata: { title: summary },
          source: { type: 'tool', messageID: call.messageID, id: call.id },
        },
      });
      if (data.effect === 'deny') return 'rejected';
      if (data.effect === 'allow') return 'granted';
      const reply = await answered;
      // Nobody waits for the answer any more: the question is not left standing. Gone already is as good.
      if (call.signal?.aborted) await http.answer('POST', `${path}/${id}/reply`, { body: { decision: 'reject' } });
      return reply === 'reject' ? 'rejected' : 'granted';
    } finally {
      this.questions.delete(id);
    }
  }

  replied({ data }: V2Event): void {
    if (data?.requestID !== undefined) this.questions.get(data.requestID)?.(data.reply ?? 'reject');
  }
}
