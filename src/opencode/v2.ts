import { CheckpointsError } from '../core/errors';
import type {
  BusyState,
  ForkedSession,
  GatewayCapabilities,
  ImportOptions,
  ListedSession,
  SessionEvent,
  SessionExport,
  SessionGateway,
  SessionInfo,
  SessionMessage,
  Todo,
} from '../core/sessions';
import { sessionExists } from '../core/session-exists';
import { checkedFork } from './checked-fork';
import { followEvents } from './events';
import { forkInto } from './fork-into';
import { Http, type Endpoint, type RequestOptions } from './http';
import { mergeMetadata } from './metadata';
import { atWorkThemselves, isWithin } from './normal';
import { anyFields, isAbsentOr, isFields, isText, listOf, shape, type Shape } from './shapes';
import { exportShape, requireGeneration, stampOf, transferred } from './transfer';
import { V2Events } from './v2-events';
import { v2Messages, v2MessageShape, v2Session, v2SessionShape } from './v2-normal';
import { waitUntil } from './waiting';

interface Page<T> {
  data: T[];
  cursor?: { next?: string | null } | null;
}

const sessionList = listOf('a list of sessions', v2SessionShape);
const messageList = listOf('a list of messages', v2MessageShape);
const locationShape: Shape<{ project: { id: string } }> = shape(
  'the project of a folder',
  (raw) => isFields(raw) && isFields(raw['project']) && isText(raw['project']['id']),
);

/** Every answer is wrapped. */
const dataOf = <T>(inner: Shape<T>): Shape<{ data: T }> =>
  shape(inner.what, (raw) => isFields(raw) && inner.fits(raw['data']));

const pageOf = <T>(inner: Shape<T[]>): Shape<Page<T>> =>
  shape(
    inner.what,
    (raw) =>
      isFields(raw) &&
      inner.fits(raw['data']) &&
      isAbsentOr(raw['cursor'], (cursor) => isFields(cursor) && isAbsentOr(cursor['next'], isText)),
  );

/** OpenCode 2 over HTTP. */
export class V2Gateway implements SessionGateway {
  readonly generation = 'v2';
  readonly version: string;
  readonly url: string;
  readonly capabilities: GatewayCapabilities = { todos: 'none', notes: 'inbox', import: true };
  private readonly http: Http;

  constructor(options: { endpoint: Endpoint; version: string }) {
    this.http = new Http(options.endpoint);
    this.url = options.endpoint.url;
    this.version = options.version;
  }

  async list(directory: string): Promise<SessionInfo[]> {
    // A project's sessions may work in any of its folders; those of one folder alone would miss the ones below.
    const query = { 'location[directory]': directory };
    const { project } = await this.http.read(locationShape, 'GET', '/api/location', { query, timeoutMs: 120_000 });
    const sessions = await this.pages(sessionList, '/api/session', { project: project.id, order: 'desc' }, 200);
    return sessions.filter((session) => isWithin(directory, session.location.directory)).map(v2Session);
  }

  async listAll(): Promise<ListedSession[]> {
    const raw = await this.pages(sessionList, '/api/session', { order: 'desc' }, 200);
    return raw.map((one) => ({ session: v2Session(one), stamp: stampOf(one) }));
  }

  async get(session: string): Promise<SessionInfo> {
    return v2Session(await this.data(v2SessionShape, 'GET', path(session)));
  }

  async messages(session: string): Promise<SessionMessage[]> {
    const where = `${path(session)}/message`;
    const [info, messages] = await Promise.all([
      this.get(session),
      this.pages(messageList, where, { order: 'asc' }, 100),
    ]);
    return v2Messages(messages, info);
  }

  fork(session: string, before: string | null, directory?: string): Promise<ForkedSession> {
    const parts = {
      get: (id: string) => this.get(id),
      exportSession: (id: string) => this.exportSession(id),
      importSession: (document: SessionExport, options: ImportOptions) => this.importSession(document, options),
      messages: (id: string) => this.messages(id),
      remove: (id: string) => this.remove(id),
      fork: async (id: string, message: string | null) => {
        if (message === null && (await this.isEmpty(id))) return this.another(id);
        const body = message === null ? {} : { before: message };
        return v2Session(await this.data(v2SessionShape, 'POST', `${path(id)}/fork`, { body, timeoutMs: 300_000 }));
      },
    };
    const fork = (id: string, message: string | null) => forkInto(parts, id, message, directory);
    return checkedFork({ ...parts, fork }, session, before);
  }

