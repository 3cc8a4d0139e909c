import { spawn } from 'node:child_process';
import { existsSync, realpathSync, statSync } from 'node:fs';
import { isAbsolute, resolve, sep } from 'node:path';
import { CheckpointsError } from '../core/errors';
import { runGit, safeFlags, userEnv } from '../git/run';
import { findUserRepo } from '../git/user-repo';

/** Where checkpoints go to or come from. */
export interface Address {
  /** What git is given. */
  url: string;
  /** The same for people and logs: without a password. */
  shown: string;
}

export interface TransportOptions {
  gitDir: string;
  interactive: boolean;
  signal?: AbortSignal;
  input?: string;
  /** Exit codes that are answers, not failures. */
  accept?: number[];
  /** git's own progress: `Receiving objects:  50% (3/6)`. */
  onProgress?: (what: string, done: number, total: number) => void;
  /** Asked once a second: what it says ends the transfer. */
  guard?: () => string | null;
}

/**
 * The user's configuration may say how to get there (credentials, proxies, keys, rewritten addresses), nothing else: no
 * hooks, no signatures, no submodules, no pruning, and everything that arrives is examined before it is kept.
 */
const flags = [
  ...safeFlags,
  ...Object.entries({
    'push.followTags': 'false',
    'push.gpgSign': 'false',
    'push.recurseSubmodules': 'no',
    'push.default': 'nothing',
    'push.negotiate': 'false',
    'push.useForceIfIncludes': 'false',
    'fetch.recurseSubmodules': 'no',
    'fetch.prune': 'false',
    'fetch.pruneTags': 'false',
    'fetch.writeCommitGraph': 'false',
    'fetch.fsckObjects': 'true',
    'fetch.unpackLimit': '1',
    'fetch.showForcedUpdates': 'false',
    'submodule.recurse': 'false',
    'http.lowSpeedLimit': '1',
    'http.lowSpeedTime': '90',
    'core.compression': '-1',
  }).flatMap(([key, value]) => ['-c', `${key}=${value}`]),
  // Names in trees are judged one checkpoint at a time, so that a bad one does not keep the others away; git only looks whether
  // the objects are whole. What a workspace has in `.gitmodules` and the like is of no concern: nothing is checked out by git.
  ...[
    'hasDot',
    'hasDotdot',
    'hasDotgit',
    'fullPathname',
    'emptyName',
    'badFilemode',
    'zeroPaddedFilemode',
    'largePathname',
    'gitmodulesBlob',
    'gitmodulesLarge',
    'gitmodulesMissing',
    'gitmodulesName',
    'gitmodulesParse',
    'gitmodulesPath',
    'gitmodulesSymlink',
    'gitmodulesUpdate',
    'gitmodulesUrl',
    'gitattributesBlob',
    'gitattributesLarge',
    'gitattributesLineLength',
    'gitattributesMissing',
    'gitattributesSymlink',
    'gitignoreSymlink',
    'mailmapSymlink',
    'symlinkTargetBlob',
    'symlinkTargetLength',
    'symlinkTargetMissing',
    'symlinkPointsToGitDir',
  ].flatMap((id) => ['-c', `fetch.fsck.${id}=ignore`]),
];

/** A folder, an address, or the name of a remote of the user's repository, which is only asked for its address. */
export async function resolveRemote(remote: string, cwd: string, root: string): Promise<Address> {
  if (remote === '' || remote.startsWith('-') || /[\0\n\r]/.test(remote))
    throw new CheckpointsError('invalid-argument', `Not a git remote: ${JSON.stringify(remote)}.`);
  if (/^[\w.-]+::/.test(remote))
    throw new CheckpointsError('invalid-argument', `${remote}: remotes that run a program are not used.`);
  if (!isAbsolute(remote) && /^[\w][\w.-]*$/.test(remote)) {
    const named = await remoteUrl(remote, root);
    if (named !== null) return addressOf(named, root);
  }
  return addressOf(remote, cwd);
}

