import { endOfTurn } from './attribution';
import { CheckpointsError } from './errors';
import type { Cause, Checkpoint, PathReason } from './model';
import { covering } from './plan';
import type { CaptureFacts, FileChange, FileVersion, SnapshotStore } from './ports';
import { sharedSpans, type Span } from './turn-shares';
import { turnKey } from './turns';

const folderMode = 0o40000;

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
    throw new CheckpointsError(
      'invalid-argument',
      `The checkpoint "${target.title}" belongs to no turn: only what an agent did for a prompt can be reverted.`,
      { details: { noTurn: true } },
    );
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

/** What changed while the turn was under way. `until` is the checkpoint by which it had; null: now. */
interface Changed extends FileChange {
  until: Checkpoint | null;
}

async function changesOf(store: SnapshotStore, turn: TurnTrees, facts: CaptureFacts): Promise<Changed[]> {
  const { before, after, openEnd } = turn;
  const by = (until: Checkpoint | null, changes: FileChange[]): Changed[] =>
    changes.map((change) => ({ ...change, until }));
  const all = by(after, await store.diff(before.files.tree, after?.files.tree ?? facts.tree));
  if (!openEnd) return all;
  const { last, session, causes, newest } = openEnd;
  const underWay = newest ? facts.calls.filter((call) => call.session === session) : [];
  const lastCall = underWay.at(-1) ?? causes.at(-1);
  // A command may have changed anything; and where no call is known, nobody can tell.
  if (!lastCall || lastCall.paths.length === 0) return all;
  const done = by(last, await store.diff(before.files.tree, last.files.tree));
  const seen = new Set(done.map(({ path }) => path));
  const isOpen = covering([...(last.cause?.paths ?? []), ...underWay.flatMap(({ paths }) => paths)]);
  const isNamed = covering(causes.flatMap(({ paths }) => paths));
  return [
    ...done.filter(({ path }) => !isOpen(path)),
    ...all.filter(({ path }) => isOpen(path) || (isNamed(path) && !seen.has(path))),
  ];
}

/** A path and the turn's own steps with it, in their order; null: it cannot be told whether they are its own. */
interface Share {
  change: Changed;
  steps: FileChange[] | null;
}

/** A turn among all checkpoints there are, oldest first. */
export interface TurnInTime extends TurnTrees {
  checkpoints: readonly Checkpoint[];
}

/** What of it the turn changed itself, and not another session that was at work at the same time. */
async function sharesOf(store: SnapshotStore, turn: TurnInTime, facts: CaptureFacts): Promise<Share[]> {
  const changes = await changesOf(store, turn, facts);
  const { checkpoints, before, after } = turn;
  const ends = { from: before.id, until: after?.id ?? null };
  const spans = sharedSpans(checkpoints, before.session?.id ?? '', ends, facts);
  if (spans === null) return changes.map((change) => ({ change, steps: [change] }));
  const shares = new Map(changes.map((change): [string, Share] => [change.path, { change, steps: [] }]));
  for (const span of spans) await addSpan(store, span, shares);
  return [...shares.values()];
}

async function addSpan(store: SnapshotStore, span: Span, shares: ReadonlyMap<string, Share>): Promise<void> {
  if (span.from === span.to) return;
  for (const step of await store.diff(span.from, span.to)) {
    const share = shares.get(step.path);
    const until = share?.change.until ?? null;
    if (!share?.steps || (until !== null && span.start >= until.id)) continue;
    const whose = span.whose(step.path);
    const last = share.steps.at(-1);
    if (whose === 'unsure') share.steps = null;
    else if (whose === 'own' && last && same(last.after, step.before))
      share.steps = [...share.steps.slice(0, -1), { ...last, after: step.after }];
    else if (whose === 'own') share.steps.push(step);
  }
}

/** What one turn changed, undone on top of the files as they are; what was changed since by others is merged. */
export async function revertTurnChanges(
  store: SnapshotStore,
  turn: TurnInTime,
  facts: CaptureFacts,
  conflicts: PathReason[],
): Promise<FileChange[]> {
  const out: FileChange[] = [];
  for (const { change, steps } of await sharesOf(store, turn, facts)) {
    const { path } = change;
    const found = await store.lookup(facts.tree, path);
    // A folder in its place has changes of its own.
    const now = found?.mode === folderMode ? null : found;
    if (same(now, change.before)) continue;
    const undone =
      steps === null
        ? { conflict: 'a command of another session may have changed it' }
        : await withoutSteps(store, now, steps);
    if ('conflict' in undone) conflicts.push({ path, reason: undone.conflict });
    else if (!same(now, undone.version)) out.push({ path, before: now, after: undone.version });
  }
  return out;
}

type Undone = { version: FileVersion | null } | { conflict: string };

/** The last step is undone first. */
async function withoutSteps(
  store: SnapshotStore,
  now: FileVersion | null,
  steps: readonly FileChange[],
): Promise<Undone> {
  let at = now;
  for (const { before, after } of steps.toReversed()) {
    if (same(at, before)) continue;
    if (same(at, after)) {
      at = before;
      continue;
    }
    if (!isFile(at) || !isFile(before) || !isFile(after))
      return { conflict: at ? 'created or replaced since' : 'deleted since' };
    const [ours, base, theirs] = await Promise.all([at, after, before].map((version) => store.content(version)));
    const merged = await store.mergeFile(ours!, base!, theirs!);
    if (!merged) return { conflict: 'changed at the same place since' };
    at = { mode: at.mode === after.mode ? before.mode : at.mode, oid: await store.addContent(merged) };
  }
  return { version: at };
}
