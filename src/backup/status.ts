import type { BackupProblem, BackupStatus } from './api';
import type { Destination } from './destination';
import { BackupFolder } from './folder';
import { folders, isTodosFile } from './layout';
import { LocalState } from './local-state';
import { readManifests, type SessionRecord } from './manifest';
import { thisMachine } from './machine';
import { problemOf } from './run';

type StatusFacts = Omit<BackupStatus, 'state' | 'running' | 'runs' | 'suggestions'>;

const nothing: StatusFacts = {
  path: null,
  source: null,
  problem: null,
  sessions: 0,
  ownSessions: 0,
  deletedSessions: 0,
  bytes: 0,
  machines: 0,
  lastRunAt: null,
  lastSuccessAt: null,
};

/** How a backup stands, from what is in its folder: sessions counted as sessions. No session's file is read for it. */
export async function readStatus({ path, source }: Destination, home: string): Promise<StatusFacts> {
  if (path === null) return nothing;
  const { lastRunAt, lastSuccessAt, problem, backupId } = await new LocalState(home, path).read();
  const status = { ...nothing, path, source, lastRunAt, lastSuccessAt, problem };
  try {
    const folder = await BackupFolder.look(path);
    if (!folder) return { ...status, problem: problem ?? missing(path, backupId) };
    const { manifests } = await readManifests(folder);
    const machine = await thisMachine(home);
    const own = manifests.find((one) => one.machine.id === machine.id);
    return {
      ...status,
      sessions: await count(folder, folders.sessions),
      deletedSessions: await count(folder, folders.deleted),
      ownSessions: Object.values(own?.sessions ?? {}).filter(({ deletedAt }) => deletedAt === null).length,
      bytes: bytesOf(manifests.flatMap(({ sessions }) => Object.values(sessions))),
      machines: manifests.length,
    };
  } catch (error) {
    return { ...status, problem: problem ?? problemOf(error) };
  }
}

/** Not there yet is no problem; not there any more is. */
function missing(path: string, backupId: string | null): BackupProblem | null {
  if (backupId === null) return null;
  return { trouble: 'destination-missing', message: `${path} is not there`, at: new Date().toISOString() };
}

/** Files of sessions, each once: two projects may have the same one for a while. */
async function count(folder: BackupFolder, top: string): Promise<number> {
  const ids = new Set<string>();
  for (const project of await folder.list(top))
    if (project.isFolder)
      for (const { name } of await folder.list(`${top}/${project.name}`))
        if (/^ses[A-Za-z0-9_-]*\.json$/.test(name) && !isTodosFile(name)) ids.add(name);
  return ids.size;
}

/** Each file once, although several machines may name it. */
function bytesOf(records: readonly SessionRecord[]): number {
  const sizes = new Map<string, number>();
  for (const record of records)
    for (const { file, size, todos } of [record, ...record.older]) sizes.set(file, size + (todos?.size ?? 0));
  return [...sizes.values()].reduce((sum, size) => sum + size, 0);
}
