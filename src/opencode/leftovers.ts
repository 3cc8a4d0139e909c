import { randomUUID } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Generation } from '../core/sessions';
import { groupMembers, isSame, processInfo, signal, startedWith, type ProcessInfo } from './processes';

/** Which servers we started, on disk: OpenCode 1's outlives the program that started it. */
interface ServerRecord {
  generation: Generation;
  /** null: it does not listen yet. */
  url: string | null;
  /** Who stops it, while it lives. */
  owner: ProcessInfo;
  /** The server and, when it was started through a launcher, that too. */
  processes: ProcessInfo[];
  /** While it does not listen yet: a launcher may be about to start the real program. */
  token?: string;
}

/** One that is about to be started: its process is not known yet, but what it will have in its environment is. */
interface Intent {
  owner: ProcessInfo;
  token: string;
  begun: number;
}

const tokenName = 'OPENCODE_CHECKPOINTS_SERVER';
/** A process has its environment a moment after it was started. */
const startMs = 10_000;

/**
 * Before a server is started, who may be killed before it can be written down: `env` is for the server. `forget` when it is
 * written down, or was not started.
 */
export async function announceServer(
  folder: string,
): Promise<{ token: string; env: Record<string, string>; forget: () => Promise<void> }> {
  const token = randomUUID();
  const env = { [tokenName]: token };
  const owner = await processInfo(process.pid);
  if (!owner) return { token, env, forget: () => Promise.resolve() };
  const intent: Intent = { owner, token, begun: Date.now() };
  return { token, env, forget: await put(folder, `start-${token}.json`, intent) };
}

/** Written next to the stores; holds no password. Returns what takes the record away again. */
export async function recordServer(
  folder: string,
  { pid, ...server }: Pick<ServerRecord, 'generation' | 'url' | 'token'> & { pid: number },
): Promise<() => Promise<void>> {
  const owner = await processInfo(process.pid);
  const members = await Promise.all((await groupMembers(pid)).map(processInfo));
  const processes = members.filter((member) => member !== null);
  if (!owner || processes.length === 0) return () => Promise.resolve();
  return put(folder, `${pid}.json`, { ...server, owner, processes });
}

async function put(folder: string, name: string, content: ServerRecord | Intent): Promise<() => Promise<void>> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const file = join(folder, name);
  await writeFile(`${file}.new`, JSON.stringify(content), { mode: 0o600 });
  await rename(`${file}.new`, file);
  return () => rm(file, { force: true });
}

/** Ends servers of ours whose starter is gone. Returns the processes that were ended. */
export async function endLeftovers(folder: string): Promise<number[]> {
  const ended: number[] = [];
  for (const name of await names(folder)) {
    const file = join(folder, name);
    const record = await readRecord(file);
    if (record && (await isSame(record.owner))) continue;
    const left = record ? await leftBy(record) : [];
    for (const known of left) {
      await end(known);
      ended.push(known.pid);
    }
    const mayCome = record !== null && 'begun' in record && left.length === 0 && isYoung(record);
    if (!mayCome) await rm(file, { force: true });
  }
  return ended;
}

/** What still runs of it. The number alone proves nothing: it may be somebody else's by now. */
async function leftBy(record: ServerRecord | Intent): Promise<ProcessInfo[]> {
  const known = 'processes' in record ? record.processes : [];
  const alive = await Promise.all(known.map(isSame));
  const marked = record.token === undefined ? [] : await startedWith(`${tokenName}=${record.token}`);
  // What it started itself has the token, too, and is its own affair.
  const servers = marked.filter(({ command }) => / serve( |$)/.test(command));
  const left = [...known.filter((_, i) => alive[i]), ...servers];
  return left.filter(({ pid }, i) => left.findIndex((other) => other.pid === pid) === i);
}

function isYoung({ begun }: Intent): boolean {
  const age = Date.now() - begun;
  return age >= 0 && age < startMs;
}

async function names(folder: string): Promise<string[]> {
  try {
    return (await readdir(folder)).filter((name) => /^(\d+|start-[\w-]+)\.json$/.test(name));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

async function readRecord(file: string): Promise<ServerRecord | Intent | null> {
  try {
    const record = JSON.parse(await readFile(file, 'utf8')) as Partial<ServerRecord & Intent>;
    if (!record.owner) return null;
    if (Array.isArray(record.processes)) return record as ServerRecord;
    return typeof record.token === 'string' ? (record as Intent) : null;
  } catch {
    // Taken away by its owner a moment ago, or not ours: nothing can be ended by it.
    return null;
  }
}

async function end(known: ProcessInfo): Promise<void> {
  signal(known.pid, 'SIGTERM');
  for (let waited = 0; waited < 3000; waited += 100) {
    await sleep(100);
    if (!(await isSame(known))) return;
  }
  if (await isSame(known)) signal(known.pid, 'SIGKILL');
}
