import { CheckpointsError } from './errors';
import type { Checkpoint, TaskState } from './model';
import { isStatus, listFields, readTask, taskStatuses } from './task';

/** `checkpoint.json` and `checkpoint-history.json` of `.opencode/state`: version 2, which other tools read and write, too. */

const stateVersion = 2;
const historyLength = 10;

export interface LiveTask {
  task: TaskState;
  updatedAt: string;
}

/** One save; `name` is the snapshot's own, or `auto-<ms>`. */
export interface HistoryEntry {
  name: string;
  savedAt: string;
  task: TaskState;
}

/** Every list is there, for readers count on them; scalars only where they are set; what we do not know stays where it was found. */
export function toStateFile({ task: state, updatedAt }: LiveTask): Record<string, unknown> {
  const { title, objective, status, summary, version, task, ...others } = state;
  return JSON.parse(
    JSON.stringify({
      version: typeof version === 'number' ? version : stateVersion,
      updatedAt,
      task: { ...(task as object | undefined), title, objective, status },
      summary,
      ...Object.fromEntries(listFields.map((field) => [field, state[field] ?? []])),
      ...Object.fromEntries(
        Object.entries(others).filter(([field]) => !(listFields as readonly string[]).includes(field)),
      ),
    }),
  ) as Record<string, unknown>;
}

/** Throws `invalid-argument` for what is no task state. `fallbackTime` stands in for a time the file does not name. */
export function fromStateFile(value: unknown, fallbackTime: string): { live: LiveTask; warnings: string[] } {
  const { task, clamped } = readTask(value);
  const { version, updatedAt } = value as { version?: unknown; updatedAt?: unknown };
  if (version === undefined && Object.keys(task).length === 0)
    throw new CheckpointsError('invalid-argument', 'It holds no task state.');
  const warnings: string[] = [];
  if (typeof version !== 'number' || version < stateVersion)
    warnings.push(
      `The task state is of version ${typeof version === 'number' ? version : 'unknown'}, older than ${stateVersion}; it was read as it is.`,
    );
  for (const { field, given, kept } of clamped) warnings.push(`${field} was cut from ${given} to ${kept}.`);
  const time = typeof updatedAt === 'string' ? Date.parse(updatedAt) : NaN;
  return { live: { task, updatedAt: Number.isNaN(time) ? fallbackTime : new Date(time).toISOString() }, warnings };
}

/**
 * The older plugin stored whatever status its agent made up. A save of ours refuses such a word; of what it saved then, the rest is worth more than the
 * word, which is left out and named.
 */
export function withKnownStatus(value: unknown): { value: unknown; warnings: string[] } {
  const { status: outer, task, ...rest } = (value ?? {}) as { status?: unknown; task?: unknown };
  const { status = outer, ...others } = (task ?? {}) as { status?: unknown };
  if (typeof status !== 'string' || status === '' || isStatus(status)) return { value, warnings: [] };
  return {
    value: task === undefined || task === null ? rest : { ...rest, task: others },
    warnings: [`The status ${JSON.stringify(status)} was left out: it is none of ${taskStatuses.join(', ')}.`],
  };
}

/** `entries` oldest first, as in the file. */
export function toHistoryFile(entries: readonly HistoryEntry[]): { snapshots: unknown[] } {
  return {
    snapshots: entries.map(({ name, savedAt, task }) => ({
      name,
      savedAt,
      data: toStateFile({ task, updatedAt: savedAt }),
    })),
  };
}

/** Throws `invalid-argument` for what is no history; a snapshot in it that cannot be read is left out and named. */
export function fromHistoryFile(value: unknown): { entries: HistoryEntry[]; warnings: string[] } {
  const snapshots = (value as { snapshots?: unknown } | null)?.snapshots;
  if (!Array.isArray(snapshots)) throw new CheckpointsError('invalid-argument', 'A history has a list of snapshots.');
  const entries: HistoryEntry[] = [];
  const warnings: string[] = [];
  snapshots.forEach((snapshot: unknown, i) => {
    const { name, savedAt, data } = (snapshot ?? {}) as { name?: unknown; savedAt?: unknown; data?: unknown };
    const time = typeof savedAt === 'string' ? Date.parse(savedAt) : NaN;
    try {
      if (typeof name !== 'string' || Number.isNaN(time))
        throw new CheckpointsError('invalid-argument', 'It has no name or no time.');
      const known = withKnownStatus(data);
      entries.push({ name, savedAt: new Date(time).toISOString(), task: readTask(known.value).task });
      for (const warning of known.warnings) warnings.push(`Snapshot ${i + 1} of the history: ${warning}`);
    } catch (error) {
      if (!CheckpointsError.is(error, 'invalid-argument')) throw error;
      warnings.push(`Snapshot ${i + 1} of the history cannot be read: ${error.message}`);
    }
  });
  return { entries, warnings };
}

/** Task saves nobody named are shown by their time, the state before a restore as what it is. */
export function snapshotName(save: Pick<Checkpoint, 'name' | 'createdAt' | 'trigger' | 'metadata'>): string {
  if (save.name !== null) return save.name;
  return `${save.trigger === 'restore' ? 'pre-restore' : 'auto'}-${Date.parse(savedAt(save))}`;
}

/** An imported save has the time at which it was made, not that of the import. */
export function savedAt(save: Pick<Checkpoint, 'createdAt' | 'metadata'>): string {
  const { savedAt: original } = save.metadata;
  return typeof original === 'string' && !Number.isNaN(Date.parse(original)) ? original : save.createdAt;
}

/** Whether a checkpoint is a save of the task, rather than one that only happens to hold it. */
export function isSave(checkpoint: Checkpoint): boolean {
  if (checkpoint.task === null || checkpoint.origin !== null) return false;
  const { trigger, restore, metadata } = checkpoint;
  if (trigger === 'restore') return restore?.scope.includes('task') === true;
  if (trigger === 'import') return 'savedAt' in metadata;
  return trigger === 'task' || trigger === 'compaction' || trigger === 'interval';
}

/**
 * The saves for the history file, oldest first: the newest one, then named ones before automatic ones, each the newest first, ten in all. So sixty
 * automatic saves do not push out a single named one. `checkpoints` in any order.
 */
export function historyOf(checkpoints: readonly Checkpoint[]): HistoryEntry[] {
  const newestFirst = checkpoints.filter(isSave).sort((a, b) => (savedAt(b) + b.id < savedAt(a) + a.id ? -1 : 1));
  const [newest, ...older] = newestFirst;
  if (newest === undefined) return [];
  const kept = new Set(
    [newest, ...older.filter((c) => c.name !== null), ...older.filter((c) => c.name === null)].slice(0, historyLength),
  );
  return newestFirst
    .filter((one) => kept.has(one))
    .reverse()
    .map((one) => ({ name: snapshotName(one), savedAt: savedAt(one), task: one.task ?? {} }));
}
