import { names } from './attribution';
import type { Checkpoint, CheckpointId } from './model';
import { turnKey } from './turns';

/** What lies between the two ends of a turn. */
export interface TurnEnd {
  /** Before the prompt: what the turn did is told against it. */
  first: Checkpoint;
  /** Changed in between, as far as the records name them. */
  paths: string[];
  /** How many, at least. */
  changed: number;
  /** All of it came with this one point: its own counts are those of the turn. */
  atOnce: boolean;
  /** Made in between, and maybe gone again by the end: records tell that something was made and something deleted, not what. */
  passing: string[];
  /** Changed in between by other sessions alone, which were at work at the same time. */
  others: string[];
}

/**
 * The points at which turns had ended, each with its turn. Such a point's record counts what came after the last call of a tool; whoever looks
 * at a turn's end looks for what the turn did.
 */
export function turnEnds(checkpoints: readonly Checkpoint[]): Map<CheckpointId, TurnEnd> {
  const ends = new Map<CheckpointId, TurnEnd>();
  const points = [...checkpoints].sort((a, b) => (a.id < b.id ? -1 : 1));
  const turns = new Map<string, { start: number; ended: boolean }>();
  points.forEach((point, at) => {
    const key = keyOf(point);
    if (key === null) return;
    const turn = turns.get(key);
    // Numbers come again after OpenCode's own undo.
    if (point.trigger === 'turn' && turn?.ended !== false) turns.set(key, { start: at, ended: false });
    const first = turn && point.trigger === 'idle' ? points[turn.start] : undefined;
    if (!turn || !first) return;
    turn.ended = true;
    ends.set(point.id, turnEnd(first, points.slice(turn.start + 1, at + 1)));
  });
  return ends;
}

/** The point before the turn that ended with this one; undefined for what ends no turn, or one whose beginning is gone. */
export function turnStart(end: Checkpoint, checkpoints: readonly Checkpoint[]): Checkpoint | undefined {
  return end.trigger === 'idle' ? turnEnds(checkpoints).get(end.id)?.first : undefined;
}

/**
 * Without what was made and removed again in between: nothing of it is to be seen when the turn is looked at. It stays in `passing`. `has`: whether a
 * checkpoint has a path.
 */
export async function withoutPassing(
  ends: ReadonlyMap<CheckpointId, TurnEnd>,
  has: (id: CheckpointId, path: string) => Promise<boolean>,
): Promise<Map<CheckpointId, TurnEnd>> {
  const known = async (id: CheckpointId, end: TurnEnd): Promise<TurnEnd> => {
    const there = await Promise.all(
      end.passing.map(async (path) => (await has(id, path)) || (await has(end.first.id, path))),
    );
    const passing = end.passing.filter((_, index) => there[index] === false);
    const gone = new Set(passing);
    return {
      ...end,
      passing,
      paths: end.paths.filter((path) => !gone.has(path)),
      changed: end.changed - gone.size,
    };
  };
  const all = [...ends].map(async ([id, end]) => [id, end.passing.length === 0 ? end : await known(id, end)] as const);
  return new Map(await Promise.all(all));
}

/** Fetched ones are a row of their own. */
function keyOf(point: Checkpoint): string | null {
  const turn = turnKey(point);
  return turn === null ? null : `${whose(point)}:${turn}`;
}

function whose({ origin }: Checkpoint): string {
  return origin === null ? '' : `${origin.user}@${origin.machine}`;
}

/**
 * Whether a path was changed by other sessions alone while a turn was under way: a call of theirs named it, and none of its own. Where one of its own may
 * have changed anything, and where none is known, that cannot be told, and all is taken for the turn's. `after`: all that came behind its first point.
 */
export function ofOthers({ session }: Checkpoint, after: readonly Checkpoint[]): (path: string) => boolean {
  const calls = after.flatMap((point) => [
    ...(point.cause === null || point.session === null ? [] : [{ ...point.cause, session: point.session.id }]),
    ...(point.files.calls ?? []),
  ]);
  const own = calls.filter((call) => call.session === session?.id);
  if (own.length === 0 || own.some(({ paths }) => paths.length === 0)) return () => false;
  const others = calls.filter((call) => call.session !== session?.id);
  return (path) => others.some((call) => names(call, path)) && !own.some((call) => names(call, path));
}

/** Also what a checkpoint by hand or of another session found in between: it is not counted again by the turn's own. */
function turnEnd(first: Checkpoint, after: readonly Checkpoint[]): TurnEnd {
  const here = after.filter((point) => whose(point) === whose(first));
  const found = here.filter((point) => sizeOf(point) > 0);
  const isOther = ofOthers(first, here);
  const all = [...new Set(found.flatMap(({ files }) => files.paths))];
  const others = all.filter(isOther);
  const paths = all.filter((path) => !isOther(path));
  // Rare, and not to be asked of every path of every turn.
  const canPass = found.some(({ files }) => files.added > 0) && found.some(({ files }) => files.deleted > 0);
  return {
    first,
    paths,
    // A record names the first paths only, and counts all.
    changed: Math.max(all.length, ...found.map(sizeOf)) - others.length,
    atOnce: found.every((point) => point === after.at(-1)),
    passing: canPass
      ? paths.filter((path) => maybePassing(found.filter(({ files }) => files.paths.includes(path))))
      : [],
    others,
  };
}

/** `named`: by these points, oldest first. */
function maybePassing(named: readonly Checkpoint[]): boolean {
  const [first, last] = [named[0], named.at(-1)];
  return first !== last && (first?.files.added ?? 0) > 0 && (last?.files.deleted ?? 0) > 0;
}

function sizeOf({ files }: Checkpoint): number {
  // What was imported holds single files, and tells nothing of a change.
  return files.only === undefined ? files.added + files.modified + files.deleted : 0;
}
