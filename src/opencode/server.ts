import { spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { CheckpointsError } from '../core/errors';
import type { Generation } from '../core/sessions';
import { findBinary, type Binary } from './binary';
import type { Endpoint } from './http';
import { announceServer, endLeftovers, recordServer } from './leftovers';
import { spareStart } from './plugin-install';
import { probe, requireOpenCode } from './probe';
import { signal } from './processes';

export interface OwnServerOptions {
  /** Setting `opencode.path`. */
  binary?: string;
  env?: NodeJS.ProcessEnv;
  /** The server's default folder. */
  cwd: string;
  /** Where servers of ours are written down. */
  stateFolder: string;
  log?: (line: string) => void;
}

export interface RunningServer {
  endpoint: Endpoint;
  generation: Generation;
  version: string;
  pid: number;
}

interface Started extends RunningServer {
  child: ChildProcess;
  forget: () => Promise<void>;
}

const startTimeoutMs = 60_000;

/** A server of our own: started at the first use, started anew when it died, stopped with us. */
export class OwnServer {
  private starting: Promise<Started> | null = null;
  private readonly onExit = (): void => this.kill('SIGKILL');
  private child: ChildProcess | null = null;

  constructor(private readonly options: OwnServerOptions) {}

  async ensure(): Promise<RunningServer> {
    const starting = (this.starting ??= this.start());
    try {
      return await starting;
    } catch (error) {
      // The next call may succeed: OpenCode may have been installed by then.
      if (this.starting === starting) this.starting = null;
      throw error;
    }
  }

  get running(): boolean {
    return this.child !== null;
  }

  async stop(): Promise<void> {
    const starting = this.starting;
    this.starting = null;
    if (!starting) return;
    const started = await starting.catch(() => null);
    if (!started) return;
    const gone = exited(started.child);
    // OpenCode 2 ends when its input does; the signal is for OpenCode 1.
    started.child.stdin?.end();
    signalGroup(started.child, 'SIGTERM');
    const timer = setTimeout(() => signalGroup(started.child, 'SIGKILL'), 5000);
    await gone;
    clearTimeout(timer);
    await started.forget();
  }

  private async start(): Promise<Started> {
    const { env = process.env, log } = this.options;
    const ended = await endLeftovers(this.options.stateFolder);
    if (ended.length > 0) log?.(`ended left-over OpenCode servers: ${ended.join(', ')}`);
    const binary = await findBinary({ path: this.options.binary, env });
    const password = randomBytes(24).toString('base64url');
    if (binary.generation === 'v1') await spareStart(this.options.cwd, env);
    // We may be killed at any moment, and OpenCode 1 would go on for ever.
    const announced = await announceServer(this.options.stateFolder);
    const child = launch(binary, password, { ...this.options, env: { ...env, ...announced.env } });
    this.adopt(child);
    let forget = announced.forget;
    const record = async (url: string | null): Promise<void> => {
      if (child.pid === undefined) return;
      const server = { pid: child.pid, generation: binary.generation, url };
      const token = url === null ? announced.token : undefined;
      forget = await recordServer(this.options.stateFolder, { ...server, token });
      await announced.forget();
    };
    try {
      const listening = address(child, binary);
      // Waited for below.
      listening.catch(() => undefined);
      await record(null);
      const url = await listening;
      // Once more: a launcher has started the real program by now.
      await record(url);
      const endpoint: Endpoint = { url, username: 'opencode', password };
      const found = requireOpenCode(await probe(endpoint), url);
      log?.(`OpenCode ${found.version} listens at ${url}, process ${child.pid}`);
      return { endpoint, ...found, pid: child.pid ?? 0, child, forget };
    } catch (error) {
      signalGroup(child, 'SIGKILL');
      await forget();
      throw error;
    }
  }

  /** Ours to end, whatever happens to us; and not there any more once it has ended. */
  private adopt(child: ChildProcess): void {
    this.child = child;
    process.once('exit', this.onExit);
    child.once('close', () => {
      if (this.child !== child) return;
      this.child = null;
      process.off('exit', this.onExit);
      const starting = this.starting;
      void starting?.then(
        (started) => {
          if (started.child !== child || this.starting !== starting) return;
          this.starting = null;
          this.options.log?.(`the OpenCode server ended by itself, process ${child.pid}`);
          return started.forget();
        },
        () => undefined,
      );
    });
  }

  private kill(name: NodeJS.Signals): void {
    if (this.child) signalGroup(this.child, name);
  }
}

function launch(binary: Binary, password: string, { cwd, env = process.env }: OwnServerOptions): ChildProcess {
  const v1 = binary.generation === 'v1';
  const args = v1 ? ['serve', '--hostname', '127.0.0.1', '--port', '0'] : ['serve', '--stdio', '--port', '0'];
  // Both names for both: a password of the user's own server must not win over ours.
  const secret = {
    OPENCODE_SERVER_PASSWORD: password,
    OPENCODE_PASSWORD: password,
    OPENCODE_SERVER_USERNAME: 'opencode',
  };
  return spawn(binary.path, args, {
    cwd,
    // A plugin makes OpenCode 1 wait for npm: more than a minute when the registry cannot be reached, but for this.
    env: { npm_config_fetch_retries: '0', ...env, ...secret },
    // A group of its own: a launcher would not pass our signal on.
    detached: process.platform !== 'win32',
    stdio: ['pipe', 'pipe', 'pipe'],
    windowsHide: true,
  });
}

/** What the server prints once it listens: a sentence in OpenCode 1, a line of JSON in OpenCode 2. */
function address(child: ChildProcess, binary: Binary): Promise<string> {
  return new Promise((resolve, reject) => {
    let output = '';
    const fail = (why: string, cause?: unknown): void => {
      clearTimeout(timer);
      const text = `OpenCode ${binary.version} did not start: ${why}`;
      reject(new CheckpointsError('server-failed', text, { cause, details: { path: binary.path } }));
    };
    const timer = setTimeout(() => fail(`nothing in ${startTimeoutMs / 1000} s`), startTimeoutMs);
    const read = (chunk: Buffer): void => {
      output = (output + chunk.toString()).slice(-20_000);
      const url = /listening on (http:\/\/\S+)/.exec(output)?.[1] ?? /"url"\s*:\s*"(http:[^"]+)"/.exec(output)?.[1];
      if (url === undefined) return;
      clearTimeout(timer);
      resolve(url);
    };
    // Read to the end of its life: a full pipe would stop the server.
    child.stdout?.on('data', read);
    child.stderr?.on('data', read);
    child.once('error', (error) => fail(error.message, error));
    child.once('exit', (code, name) => fail(`it ended with ${code ?? name}. ${lastLine(output)}`));
  });
}

function lastLine(output: string): string {
  return output.trim().split('\n').at(-1) ?? '';
}

function exited(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
  return new Promise((resolve) => child.once('exit', () => resolve()));
}

function signalGroup(child: ChildProcess, name: NodeJS.Signals): void {
  if (child.pid === undefined) return;
  if (process.platform === 'win32') child.kill(name);
  else signal(-child.pid, name);
}
