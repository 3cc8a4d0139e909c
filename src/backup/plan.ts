import type { Generation, ListedSession } from '../core/sessions';
import type { SessionRecord, VersionRecord } from './manifest';

/** What a run has to do, decided from what the manifest and the server's list say: data in, data out. */

export interface PlanInput {
  known: ReadonlyMap<string, SessionRecord>;
  listed: readonly ListedSession[];
  /** Of the server: the other generation's sessions are none of its business. */
  generation: Generation;
  /** Sessions that events named, and when (milliseconds). */
  touched: ReadonlyMap<string, number>;
  /** Sessions whose deletion was announced by an event. */
  deleted: ReadonlySet<string>;
  /** Whether the session's file is in the backup. */
  present: (record: SessionRecord) => boolean;
}

export interface RunPlan {
  read: ListedSession[];
  unchanged: number;
  /** Not on the server any more, as far as it can be told from here: to be proved one by one. */
  gone: SessionRecord[];
  /** Not on the server, and that is not believed. */
  kept: SessionRecord[];
}

export function planRun(input: PlanInput): RunPlan {
  const { known, listed, touched, deleted } = input;
  const read: ListedSession[] = [];
  for (const one of listed) if (mustRead(one, known.get(one.session.id), touched, input.present)) read.push(one);
  const there = new Set(listed.map(({ session }) => session.id));
  const own = [...known.values()].filter((one) => one.deletedAt === null && one.generation === input.generation);
  const missing = own.filter(({ id }) => !there.has(id));
  const silent = missing.filter(({ id }) => !deleted.has(id));
  // An empty list is a fresh machine, another data folder or a broken database. So is one that lacks much of what was there.
  const believed = there.size > 0 && silent.length * 3 <= own.length;
  return {
    read,
    unchanged: listed.length - read.length,
    gone: believed ? missing : missing.filter(({ id }) => deleted.has(id)),
    kept: believed ? [] : silent,
  };
}

function mustRead(
  { session, stamp }: ListedSession,
  record: SessionRecord | undefined,
  touched: PlanInput['touched'],
  present: PlanInput['present'],
): boolean {
  if (record === undefined || record.deletedAt !== null) return true;
  if (record.stamp !== stamp || !record.settled) return true;
  return (touched.get(session.id) ?? -1) >= record.readAt || !present(record);
}

/** How long after its last change a session is read once more: OpenCode adds to a turn after its end. */
const restMs = 60_000;

export function isSettled(updatedAt: number, readAt: number): boolean {
  return readAt - updatedAt > restMs;
}

/**
 * Which older versions stay: the newest of each machine, `limit` with the one in place. The one with the most messages stays in any case: a conversation
 * that shrank may have been damaged, and its short versions must not push the long one out.
 */
export function pruneVersions(
  current: VersionRecord,
  older: readonly VersionRecord[],
  limit: number,
): { kept: VersionRecord[]; dropped: VersionRecord[] } {
  const left = new Map<string, number>();
  const room = (machine: string): number =>
    left.get(machine) ?? (machine === current.machine ? Math.max(0, limit - 1) : Math.max(1, limit));
  const kept = new Set<VersionRecord>();
  for (const version of older) {
    const free = room(version.machine);
    left.set(version.machine, free - 1);
    if (free > 0) kept.add(version);
  }
  const fullest = older.reduce<VersionRecord | null>(
    (best, one) => (best === null || one.messages > best.messages ? one : best),
    null,
  );
  const most = Math.max(current.messages, ...[...kept].map(({ messages }) => messages));
  if (fullest !== null && fullest.messages > most) kept.add(fullest);
  return { kept: older.filter((one) => kept.has(one)), dropped: older.filter((one) => !kept.has(one)) };
}
