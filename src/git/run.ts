import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { CheckpointsError, type Reason } from '../core/errors';
import { decodePath } from './path-bytes';

export interface GitOutput {
  code: number;
  stdout: Buffer;
  stderr: string;
}

export interface GitOptions {
  cwd: string;
  env: NodeJS.ProcessEnv;
  input?: Buffer | string;
  /** Exit codes that are answers, not failures. */
  accept?: number[];
  timeoutMs?: number;
  signal?: AbortSignal;
  /** git starts others for this: when it is cancelled they all end. */
  group?: boolean;
}

const devNull = process.platform === 'win32' ? 'NUL' : '/dev/null';

/** Flags that no configuration of the user may override: what alters bytes, runs hooks or asks questions. */
export const safeFlags = [
  '-c',
  `core.hooksPath=${devNull}`,
  '-c',
  'core.fsmonitor=false',
  '-c',
  'core.autocrlf=false',
  '-c',
  'core.longpaths=true',
  '-c',
  'core.quotePath=false',
  '-c',
  'gc.auto=0',
  '-c',
  'maintenance.auto=false',
  '-c',
  'commit.gpgSign=false',
];

/** For questions to the user's repository, whoever owns it: no program that its configuration names runs while we look. */
export const quietFlags = ['-c', 'safe.directory=*', '-c', 'core.fsmonitor=false', '-c', 'core.hooksPath=/dev/null'];

const inherited = ['PATH', 'HOME', 'TMPDIR', 'TEMP', 'TMP', 'SystemRoot', 'USERPROFILE', 'APPDATA', 'LOCALAPPDATA'];

/** For git on our store: a white list, nothing of the user's configuration. */
export function storeEnv(extra: Record<string, string> = {}): NodeJS.ProcessEnv {
  const env: NodeJS.ProcessEnv = {};
  for (const key of inherited) if (process.env[key] !== undefined) env[key] = process.env[key];
  return {
    ...env,
    GIT_CONFIG_GLOBAL: devNull,
    GIT_CONFIG_SYSTEM: devNull,
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_TERMINAL_PROMPT: '0',
    GIT_OPTIONAL_LOCKS: '0',
    GIT_ATTR_NOSYSTEM: '1',
    LC_ALL: 'C',
    GIT_AUTHOR_NAME: 'Checkpoints for OpenCode',
    GIT_AUTHOR_EMAIL: 'checkpoints@localhost',
    GIT_COMMITTER_NAME: 'Checkpoints for OpenCode',
    GIT_COMMITTER_EMAIL: 'checkpoints@localhost',
    ...extra,
  };
}

/** For questions to the user's own repository: their configuration, but no inherited GIT_* and no locks taken. */
export function userEnv(): NodeJS.ProcessEnv {
  const env: NodeJS.ProcessEnv = {};
  for (const [key, value] of Object.entries(process.env))
    if (!key.startsWith('GIT_') || key === 'GIT_CONFIG_GLOBAL' || key === 'GIT_CONFIG_NOSYSTEM') env[key] = value;
  return { ...env, GIT_OPTIONAL_LOCKS: '0', GIT_TERMINAL_PROMPT: '0', LC_ALL: 'C' };
}

export function runGit(args: string[], options: GitOptions): Promise<GitOutput> {
  return new Promise((resolve, reject) => {
    const child = spawn('git', args, {
      cwd: options.cwd,
      env: options.env,
      stdio: ['pipe', 'pipe', 'pipe'],
      windowsHide: true,
      detached: options.group === true && process.platform !== 'win32',
    });
    const out: Buffer[] = [];
    const err: Buffer[] = [];
    let timedOut = false;
    const timer = setTimeout(() => {
      timedOut = true;
      child.kill('SIGKILL');
    }, options.timeoutMs ?? 120_000);
    const abort = (): void => endAll(child, options.group === true);
    options.signal?.addEventListener('abort', abort, { once: true });
    const settle = (): void => {
      clearTimeout(timer);
      options.signal?.removeEventListener('abort', abort);
    };
    child.stdout.on('data', (chunk: Buffer) => out.push(chunk));
    child.stderr.on('data', (chunk: Buffer) => err.push(chunk));
    // git may end before it has read all of its input; its exit code tells why.
    child.stdin.on('error', () => undefined);
    child.on('error', (error: NodeJS.ErrnoException) => {
      settle();
      reject(startFailure(error, options.cwd));
    });
    child.on('close', (code) => {
      settle();
      const stderr = decodePath(Buffer.concat(err)); // it names paths
      if (options.signal?.aborted) return reject(new CheckpointsError('cancelled', 'Cancelled.'));
      if (timedOut) return reject(new CheckpointsError('timeout', `git ${verb(args)} took too long and was ended.`));
      const result = { code: code ?? -1, stdout: Buffer.concat(out), stderr };
      if (result.code === 0 || options.accept?.includes(result.code)) resolve(result);
      else void tooOld(result, options).then((old) => reject(old ?? classify(args, result)));
    });
    child.stdin.end(options.input ?? '');
  });
}

