import { endOfTurn } from './attribution';
import { CheckpointsError } from './errors';
import type { Cause, Checkpoint, PathReason } from './model';
import { covering } from './plan';
import type { CaptureFacts, FileChange, FileVersion, SnapshotStore } from './ports';
import { turnKey } from './turns';

export interface TurnTrees {
  /** Before the prompt. */
  before: Checkpoint;
  /** When the turn had ended; null: it is the last thing that happened. */
  after: Checkpoint | null;
  /** Nothing says when it ended: it died, or is still at work. What followed its last point may be the user's. */
  openEnd?: OpenEnd;
}

interface OpenEnd {
  last: Checkpoint;
  session: string;
  causes: Cause[];
  /** The session began no other turn since: the calls under way are this one's. */
  newest: boolean;
}

/** The checkpoints around the turn that a checkpoint belongs to. `checkpoints` is oldest first. */
export function turnAround(target: Checkpoint, checkpoints: readonly Checkpoint[]): TurnTrees {
  if (!target.session || !target.turn)
    throw new CheckpointsError('invalid-argument', `The checkpoint "${target.title}" belongs to no turn.`);
  const key = turnKey(target);
  const { id: session } = target.session;
  const own = checkpoints.filter((c) => turnKey(c) === key && c.trigger !== 'restore');
  const before = own.find((c) => c.trigger === 'turn') ?? own[0];
  if (!before) throw new CheckpointsError('unknown-reference', 'The checkpoint before this turn is gone.');
  const idle = own.find((c) => c.trigger === 'idle');
  if (idle) return { before, after: idle };
  const end = own.map(endOfTurn).find((id) => id !== null);
  const quiet = checkpoints.find((c) => c.id === end);
  if (quiet) return { before, after: quiet };
  const last = own.at(-1)!;
  const causes = own.flatMap(({ cause }) => cause ?? []);
  const newest = !checkpoints.some((c) => c.id > last.id && c.session?.id === session && c.turn && turnKey(c) !== key);
  const after = checkpoints.find((c) => c.id > last.id) ?? null;
  return { before, after, openEnd: { last, session, causes, newest } };
}

const isFile = (version: FileVersion | null): version is FileVersion =>
  version !== null && (version.mode === 0o100644 || version.mode === 0o100755);
const same = (a: FileVersion | null, b: FileVersion | null): boolean =>
  a === b || (a !== null && b !== null && a.mode === b.mode && a.oid === b.oid);

/** What the turn changed. */
async function changesOf(store: SnapshotStore, turn: TurnTrees, facts: CaptureFacts): Promise<FileChange[]> {
  const { before, openEnd } = turn;
  const all = await store.diff(before.files.tree, turn.after?.files.tree ?? facts.tree);
  if (!openEnd) return all;
  const { last, session, causes, newest } = openEnd;
  const underWay = newest ? facts.calls.filter((call) => call.session === session) : [];
  const lastCall = underWay.at(-1) ?? causes.at(-1);
  // A command may have changed anything; and where no call is known, nobody can tell.
  if (!lastCall || lastCall.paths.length === 0) return all;
  const done = await store.diff(before.files.tree, last.files.tree);
  const seen = new Set(done.map(({ path }) => path));
  const isOpen = covering([...(last.cause?.paths ?? []), ...underWay.flatMap(({ paths }) => paths)]);
  const isNamed = covering(causes.flatMap(({ paths }) => paths));
  return [
    ...done.filter(({ path }) => !isOpen(path)),
    ...all.filter(({ path }) => isOpen(path) || (isNamed(path) && !seen.has(path))),
  ];
}

/** What one turn changed, undone on top of the files as they are; what was changed since by others is merged. */
export async function revertTurnChanges(
  store: SnapshotStore,
  turn: TurnTrees,
  facts: CaptureFacts,
  conflicts: PathReason[],
): Promise<FileChange[]> {
  const out: FileChange[] = [];
  for (const { path, before, after } of await changesOf(store, turn, facts)) {
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
    const mode = now.mode === after.mode ? before.mode : now.mode;
    const merged = await store.mergeFile(ours!, base!, theirs!);
    if (merged) out.push({ path, before: now, after: { mode, oid: await store.addContent(merged) } });
    else conflicts.push({ path, reason: 'changed at the same place since' });
  }
  return out;
}