/** Neither the user's own repository nor a store is written to by a push. */
export async function refuseOwn({ url }: Address, root: string, home: string): Promise<void> {
  if (!isAbsolute(url)) return;
  const inside = (parent: string, path: string): boolean => path === parent || path.startsWith(parent + sep);
  const folder = realpathSync(url);
  const own = await findUserRepo(root);
  const there = await findUserRepo(folder);
  const same = own !== null && (own.commonDir === there?.commonDir || own.commonDir === folder);
  if (same || inside(root, folder) || (existsSync(home) && inside(realpathSync(home), folder)))
    throw new CheckpointsError(
      'invalid-argument',
      `${url} belongs to this workspace itself: push to another repository.`,
    );
}

async function remoteUrl(name: string, root: string): Promise<string | null> {
  const quiet = ['-c', 'safe.directory=*', '-c', 'core.fsmonitor=false'];
  const result = await runGit([...quiet, 'config', '--get', `remote.${name}.url`], {
    cwd: root,
    env: userEnv(),
    accept: [1, 128],
  });
  return result.code === 0 ? result.stdout.toString('utf8').replace(/\n$/, '') || null : null;
}

function addressOf(text: string, cwd: string): Address {
  const isUrl = /^[a-z][a-z0-9+.-]*:\/\//i.test(text);
  // `host:path` is ssh, unless a folder of that name is there.
  const isScp = !isUrl && /^[^/\\]+:/.test(text) && !/^[a-z]:[\\/]/i.test(text) && !existsSync(resolve(cwd, text));
  if (isUrl || isScp) return { url: text, shown: withoutPassword(text) };
  const folder = resolve(cwd, text);
  if (!existsSync(folder) || !statSync(folder).isDirectory())
    throw new CheckpointsError('remote-failed', `${text}: there is no such folder, and no remote of this name.`);
  return { url: folder, shown: folder };
}

export function withoutPassword(text: string): string {
  return text.replace(/^([a-z][a-z0-9+.-]*:\/\/)([^/@]*)@/i, (_all, scheme: string, who: string) => {
    const user = who.split(':')[0] ?? '';
    return who.includes(':') ? `${scheme}${user}@` : `${scheme}${who}@`;
  });
}

/** Prompts only where somebody sits at a terminal. */
async function transportEnv(interactive: boolean): Promise<NodeJS.ProcessEnv> {
  const env: NodeJS.ProcessEnv = { ...userEnv(), GIT_ATTR_NOSYSTEM: '1', GIT_FLUSH: '0' };
  for (const key of ['GIT_SSH', 'GIT_SSH_COMMAND', 'GIT_SSH_VARIANT', 'GIT_PROXY_COMMAND', 'GIT_SSL_CAINFO'])
    if (process.env[key] !== undefined) env[key] = process.env[key];
  if (interactive) {
    delete env.GIT_TERMINAL_PROMPT;
    return env;
  }
  const ssh = env.GIT_SSH_COMMAND ?? (await configured('core.sshCommand', env)) ?? (env.GIT_SSH ? null : 'ssh');
  if (ssh !== null && /(^|[\\/\s])ssh(\.exe)?(\s|$)/.test(ssh)) env.GIT_SSH_COMMAND = `${ssh} -o BatchMode=yes`;
  return { ...env, GIT_TERMINAL_PROMPT: '0', GIT_ASKPASS: '', SSH_ASKPASS: '', GCM_INTERACTIVE: 'never' };
}

/**
 * Into a folder of this machine, git runs the receiving side as the same user: with that user's hooks for all repositories, unless
 * told to look for those of the repository itself.
 */
export async function receivingSide({ url }: Address): Promise<string[]> {
  const local = isAbsolute(url) || url.startsWith('file:');
  if (!local || (await configured('core.hooksPath', userEnv())) === null) return [];
  return ['--receive-pack=git -c core.hooksPath=hooks receive-pack'];
}

async function configured(key: string, env: NodeJS.ProcessEnv): Promise<string | null> {
  const result = await runGit(['config', '--global', '--get', key], { cwd: process.cwd(), env, accept: [1, 128] });
  return result.stdout.toString('utf8').trim() || null;
}

export interface TransportOutput {
  code: number;
  stdout: string;
  stderr: string;
}

/** One conversation of git with a remote. */
export async function speak(args: string[], address: Address, options: TransportOptions): Promise<TransportOutput> {
  const env = await transportEnv(options.interactive);
  const output = await run([...flags, `--git-dir=${options.gitDir}`, ...args], env, options);
  if (output.code === 0 || options.accept?.includes(output.code)) return output;
  throw refused(address, output);
}

