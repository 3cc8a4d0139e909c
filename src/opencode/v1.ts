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
import { Http, type Endpoint } from './http';
import { mergeMetadata } from './metadata';
import { atWorkThemselves, isWithin } from './normal';
import { anyFields, isFields, isText, listOf, shape, type Shape } from './shapes';
import { exportedInfo, requireGeneration, stampOf, transferred } from './transfer';
import { importByCommand, todosByCommand, type CommandLine } from './v1-cli';
import { V1Events } from './v1-events';
import { v1Messages, v1MessageShape, v1Session, v1SessionShape, type V1Message } from './v1-normal';
import { waitUntil } from './waiting';

export interface V1Options {
  endpoint: Endpoint;
  version: string;
  /** Finds OpenCode's command line when something needs it; null when there is none. */
  commandLine: () => Promise<CommandLine | null>;
  /** Another way to the same server. */
  http?: Http;
}

/** The first request for a folder waits for its plugins, and those for npm. */
const bootMs = 120_000;

/** Longer than any list we ask for: without a limit OpenCode 1 gives the newest hundred. */
const everything = 1_000_000;

/** Only what was changed lately can be at work, and a folder that nobody works in is loaded when it is asked about. */
const askedForWork = 10;

const sessionList = listOf('a list of sessions', v1SessionShape);
const messageList = listOf('a list of messages', v1MessageShape);
const todoList: Shape<Todo[]> = listOf(
  'a list of todos',
  shape('a todo', (raw) => isFields(raw) && [raw['content'], raw['status'], raw['priority']].every(isText)),
);

/** OpenCode 1.18 over HTTP. */
export class V1Gateway implements SessionGateway {
  readonly generation = 'v1';
  readonly version: string;
  readonly url: string;
  readonly capabilities: GatewayCapabilities = { todos: 'write', notes: 'message', import: true };
  private readonly http: Http;
  private readonly commandLine: V1Options['commandLine'];

  constructor(options: V1Options) {
    this.http = options.http ?? new Http(options.endpoint);
    this.url = options.endpoint.url;
    this.version = options.version;
    this.commandLine = options.commandLine;
  }

  async list(directory: string): Promise<SessionInfo[]> {
    const query = { directory, scope: 'project', limit: everything };
    const sessions = await this.http.read(sessionList, 'GET', '/session', { query, timeoutMs: bootMs });
    return sessions.filter((session) => isWithin(directory, session.directory)).map(v1Session);
  }

  async listAll(): Promise<ListedSession[]> {
    const query = { archived: 'true', limit: everything };
    const raw = await this.http.read(sessionList, 'GET', '/experimental/session', { query, timeoutMs: bootMs });
    return raw.map((one) => ({ session: v1Session(one), stamp: stampOf(one) }));
  }

  async get(session: string): Promise<SessionInfo> {
    return v1Session(await this.http.read(v1SessionShape, 'GET', path(session)));
  }

  async messages(session: string): Promise<SessionMessage[]> {
    return (await this.whole(session)).messages;
  }

  /** What a session is and what was said in it: the one is needed to read the other. */
  async whole(session: string): Promise<{ info: SessionInfo; messages: SessionMessage[] }> {
    const [info, messages] = await Promise.all([this.get(session), this.rawMessages(session)]);
    return { info, messages: v1Messages(messages, info) };
  }

  private async rawMessages(session: string): Promise<V1Message[]> {
    return this.http.read(messageList, 'GET', `${path(session)}/message`, { timeoutMs: 120_000 });
  }

  fork(session: string, before: string | null, directory?: string): Promise<ForkedSession> {
    const parts = {
      get: (id: string) => this.get(id),
      exportSession: (id: string) => this.exportSession(id),
      importSession: (document: SessionExport, options: ImportOptions) => this.importSession(document, options),
      messages: (id: string) => this.messages(id),
      remove: (id: string) => this.remove(id),
      fork: async (id: string, messageID: string | null) => {
        const body = messageID === null ? {} : { messageID };
        const options = { body, timeoutMs: 300_000 };
        return v1Session(await this.http.read(v1SessionShape, 'POST', `${path(id)}/fork`, options));
      },
    };
    const fork = (id: string, message: string | null) => forkInto(parts, id, message, directory);
    return checkedFork({ ...parts, fork }, session, before);
  }

  async busy(session: string): Promise<BusyState> {
    const { directory } = await this.get(session);
    // Both at once: each takes its time on a slow server.
    const [status, last] = await Promise.all([
      this.status(directory),
      this.http.read(messageList, 'GET', `${path(session)}/message`, { query: { limit: 1 } }),
    ]);
    if (session in status) return 'busy';
    const unfinished = last.some(({ info }) => info.role === 'assistant' && info.time.completed === undefined);
    return unfinished ? 'unfinished' : 'idle';
  }