function endAll(child: ChildProcess, group: boolean): void {
  if (!group || process.platform === 'win32' || child.pid === undefined) {
    child.kill('SIGKILL');
    return;
  }
  try {
    process.kill(-child.pid, 'SIGTERM'); // git then removes what it had begun to write
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error; // it ended by itself
  }
}

function startFailure(error: NodeJS.ErrnoException, cwd: string): CheckpointsError {
  // A folder to start it in that is gone is told by the same code as a missing program.
  if (error.code === 'ENOENT' && !existsSync(cwd))
    return new CheckpointsError('refused-root', `The folder ${cwd} is not there any more.`, {
      cause: error,
      details: { gone: true },
    });
  return error.code === 'ENOENT'
    ? new CheckpointsError('git-missing', 'git was not found on PATH.', { cause: error })
    : new CheckpointsError('git-failed', `git could not be started: ${error.message}`, { cause: error });
}

const oldest = [2, 31] as const;

/** A git that does not know what it is asked may be too old for it. That is asked then only: it would cost a process each time. */
async function tooOld({ code, stderr }: GitOutput, { cwd, env }: GitOptions): Promise<CheckpointsError | undefined> {
  if (code !== 129 && !/unknown (option|switch|subcommand)|is not a git command/.test(stderr)) return undefined;
  const { stdout } = await runGit(['version'], { cwd, env, accept: [129] }).catch(() => ({ stdout: '' }));
  const [version, major, minor] = /(\d+)\.(\d+)[.\d]*/.exec(stdout.toString()) ?? [];
  const isOld = Number(major) < oldest[0] || (Number(major) === oldest[0] && Number(minor) < oldest[1]);
  if (!isOld) return undefined;
  return new CheckpointsError(
    'git-missing',
    `git was not found in version ${oldest.join('.')} or newer, only ${version}.`,
  );
}

/** An object is there and cannot be read. What git says of a flipped bit depends on which one it is. */
export const damagedObject =
  /is corrupt|unable to (parse|unpack) [0-9a-f]{40,64} header|inflate: .* error|(corrupt|garbage at end of) loose object/i;

/** git's stderr, classified in one table. */
const table: Array<[RegExp, 'disk-full' | 'store-readonly' | 'store-broken']> = [
  [/No space left on device|Disk quota exceeded/i, 'disk-full'],
  [
    /Read-only file system|Permission denied.*(objects|refs|lock)|(objects|refs|lock).*Permission denied/i,
    'store-readonly',
  ],
  [
    /(object file .* is empty|object .* is corrupt|bad (tree )?object|missing (tree|blob) object|unable to read ([0-9a-f]{40}|tree)|not a git repository|broken)/i,
    'store-broken',
  ],
  [
    /(bad config line|unexpected line in).*snapshots\.git|index file .* is too small|packfile .* index unavailable/i,
    'store-broken',
  ],
  [damagedObject, 'store-broken'],
];

export function reasonOf(stderr: string): Reason {
  return table.find(([pattern]) => pattern.test(stderr))?.[1] ?? 'git-failed';
}

function verb(args: string[]): string {
  for (let i = 0; i < args.length; i++) {
    if (args[i] === '-c') i += 1;
    else if (!args[i]!.startsWith('-')) return args[i]!;
  }
  return '';
}

function classify(args: string[], output: GitOutput): CheckpointsError {
  const reason = reasonOf(output.stderr);
  const line = output.stderr.trim().split('\n').slice(-3).join(' ');
  return new CheckpointsError(reason, `git ${verb(args)} failed (${output.code}): ${line}`, {
    details: { code: output.code, stderr: output.stderr.slice(0, 4000) },
  });
}
