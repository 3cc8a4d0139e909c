import { spawn, type ChildProcess } from 'node:child_process';
import { createWriteStream, readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';

/** A child process that cannot outlive the test: not when it fails, not when its process is killed. */
export interface GuardedProcess {
  /** The program itself, not its guard. */
  readonly pid: number;
  readonly output: () => string;
  readonly exited: Promise<void>;
  stop(): Promise<void>;
}

/**
 * `cat` ends when our end of the pipe closes, whatever closed it: then the guard ends the program and waits for
 * it, which is also why it does not die of the signal to the whole group. The trap comes after the program's start: until
 * it has become that program, a shell that was started under the trap forgets the signal, too.
 */
const guard =
  '"$@" & child=$!; trap : TERM; echo "guarded $child"; cat >/dev/null; kill $child 2>/dev/null; wait $child';

const groups = new Set<number>();
process.on('exit', () => {
  for (const group of groups) signal(group, 'SIGKILL');
});

export async function startGuarded(
  command: string,
  args: string[],
  options: { cwd: string; env: NodeJS.ProcessEnv; logFile: string },
): Promise<GuardedProcess> {
  const child: ChildProcess = spawn('/bin/sh', ['-c', guard, 'guard', command, ...args], {
    cwd: options.cwd,
    env: options.env,
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const group = child.pid;
  if (group === undefined) throw new Error(`could not start ${command}`);
  groups.add(group);
  const log = createWriteStream(options.logFile, { flags: 'a' });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (chunk: Buffer) => {
      output += chunk.toString();
      log.write(chunk);
    });
  const exited = new Promise<void>((resolve) => child.once('close', () => resolve()));
  void exited.then(() => {
    groups.delete(group);
    log.end();
  });
  const pid = await until(
    () => /guarded (\d+)/.exec(output)?.[1],
    10_000,
    () => `${command} did not start: ${output}`,
  );
  return {
    pid: Number(pid),
    output: () => output,
    exited,
    async stop() {
      signal(group, 'SIGTERM');
      const timer = setTimeout(() => signal(group, 'SIGKILL'), 5000);
      await exited;
      clearTimeout(timer);
      // What the program left in its group (language servers, shells) goes with it.
      signal(group, 'SIGKILL');
    },
  };
}

function signal(group: number, name: NodeJS.Signals): void {
  kill(-group, name);
}

function kill(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    // ESRCH: it is gone already, which is what we want.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** Ends what still runs with this HOME, whatever group it put itself into: shells of a killed server, daemons. */
export function sweep(home: string): void {
  if (process.platform !== 'linux') return;
  for (const pid of readdirSync('/proc').map(Number)) {
    if (!(pid > 0) || pid === process.pid) continue;
    let environment: string;
    try {
      environment = readFileSync(`/proc/${pid}/environ`, 'utf8');
    } catch {
      // Gone meanwhile, or another user's: not ours in either case.
      continue;
    }
    if (environment.split('\0').includes(`HOME=${home}`)) kill(pid, 'SIGKILL');
  }
}

/** Asks again until there is an answer; the message is made at the end, when there is something to tell. */
export async function until<T>(
  ask: () => Promise<T | undefined | false> | T | undefined | false,
  timeoutMs: number,
  message: () => string,
): Promise<T> {
  const end = Date.now() + timeoutMs;
  for (let wait = 20; ; wait = Math.min(wait * 1.5, 200)) {
    const answer = await ask();
    if (answer !== undefined && answer !== false) return answer;
    if (Date.now() > end) throw new Error(message());
    await new Promise((resolve) => setTimeout(resolve, wait));
  }
}

export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  const address = server.address();
  await new Promise<void>((resolve) => server.close(() => resolve()));
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}
