import { endOfTurn } from './attribution';
import { CheckpointsError } from './errors';
import type { Checkpoint, PathReason } from './model';
import type { CaptureFacts, FileChange, FileVersion, SnapshotStore } from './ports';
import { turnKey } from './turns';

export interface TurnTrees {
  /** Before the prompt. */
  before: Checkpoint;
  /** When the turn had ended; null: it is the last thing that happened. */
  after: Checkpoint | null;
}

/** The checkpoints around the turn that a checkpoint belongs to. `checkpoints` is oldest first. */
export function turnAround(target: Checkpoint, checkpoints: readonly Checkpoint[]): TurnTrees {
  if (!target.session || !target.turn)
    throw new CheckpointsError('invalid-argument', `The checkpoint "${target.title}" belongs to no turn.`);
  const key = turnKey(target);
  const own = checkpoints.filter((c) => turnKey(c) === key && c.trigger !== 'restore');
  const before = own.find((c) => c.trigger === 'turn') ?? own[0];
  if (!before) throw new CheckpointsError('unknown-reference', 'The checkpoint before this turn is gone.');
  const idle = own.find((c) => c.trigger === 'idle');
  if (idle) return { before, after: idle };
  const end = own.map(endOfTurn).find((id) => id !== null);
  const quiet = checkpoints.find((c) => c.id === end);
  if (quiet) return { before, after: quiet };
  // It died, or is still at work.
  const last = own.at(-1)!;
  return { before, after: checkpoints.find((c) => c.id > last.id) ?? null };
}

const isFile = (version: FileVersion | null): version is FileVersion =>
  version !== null && (version.mode === 0o100644 || version.mode === 0o100755);
const same = (a: FileVersion | null, b: FileVersion | null): boolean =>
  a === b || (a !== null && b !== null && a.mode === b.mode && a.oid === b.oid);

/** What one turn changed, undone on top of the files as they are; what was changed since by others is merged. */
export async function revertTurnChanges(
  store: SnapshotStore,
  turn: TurnTrees,
  facts: CaptureFacts,
  conflicts: PathReason[],
): Promise<FileChange[]> {
  const afterTree = turn.after?.files.tree ?? facts.tree;
  const out: FileChange[] = [];
  for (const { path, before, after } of await store.diff(turn.before.files.tree, afterTree)) {
    const now = await store.lookup(facts.tree, path);
    if (same(now, before)) continue;
    if (same(now, after)) {
      out.push({ path, before: now, after: before });
      continue;
    }
    if (!isFile(now) || !isFile(before) || !isFile(after)) {
      conflicts.push({ path, reason: now ? 'created or replaced since' : 'deleted since' });
      continue;
    }
    const [ours, base, theirs] = await Promise.all([now, after, before].map((v) => store.content(v)));
    const merged = await store.mergeFile(ours!, base!, theirs!);
    if (merged) out.push({ path, before: now, after: { mode: now.mode, oid: await store.addContent(merged) } });
    else conflicts.push({ path, reason: 'changed at the same place since' });
  }
  return out;
}
