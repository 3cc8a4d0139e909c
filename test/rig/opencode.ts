import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { copyFile, mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { locate } from './install.mjs';
import { isolatedEnv, scriptedConfig, type Generation, type Permissions } from './opencode-config';
import { freePort, startGuarded, sweep, until, type GuardedProcess } from './opencode-process';
import type { Script } from './script';
import { startScriptedModel, type ScriptedModel } from './scripted-model';

export type { Generation } from './opencode-config';
export { until } from './opencode-process';

const run = promisify(execFile);

export interface OpenCodeOptions {
  generation: Generation;
  /** The workspace's first files; they are committed in a git workspace. */
  files?: Record<string, string>;
  /** A git repository with one commit (the default), or a plain folder. */
  git?: boolean;
  /** Plugin files, copied to where OpenCode finds them by itself. */
  plugins?: string[];
  pluginFolder?: 'project' | 'global';
  /** On top of the scripted configuration, in the generation's own words. */
  config?: Record<string, unknown>;
  permissions?: Permissions;
  /** The model's id: one with `gpt-5` in it makes OpenCode offer its patch tool instead of edit and write. */
  modelId?: string;
  /** More models that can be asked for by `turn`. */
  otherModels?: string[];
  env?: Record<string, string>;
  /** OpenCode 2 makes up a password of its own, which nobody inside knows. */
  unknownPassword?: boolean;
  /** A second server on the first one's data folder, workspace and model. */
  sharing?: OpenCode;
  /** Use this model instead of an own one; it is then not closed with the server. */
  model?: ScriptedModel;
  /** Leave the server to be started by `start()`. */
  stopped?: boolean;
  /** A program that becomes the server: called with the server's own command line behind its arguments. */
  launcher?: string[];
}

/** A question that a tool has put to the user. */
export interface Permission {
  id: string;
  action: string;
  /** Of ours, `title` is what it says. */
  metadata?: { title?: string };
}

export interface RawAnswer {
  status: number;
  contentType: string;
  body: unknown;
}

/** A message as both generations have it, for assertions that must not rest on the code under test. */
export interface RawMessage {
  id: string;
  /** `user`, `assistant`, and in OpenCode 2 `idle`, `synthetic`, `system`, `compaction`, `shell`, ... */
  type: string;
  text: string;
  raw: Record<string, unknown>;
}

/** The executable of a generation, as the installer left it. */
export async function openCodeBinary(generation: Generation): Promise<string> {
  const key = generation === 'v1' ? 'opencodeV1' : 'opencodeV2';
  const found = await locate([key]);
  const file = found[key];
  if (file === undefined) throw new Error(`${key} was not found`);
  return file;
}

/** Starts one isolated OpenCode server with a scripted model; `dispose` leaves nothing behind. */
export async function startOpenCode(options: OpenCodeOptions): Promise<OpenCode> {
  const binary = await openCodeBinary(options.generation);
  const shared = options.sharing;
  const home = shared?.home ?? (await realpath(await mkdtemp(join(tmpdir(), `opencode-${options.generation}-`))));
  const workspace = join(home, 'workspace');
  const model = shared?.model ?? options.model ?? (await startScriptedModel());
  const rig = new OpenCode(options, { binary, home, workspace, model, ownsModel: !shared && !options.model });
  try {
    if (!shared) await prepare(rig, options);
    if (!options.stopped) await rig.start();
  } catch (error) {
    await rig.dispose();
    throw error;
  }
  return rig;
}

async function prepare(rig: OpenCode, options: OpenCodeOptions): Promise<void> {
  await mkdir(join(rig.home, 'tmp'), { recursive: true });
  await mkdir(rig.workspace, { recursive: true });
  for (const [path, content] of Object.entries(options.files ?? { 'README.md': '# Demo\n' })) {
    await mkdir(dirname(join(rig.workspace, path)), { recursive: true });
    await writeFile(join(rig.workspace, path), content);
  }
  if (options.git !== false) {
    const git = (...args: string[]): Promise<unknown> => run('git', args, { cwd: rig.workspace, env: rig.env });
    await git('init', '-q', '-b', 'main');
    await git('add', '-A');
    await git(
      '-c',
      'user.name=Rig',
      '-c',
      'user.email=rig@example.invalid',
      'commit',
      '-q',
      '--allow-empty',
      '-m',
      'First',
    );
  }
  const plugins =
    options.pluginFolder === 'global'
      ? join(rig.home, 'config', 'opencode', 'plugins')
      : join(rig.workspace, '.opencode', 'plugins');
  for (const plugin of options.plugins ?? []) {
    await mkdir(plugins, { recursive: true });
    await copyFile(plugin, join(plugins, basename(plugin)));
  }
}

interface Parts {
  binary: string;
  home: string;
  workspace: string;
  model: ScriptedModel;
  ownsModel: boolean;
}

export class OpenCode {
  readonly generation: Generation;
  readonly binary: string;
  /** Everything OpenCode writes: HOME, the XDG folders, the workspace. */
  readonly home: string;
  readonly workspace: string;
  readonly model: ScriptedModel;
  password = randomBytes(12).toString('hex');
  /** The environment the server runs in; the `opencode` command line works in it too. */
  readonly env: Record<string, string>;
  readonly logFile: string;
  private readonly modelId: string;
  private readonly launcher: string[];
  private readonly ownsHome: boolean;
  private readonly ownsModel: boolean;
  /** Of sessions that work in another folder than the workspace itself. */
  private readonly folders = new Map<string, string>();
  private process: GuardedProcess | undefined;
  private port = 0;

  constructor(options: OpenCodeOptions, parts: Parts) {
    this.generation = options.generation;
    this.binary = parts.binary;
    this.home = parts.home;
    this.workspace = parts.workspace;
    this.model = parts.model;
    this.ownsModel = parts.ownsModel;
    this.modelId = options.modelId ?? 'scripted';
    this.launcher = options.launcher ?? [];
    this.ownsHome = options.sharing === undefined;
    this.logFile = join(parts.home, `server-${this.password.slice(0, 6)}.log`);
    const config = scriptedConfig(options.generation, parts.model.url, options.permissions, [
      this.modelId,
      ...(options.otherModels ?? []),
    ]);
    this.env = {
      ...isolatedEnv(parts.home),
      OPENCODE_CONFIG_CONTENT: JSON.stringify({ ...config, ...options.config }),
      ...(options.unknownPassword
        ? {}
        : { [options.generation === 'v1' ? 'OPENCODE_SERVER_PASSWORD' : 'OPENCODE_PASSWORD']: this.password }),
      ...options.env,
    };
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  get pid(): number {
    if (!this.process) throw new Error('the server is not running');
    return this.process.pid;
  }

  get authorization(): string {
    return `Basic ${Buffer.from(`opencode:${this.password}`).toString('base64')}`;
  }

  /** Starts the server, on the port it had before if it had one. */
  async start(): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      this.port ||= await freePort();
      const args = ['serve', '--hostname', '127.0.0.1', '--port', String(this.port)];
      const [program = this.binary, ...rest] = [...this.launcher, this.binary, ...args];
      const started = await startGuarded(program, rest, {
        cwd: this.workspace,
        env: this.env,
        logFile: this.logFile,
      });
      this.process = started;
      let gone = false;
      void started.exited.then(() => (gone = true));
      const up = await until(
        () => (/listening on http/.test(started.output()) ? 'up' : gone ? 'gone' : undefined),
        60_000,
        () => `no server after a minute: ${started.output()}`,
      );
      this.password = /server password (\S+)/.exec(started.output())?.[1] ?? this.password;
      if (up === 'up') break;
      // Somebody else took the port in between.
      this.process = undefined;
      this.port = 0;
      if (attempt === 3) throw new Error(`the server ended at once: ${started.output()}`);
    }
    await this.warmUp();
  }

  async stop(): Promise<void> {
    const running = this.process;
    this.process = undefined;
    await running?.stop();
  }

  /** Ends the server the hard way, as a crash would. */
  async kill(): Promise<void> {
    const running = this.process;
    this.process = undefined;
    if (!running) return;
    process.kill(running.pid, 'SIGKILL');
    await running.stop();
  }

  async dispose(): Promise<void> {
    await this.stop();
    if (this.ownsModel) await this.model.close();
    if (!this.ownsHome) return;
    sweep(this.home);
    await rm(this.home, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  }

  /** The first request for a folder loads its configuration and plugins: done here, so that no test waits for it. */
  private async warmUp(): Promise<void> {
    const where = encodeURIComponent(this.workspace);
    const path = this.generation === 'v1' ? `/session?directory=${where}` : `/api/model?location[directory]=${where}`;
    await until(
      async () => {
        const answer = await this.request('GET', path).catch((error: unknown) => error as Error);
        if (answer instanceof Error || answer.status !== 200) return false;
        if (this.generation === 'v1') return true;
        return JSON.stringify(answer.body).includes('"scripted"');
      },
      90_000,
      () => `the workspace did not load: ${this.process?.output() ?? ''}`,
    );
  }

  async request(method: string, path: string, body?: unknown, timeoutMs = 120_000): Promise<RawAnswer> {
    const response = await fetch(this.url + path, {
      method,
      headers: {
        authorization: this.authorization,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(timeoutMs),
    });
    const text = await response.text();
    const contentType = response.headers.get('content-type') ?? '';
    const parsed: unknown = contentType.includes('json') && text !== '' ? JSON.parse(text) : text;
    return { status: response.status, contentType, body: parsed };
  }

  /** Like `request`, but anything but success is an error. */
  async call<T>(method: string, path: string, body?: unknown): Promise<T> {
    const answer = await this.request(method, path, body);
    if (answer.status >= 300)
      throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body).slice(0, 500)}`);
    return answer.body as T;
  }

  async createSession(title: string | null = 'Rig session', directory = this.workspace): Promise<string> {
    if (this.generation === 'v1') {
      const path = `/session?directory=${encodeURIComponent(directory)}`;
      const { id } = await this.call<{ id: string }>('POST', path, title === null ? {} : { title });
      this.folders.set(id, directory);
      return id;
    }
    const body = { location: { directory }, ...(title === null ? {} : { title }) };
    return (await this.call<{ data: { id: string } }>('POST', '/api/session', body)).data.id;
  }

  /** OpenCode 1 knows of each folder's work only in that folder. */
  private where(session: string): string {
    return `directory=${encodeURIComponent(this.folders.get(session) ?? this.workspace)}`;
  }

  /** Sends a prompt and returns its message id as soon as the server lists it; the turn goes on. */
  async prompt(session: string, text: string, script?: Script, model?: string): Promise<string> {
    if (script) this.model.on(text, script);
    let id: string;
    if (model !== undefined && this.generation === 'v2')
      await this.call('POST', `/api/session/${session}/model`, { model: { id: model, providerID: 'scripted' } });
    if (this.generation === 'v1') {
      id = nextMessageId();
      await this.call('POST', `/session/${session}/prompt_async?${this.where(session)}`, {
        messageID: id,
        parts: [{ type: 'text', text }],
        ...(model === undefined ? {} : { model: { providerID: 'scripted', modelID: model } }),
      });
    } else id = (await this.call<{ data: { id: string } }>('POST', `/api/session/${session}/prompt`, { text })).data.id;
    await until(
      async () => (await this.messages(session)).some((message) => message.id === id),
      60_000,
      () => `the prompt was never delivered: ${text}`,
    );
    return id;
  }

  /** Sends a prompt, to another model if asked, and waits until the session is idle again. Returns the prompt's message id. */
  async turn(session: string, text: string, script?: Script, model?: string): Promise<string> {
    const before = this.model.requests.length;
    const id = await this.prompt(session, text, script, model);
    // Idle counts only once the model was asked: between delivery and the first step neither generation says busy.
    await until(
      () => this.model.requests.slice(before).some((request) => request.kind === 'turn'),
      60_000,
      () => `the model was never asked: ${text}`,
    );
    await this.idle(session);
    return id;
  }

  async busy(session: string): Promise<boolean> {
    if (this.generation === 'v1') {
      const path = `/session/status?${this.where(session)}`;
      return session in (await this.call<Record<string, unknown>>('GET', path));
    }
    return session in (await this.call<{ data: Record<string, unknown> }>('GET', '/api/session/active')).data;
  }

  async idle(session: string, timeoutMs = 90_000): Promise<void> {
    await until(
      async () => !(await this.busy(session)) && (await this.settled(session)),
      timeoutMs,
      () => `session ${session} is still busy`,
    );
  }

  /** OpenCode 1 says idle before a failed answer is written down; a prompt in between would go unanswered. */
  private async settled(session: string): Promise<boolean> {
    if (this.generation === 'v2') return true;
    const list = await this.call<V1Message[]>('GET', `/session/${session}/message?limit=1`);
    return list.every(({ info }) => info.role !== 'assistant' || info.time.completed !== undefined);
  }

  async interrupt(session: string): Promise<void> {
    await this.call(
      'POST',
      this.generation === 'v1' ? `/session/${session}/abort` : `/api/session/${session}/interrupt`,
    );
    await this.idle(session);
  }

  /** Summarises the session, as `/compact` does, and waits for it. */
  async compact(session: string): Promise<void> {
    const before = this.model.requests.length;
    if (this.generation === 'v1')
      await this.call('POST', `/session/${session}/summarize`, { providerID: 'scripted', modelID: this.modelId });
    else await this.call('POST', `/api/session/${session}/compact`, {});
    await until(
      () => this.model.requests.slice(before).some((request) => request.kind === 'summary'),
      60_000,
      () => 'the model was never asked for a summary',
    );
    await this.idle(session);
  }

  async messages(session: string): Promise<RawMessage[]> {
    if (this.generation === 'v1') {
      const list = await this.call<V1Message[]>('GET', `/session/${session}/message`);
      return list.map(({ info: { summary: _later, ...info }, ...message }) => ({
        id: info.id,
        type: info.role,
        text: message.parts.map((part) => part.text ?? '').join(''),
        // Without what the turn changed: OpenCode 1 adds that some time after the turn.
        raw: { ...message, info },
      }));
    }
    const all: RawMessage[] = [];
    for (let query = 'order=asc'; ;) {
      const path = `/api/session/${session}/message?limit=100&${query}`;
      const page = await this.call<{ data: V2Message[]; cursor: { next?: string | null } }>('GET', path);
      for (const message of page.data) {
        const text = message.text ?? (message.content ?? []).map((part) => part.text ?? '').join('');
        all.push({ id: message.id, type: message.type, text, raw: message as unknown as Record<string, unknown> });
      }
      if (page.data.length === 0 || !page.cursor.next) return all;
      query = `cursor=${encodeURIComponent(page.cursor.next)}`;
    }
  }

  /** Permission questions that wait for an answer. */
  async permissions(session: string): Promise<Permission[]> {
    if (this.generation === 'v1') {
      const path = `/permission?${this.where(session)}`;
      const list = await this.call<Array<Permission & { sessionID: string; permission: string }>>('GET', path);
      return list
        .filter((one) => one.sessionID === session)
        .map(({ id, permission, metadata }) => ({ id, action: permission, metadata }));
    }
    const path = `/api/session/${session}/permission`;
    return (await this.call<{ data: Permission[] }>('GET', path)).data;
  }

  async answer(session: string, permission: string, reply: 'once' | 'always' | 'reject'): Promise<void> {
    if (this.generation === 'v1') {
      await this.call('POST', `/permission/${permission}/reply?${this.where(session)}`, { reply });
    } else await this.call('POST', `/api/session/${session}/permission/${permission}/reply`, { decision: reply });
  }

  /** Runs the `opencode` command line in the server's environment. */
  async cli(...args: string[]): Promise<string> {
    const options = { cwd: this.workspace, env: this.env, maxBuffer: 64 << 20 };
    const running = run(this.binary, args, options);
    // `opencode run` waits for what is piped into it.
    running.child.stdin?.end();
    return (await running).stdout;
  }
}

interface V1Message {
  info: { id: string; role: string; time: { completed?: number }; summary?: unknown };
  parts: Array<{ type: string; text?: string }>;
}

interface V2Message {
  id: string;
  type: string;
  text?: string;
  content?: Array<{ type: string; text?: string }>;
}

let lastId = 0;

/** OpenCode 1 orders messages by id: time first, then a counter, then chance. */
function nextMessageId(): string {
  lastId = Math.max(lastId + 1, Date.now() * 0x1000);
  const time = (BigInt(lastId) & 0xffffffffffffn).toString(16).padStart(12, '0');
  return `msg_${time}${randomBytes(7).toString('hex')}`;
}
