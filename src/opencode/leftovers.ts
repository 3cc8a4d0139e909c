import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Generation } from '../core/sessions';
import { groupMembers, isSame, processInfo, signal, type ProcessInfo } from './processes';

/** Which servers we started, on disk: OpenCode 1's outlives the program that started it. */
interface ServerRecord {
  generation: Generation;
  /** null: it does not listen yet. */
  url: string | null;
  /** Who stops it, while it lives. */
  owner: ProcessInfo;
  /** The server and, when it was started through a launcher, that too. */
  processes: ProcessInfo[];
}

/** Written next to the stores; holds no password. Returns what takes the record away again. */
export async function recordServer(
  folder: string,
  server: Pick<ServerRecord, 'generation' | 'url'> & { pid: number },
): Promise<() => Promise<void>> {
  const owner = await processInfo(process.pid);
  const members = await Promise.all((await groupMembers(server.pid)).map(processInfo));
  const processes = members.filter((member) => member !== null);
  if (!owner || processes.length === 0) return () => Promise.resolve();
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const file = join(folder, `${server.pid}.json`);
  const record: ServerRecord = { generation: server.generation, url: server.url, owner, processes };
  await writeFile(`${file}.new`, JSON.stringify(record), { mode: 0o600 });
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
    for (const known of record?.processes ?? []) {
      // The number alone proves nothing: it may be somebody else's by now.
      if (!(await isSame(known))) continue;
      await end(known);
      ended.push(known.pid);
    }
    await rm(file, { force: true });
  }
  return ended;
}

async function names(folder: string): Promise<string[]> {
  try {
    return (await readdir(folder)).filter((name) => /^\d+\.json$/.test(name));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

async function readRecord(file: string): Promise<ServerRecord | null> {
  try {
    const record = JSON.parse(await readFile(file, 'utf8')) as Partial<ServerRecord>;
    return record.owner && Array.isArray(record.processes) ? (record as ServerRecord) : null;
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
