import { endOfTurn, names } from './attribution';
import type { Call, Checkpoint, CheckpointId } from './model';
import type { CaptureFacts } from './ports';
import { turnKey } from './turns';

/** Whose the changes are that were made while a turn was under way: other sessions may have been at work at the same time. */
export type Whose = 'own' | 'other' | 'unsure';

/** The time between two checkpoints, or between the newest one and now. */
export interface Span {
  start: CheckpointId;
  /** The trees at both ends. */
  from: string;
  to: string;
  whose(path: string): Whose;
}

/** A turn as its checkpoints tell it. */
interface Work {
  session: string;
  start: CheckpointId;
  /** The checkpoint at which it was over; null: nothing says so, and it is known to have been at work only until its last point. */
  end: CheckpointId | null;
  last: CheckpointId;
  /** Before what it called, in order. */
  calls: Array<Call & { at: CheckpointId }>;
}

/** What was there at the end of a span, and which calls were known then. */
interface End {
  tree: string;
  calls: readonly Call[];
}

/**
 * The spans of a turn's time. `points` is oldest first; the turn's own first point is `from`; the last span ends at `until`, or now. Null: no other
 * session was at work meanwhile, so that there is nothing to tell apart.
 */
export function sharedSpans(
  points: readonly Checkpoint[],
  session: string,
  { from, until }: { from: CheckpointId; until: CheckpointId | null },
  now: Pick<CaptureFacts, 'tree' | 'calls'>,
): Span[] | null {
  const works = worksOf(points);
  const within = points.filter(({ id }) => id >= from && (until === null || id <= until));
  let isShared = false;
  const spans = within.flatMap((point, i): Span[] => {
    const next = within[i + 1];
    if (next === undefined && until !== null) return [];
    const end: End = next ? { tree: next.files.tree, calls: next.files.calls ?? [] } : now;
    const atWork = works.filter((work) => isUnderWay(work, point.id));
    isShared ||= [...atWork, ...end.calls].some((one) => one.session !== session);
    // A command of a turn that died ended with it, whatever is still remembered of it.
    const alive = new Set([session, ...atWork.map((work) => work.session)]);
    const recent = end.calls.filter((call) => call.paths.length > 0 || alive.has(call.session));
    const known = [...callsUntil(atWork, point.id), ...recent];
    return [{ start: point.id, from: point.files.tree, to: end.tree, whose: (path) => whose(path, known, session) }];
  });
  return isShared ? spans : null;
}

/** The last that named the path changed it: of two that name the same file, the second one waits for the first. */
function whose(path: string, known: readonly Call[], session: string): Whose {
  const named = known.findLast((call) => names(call, path));
  if (named) return named.session === session ? 'own' : 'other';
  const commands = known.filter(({ paths }) => paths.length === 0);
  if (commands.every((call) => call.session === session)) return 'own';
  return commands.some((call) => call.session === session) ? 'unsure' : 'other';
}

function callsUntil(works: readonly Work[], id: CheckpointId): Call[] {
  const calls = works.flatMap((work) => work.calls).filter(({ at }) => at <= id);
  return calls.sort((a, b) => (a.at < b.at ? -1 : 1));
}

function isUnderWay({ start, end, last }: Work, id: CheckpointId): boolean {
  return start <= id && (end === null ? id <= last : id < end);
}

function worksOf(points: readonly Checkpoint[]): Work[] {
  const works = new Map<string, Work>();
  for (const point of points) {
    const key = turnKey(point);
    if (!point.session || key === null || point.trigger === 'restore') continue;
    const { id: session } = point.session;
    const work = works.get(key) ?? { session, start: point.id, end: null, last: point.id, calls: [] };
    works.set(key, work);
    work.last = point.id;
    work.end ??= point.trigger === 'idle' ? point.id : endOfTurn(point);
    if (point.trigger === 'tool' && point.cause) work.calls.push({ ...point.cause, session, at: point.id });
  }
  return [...works.values()];
}