  async working(directory: string): Promise<string[]> {
    const sessions = await this.list(directory);
    const roots = sessions.filter(({ parentId }) => parentId === null);
    const folders = new Set([directory, ...roots.slice(0, askedForWork).map((session) => session.directory)]);
    const atWork = Object.assign(
      {},
      ...(await Promise.all([...folders].map((folder) => this.status(folder)))),
    ) as object;
    return atWorkThemselves(sessions, (id) => id in atWork);
  }

  /** The server knows of each folder's work only in that folder. */
  private status(directory: string): Promise<Record<string, unknown>> {
    return this.http.read(anyFields, 'GET', '/session/status', { query: { directory } });
  }

  async interrupt(session: string): Promise<void> {
    const { directory } = await this.get(session);
    if ((await this.busy(session)) !== 'busy') return;
    await this.http.json('POST', `${path(session)}/abort`, { query: { directory } });
    await waitUntil(`Stopping session ${session}`, 30_000, async () => (await this.busy(session)) !== 'busy');
    // The last answer is finished off a moment after the session is called idle.
    await waitUntil(`Stopping session ${session}`, 5000, async () => (await this.busy(session)) === 'idle').catch(
      (error: unknown) => {
        if (!CheckpointsError.is(error, 'timeout')) throw error;
      },
    );
  }

  async note(session: string, text: string): Promise<void> {
    const [{ directory }, messages] = await Promise.all([this.get(session), this.rawMessages(session)]);
    // OpenCode's terminal goes on with the agent and the model of the last user message.
    const { agent, model } = messages.findLast(({ info }) => info.role === 'user')?.info ?? {};
    const body = { noReply: true, parts: [{ type: 'text', text }], agent, model };
    await this.http.json('POST', `${path(session)}/message`, { query: { directory }, body });
  }

  async update(session: string, change: { title?: string; metadata?: Record<string, unknown> }): Promise<void> {
    const { title, metadata } = change;
    // The server replaces all of it.
    const merged = metadata && mergeMetadata((await this.get(session)).metadata, metadata);
    await this.http.json('PATCH', path(session), { body: { title, metadata: merged } });
  }

  async todos(session: string): Promise<Todo[]> {
    return this.http.read(todoList, 'GET', `${path(session)}/todo`);
  }

  async writeTodos(session: string, todos: Todo[]): Promise<boolean> {
    const cli = await this.commandLine();
    if (!cli || (await this.todos(session)).length > 0) return false;
    const { directory } = await this.get(session);
    try {
      await todosByCommand(cli, session, todos, directory);
    } catch (error) {
      if (CheckpointsError.is(error, 'server-failed')) return false;
      throw error;
    }
    // The command line may know another database than this server.
    return (await this.todos(session)).length === todos.length;
  }

  /** The same document as `opencode export` prints. */
  async exportSession(session: string): Promise<SessionExport> {
    const info = await this.http.read(exportedInfo, 'GET', path(session));
    return { info, messages: await this.rawMessages(session) };
  }

  async importSession(given: SessionExport, options: ImportOptions): Promise<SessionInfo> {
    requireGeneration(given, 'v1');
    const document = transferred(given, options);
    const { id } = document.info;
    // `opencode import` adds to a session that is there, and says nothing.
    if (!options.resume && (await sessionExists(this, id)))
      throw new CheckpointsError('conflict', `Session ${id} is there already`);
    const cli = await this.commandLine();
    if (!cli)
      throw new CheckpointsError('not-supported', 'OpenCode 1 imports sessions only through its command line', {
        details: { session: id },
      });
    await importByCommand(cli, document, options.directory);
    if (!(await sessionExists(this, id)))
      throw new CheckpointsError(
        'server-failed',
        `The session was imported, but not where the server at ${this.url} keeps its own: start both on one machine with the same HOME and XDG_DATA_HOME`,
        { details: { session: id } },
      );
    return this.get(id);
  }

  async remove(session: string): Promise<void> {
    await this.http.json('DELETE', path(session));
  }

  events(listener: (event: SessionEvent) => void, signal: AbortSignal): Promise<void> {
    const source = { http: this.http, path: '/global/event', mapper: () => new V1Events() };
    return followEvents(source, listener, signal);
  }
}

/** A malformed id gives a server error in OpenCode 1: such a session cannot be there. */
function path(session: string): string {
  if (!/^ses[A-Za-z0-9_-]*$/.test(session))
    throw new CheckpointsError('session-missing', `No session is called ${session}`, { details: { session } });
  return `/session/${session}`;
}