function run(args: string[], env: NodeJS.ProcessEnv, options: TransportOptions): Promise<TransportOutput> {
  return new Promise((done, fail) => {
    const child = spawn('git', args, { cwd: options.gitDir, env, stdio: ['pipe', 'pipe', 'pipe'], windowsHide: true });
    const out: Buffer[] = [];
    let stderr = '';
    let stopped: CheckpointsError | null = null;
    const stop = (reason: CheckpointsError): void => {
      stopped ??= reason;
      child.kill('SIGTERM');
    };
    const abort = (): void => stop(new CheckpointsError('cancelled', 'Cancelled.'));
    if (options.signal?.aborted) abort();
    options.signal?.addEventListener('abort', abort, { once: true });
    const timer = options.guard
      ? setInterval(() => {
          const why = options.guard?.();
          if (why) stop(new CheckpointsError('remote-failed', why, { details: { limit: true } }));
        }, 1000)
      : null;
    const settle = (): void => {
      if (timer) clearInterval(timer);
      options.signal?.removeEventListener('abort', abort);
    };
    child.stdout.on('data', (chunk: Buffer) => out.push(chunk));
    child.stderr.on('data', (chunk: Buffer) => {
      const text = chunk.toString('utf8');
      stderr = (stderr + text).slice(-20_000);
      for (const [, what, a, b] of text.matchAll(/(\w+ objects|Resolving deltas):\s+\d+% \((\d+)\/(\d+)\)/g))
        options.onProgress?.(what ?? '', Number(a), Number(b));
    });
    // git may end before it has read its input; its exit code tells why.
    child.stdin.on('error', () => undefined);
    child.on('error', (error: NodeJS.ErrnoException) => {
      settle();
      fail(
        error.code === 'ENOENT'
          ? new CheckpointsError('git-missing', 'git was not found on PATH.', { cause: error })
          : error,
      );
    });
    child.on('close', (code) => {
      settle();
      if (stopped) fail(stopped);
      else done({ code: code ?? -1, stdout: Buffer.concat(out).toString('utf8'), stderr });
    });
    child.stdin.end(options.input ?? '');
  });
}

/** Not the remote's fault: objects of the store that were counted on have been cleaned up meanwhile. */
export function isVanished(error: unknown): boolean {
  const said = CheckpointsError.is(error, 'remote-failed') ? String(error.details?.['stderr'] ?? '') : '';
  return /bad object|did not send all necessary objects|unable to read|missing (blob|tree|commit)|could not parse/i.test(
    said,
  );
}

export const otherNames = 'it uses another kind of object names (sha1 and sha256 do not mix)';

/** git's words about a remote, in one table; the last lines are passed on as they are, without a password. */
const causes: Array<[RegExp, string]> = [
  [
    /does not appear to be a git repository|not a git repository|repository .* not found/i,
    'it is not a git repository',
  ],
  [
    /could not read (Username|Password)|Authentication failed|Permission denied|access denied|403/i,
    'it does not let you in',
  ],
  [
    /Could not resolve host|Connection refused|Connection timed out|Network is unreachable|No route/i,
    'it cannot be reached',
  ],
  // The last is what git says of an empty one.
  [/mismatched algorithms|object-format|hash algorithm|unexpected capabilities\^\{\}/i, otherNames],
  [/fsck error|unpack-objects|index-pack failed|pack has bad object|inflate|bad pack/i, 'what it sent is damaged'],
  [/No space left on device/i, 'a disk is full'],
];

function refused(address: Address, { code, stderr }: TransportOutput): CheckpointsError {
  const lines = stderr
    .split(/[\r\n]+/)
    .map((line) => line.trim())
    .filter((line) => line !== '' && !/\d+% \(/.test(line))
    .map(withoutPassword);
  const why = causes.find(([pattern]) => pattern.test(stderr))?.[1];
  const said = lines.slice(-3).join(' ').slice(0, 600);
  return new CheckpointsError('remote-failed', `${address.shown}: ${why ? `${why}. ` : ''}git says: ${said}`, {
    details: { code, stderr: lines.slice(-20).join('\n') },
  });
}