  private async isEmpty(session: string): Promise<boolean> {
    return (await this.data(messageList, 'GET', `${path(session)}/message`, { query: { limit: 1 } })).length === 0;
  }

  /** OpenCode 2 does not fork a session in which nothing was said: a new one is the same, and called as a fork would be. */
  private async another(session: string): Promise<SessionInfo> {
    const { title, agent, model, metadata, location } = await this.data(v2SessionShape, 'GET', path(session));
    const { directory } = location;
    const body = { title: title && `${title} (fork #1)`, agent, model, metadata, location: { directory } };
    return v2Session(await this.data(v2SessionShape, 'POST', '/api/session', { body }));
  }

  async busy(session: string): Promise<BusyState> {
    if (session in (await this.active())) return 'busy';
    const query = { order: 'desc', limit: 1 };
    const [last] = await this.data(messageList, 'GET', `${path(session)}/message`, { query });
    return last?.type === 'assistant' && last.time.completed === undefined ? 'unfinished' : 'idle';
  }

  async working(directory: string): Promise<string[]> {
    const active = await this.active();
    if (Object.keys(active).length === 0) return [];
    return atWorkThemselves(await this.list(directory), (id) => id in active);
  }

  private active(): Promise<Record<string, unknown>> {
    return this.data(anyFields, 'GET', '/api/session/active');
  }

  async interrupt(session: string): Promise<void> {
    await this.http.json('POST', `${path(session)}/interrupt`);
    await waitUntil(`Stopping session ${session}`, 30_000, async () => (await this.busy(session)) !== 'busy');
  }

  /** Kept in the inbox, also over a restart, and put before the next prompt: so nothing is asked of the model now. */
  async note(session: string, text: string): Promise<void> {
    const body = { text, description: 'Checkpoints', resume: false };
    await this.http.json('POST', `${path(session)}/synthetic`, { body });
  }

  async update(session: string, change: { title?: string; metadata?: Record<string, unknown> }): Promise<void> {
    const { title, metadata } = change;
    // The server replaces all of it.
    const merged = metadata && mergeMetadata((await this.get(session)).metadata, metadata);
    await this.http.json('PATCH', path(session), { body: { title, metadata: merged } });
  }

  todos(_session: string): Promise<Todo[] | null> {
    return Promise.resolve(null);
  }

  writeTodos(_session: string, _todos: Todo[]): Promise<boolean> {
    return Promise.resolve(false);
  }

  async exportSession(session: string): Promise<SessionExport> {
    const where = `/api/experimental${path(session).slice('/api'.length)}/export`;
    return this.data(exportShape, 'GET', where, { timeoutMs: 120_000 });
  }

  async importSession(given: SessionExport, options: ImportOptions): Promise<SessionInfo> {
    requireGeneration(given, 'v2');
    const document = transferred(given, options);
    const info = { ...document.info };
    // A sub-agent whose parent is not here comes in as a session of its own.
    if (typeof info['parentID'] === 'string' && !(await sessionExists(this, info['parentID']))) delete info['parentID'];
    const body = { info, messages: document.messages, location: { directory: options.directory } };
    const answer = { body, timeoutMs: 120_000 };
    return v2Session(await this.data(v2SessionShape, 'POST', '/api/experimental/session/import', answer));
  }

  async remove(session: string): Promise<void> {
    await this.http.json('DELETE', path(session));
  }

  events(listener: (event: SessionEvent) => void, signal: AbortSignal): Promise<void> {
    const source = { http: this.http, path: '/api/event', mapper: () => new V2Events() };
    return followEvents(source, listener, signal);
  }

  private async data<T>(inner: Shape<T>, method: string, where: string, options?: RequestOptions): Promise<T> {
    return (await this.http.read(dataOf(inner), method, where, options)).data;
  }

  /** There is always a next cursor; an empty page is the end. */
  private async pages<T>(list: Shape<T[]>, where: string, first: Record<string, string>, limit: number): Promise<T[]> {
    const all: T[] = [];
    const { order, ...kept } = first;
    for (let query: Record<string, string | number | undefined> = { ...kept, order, limit }; ;) {
      const { data, cursor } = await this.http.read(pageOf(list), 'GET', where, { query, timeoutMs: 60_000 });
      all.push(...data);
      if (data.length < limit || !cursor?.next) return all;
      query = { ...kept, limit, cursor: cursor.next };
    }
  }
}

function path(session: string): string {
  if (!/^ses[A-Za-z0-9_-]*$/.test(session))
    throw new CheckpointsError('session-missing', `No session is called ${session}`, { details: { session } });
  return `/api/session/${session}`;
}
