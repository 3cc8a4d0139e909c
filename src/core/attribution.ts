import type { Call, Checkpoint, CheckpointId } from './model';
import { turnKey } from './turns';

/** Who changed a path last, as far as the checkpoints can tell. */
export interface Attribution {
  by: 'agent' | 'user' | 'restore' | 'unknown';
  /** Of an agent; null when several were at work and none of them named the path. */
  session: string | null;
  turn: number | null;
  /** The call the change followed, if that call named the path or could change any. */
  callId: string | null;
  tool: string | null;
  /** An agent was at work, but nothing that it is known to have done touches this path: it may as well have been the user. */
  unsure?: true;
}

export type Attributable = Pick<
  Checkpoint,
  'id' | 'trigger' | 'session' | 'turn' | 'cause' | 'restore' | 'origin' | 'files' | 'metadata'
>;

/** On a compaction's point: the turn it belongs to was under way. */
export const midTurn = { midTurn: true } as const;

/**
 * On the last point of a turn that ended without a point of its own: nothing had changed then since the checkpoint of this id, be
 * it the same or a later one of somebody else.
 */
export const turnEnd = (newest: CheckpointId): Record<string, unknown> => ({ turnEnd: newest });

/** The checkpoint that holds the files as the turn left them, if this point of it says so. */
export function endOfTurn(point: Pick<Attributable, 'metadata' | 'id'>): CheckpointId | null {
  const end = point.metadata['turnEnd'];
  return typeof end === 'string' && end >= point.id ? end : null;
}

export interface AttributionOptions {
  /** All paths a checkpoint changed, where its record could not hold them (see `hasAllPaths`); null: not known. */
  changesOf?: (checkpoint: Attributable) => Iterable<string> | null;
  /**
   * Sessions that are at work now. Without it a turn counts as running until a later point of its session says otherwise, and
   * a turn that changed nothing leaves no such point: then the user's next edits look like the agent's. Whoever knows should say.
   */
  running?: ReadonlySet<string>;
  /** Paths that differ between `refs/base` and the disk: what changed after the last restore was finished, so not by it. */
  sinceBase?: ReadonlySet<string>;
  /** The calls of the turns under way, also those that left no point of their own. */
  calls?: readonly Call[];
}

/**
 * The paths among `paths` that the user's own hand changed last, and those where that may be, since an agent was at work on
 * others. `checkpoints` is oldest first; `nowChanged` are the paths that differ between the newest one and the disk.
 */
export function usersChanges(
  checkpoints: readonly Attributable[],
  nowChanged: ReadonlySet<string>,
  paths: Iterable<string>,
  options: AttributionOptions = {},
): { yours: Set<string>; unsure: Set<string> } {
  const yours = new Set<string>();
  const unsure = new Set<string>();
  for (const [path, found] of attribute(checkpoints, nowChanged, paths, options)) {
    if (found.by === 'user') yours.add(path);
    if (found.unsure) unsure.add(path);
  }
  return { yours, unsure };
}

/** For each path who made its last change; `unknown` for one that did not change since the oldest checkpoint. */
export function attribute(
  checkpoints: readonly Attributable[],
  nowChanged: ReadonlySet<string>,
  paths: Iterable<string>,
  options: AttributionOptions = {},
): Map<string, Attribution> {
  const local = checkpoints.filter((checkpoint) => checkpoint.origin === null);
  const intervals = intervalsOf(local, options);
  const open = new Set(paths);
  const result = new Map<string, Attribution>();

  // Newest first: the first interval that has the path is that of its last change.
  for (let i = intervals.length - 1; i >= 0 && open.size > 0; i--) {
    const interval = intervals[i];
    if (!interval) continue;
    const changed = interval.end === null ? nowChanged : changesIn(interval.end, options);
    for (const path of changed) {
      if (!open.delete(path)) continue;
      const late = interval.end === null && options.sinceBase?.has(path) === true;
      result.set(path, owner(interval, path, late));
    }
  }
  for (const path of open) result.set(path, { ...nobody, by: 'unknown' });
  return result;
}

/** False when more paths changed than the record holds. */
export function hasAllPaths(checkpoint: Pick<Checkpoint, 'files'>): boolean {
  const { added, modified, deleted, paths } = checkpoint.files;
  return added + modified + deleted <= paths.length;
}

function changesIn(checkpoint: Attributable, options: AttributionOptions): Iterable<string> {
  if (hasAllPaths(checkpoint)) return checkpoint.files.paths;
  return options.changesOf?.(checkpoint) ?? checkpoint.files.paths;
}

/** A turn under way, and the last call it made. */
interface Running {
  session: string;
  turn: number | null;
  cause: Attributable['cause'];
  /** The checkpoint at which it was over, where that is known. */
  end: CheckpointId | null;
}

/** The time between two checkpoints, or between the newest one and now (`end` null). */
interface Interval {
  end: Attributable | null;
  running: Running[];
  restored: Attributable['restore'];
  /** What that restore wrote or deleted; null: too many to be kept. */
  touched: ReadonlySet<string> | null;
  calls: readonly Call[];
}

/** The first checkpoint has no interval before it: what it found was there before anybody watched. */
function intervalsOf(local: readonly Attributable[], options: AttributionOptions): Interval[] {
  const running = new Map<string, Running>();
  const following = followingPoints(local);
  return local.map((point, i) => {
    const session = point.session?.id;
    if (session !== undefined && marksTurn(point)) {
      if (goesOn(point, following.get(point) ?? null, options)) {
        const turn = point.turn?.number ?? running.get(session)?.turn ?? null;
        const cause = point.trigger === 'tool' ? point.cause : null;
        running.set(session, { session, turn, cause, end: endOfTurn(point) });
      } else running.delete(session);
    }
    for (const one of running.values()) if (one.end !== null && one.end <= point.id) running.delete(one.session);
    const restored = point.trigger === 'restore' ? point.restore : null;
    const touched = restored?.touched ? new Set(restored.touched) : null;
    const end = local[i + 1] ?? null;
    const calls = end === null ? (options.calls ?? []) : [];
    return { end, running: [...running.values()], restored, touched, calls };
  });
}

/**
 * Whether the turn goes on changing files after this point of it. The end of a turn that changed something since the last checkpoint leaves an idle
 * point. Where the next prompt follows without one, or nothing follows and the session is known to be at rest, the turn changed
 * nothing more, or died: then its very last change may pass for the user's, which is the harmless mistake (flagged, not overwritten).
 */
function goesOn(point: Attributable, next: Attributable | null, options: AttributionOptions): boolean {
  if (point.trigger === 'idle') return false;
  const end = endOfTurn(point);
  if (end !== null) return end > point.id;
  if (next !== null) return next.trigger !== 'turn' && (isEdge(next) || sameTurn(point, next));
  return options.running === undefined || options.running.has(point.session?.id ?? '');
}

/** For each point of a turn the one of the same session that follows it. */
function followingPoints(local: readonly Attributable[]): Map<Attributable, Attributable> {
  const following = new Map<Attributable, Attributable>();
  const last = new Map<string, Attributable>();
  for (const point of local) {
    if (!point.session || !marksTurn(point)) continue;
    const before = last.get(point.session.id);
    if (before) following.set(before, point);
    last.set(point.session.id, point);
  }
  return following;
}

/** Made by the agent's turn as it goes; what else there is may be made at any time. */
function marksTurn(point: Attributable): boolean {
  if (isEdge(point)) return true;
  if (point.turn === null) return false;
  if (point.trigger === 'compaction') return point.metadata['midTurn'] === true;
  return point.trigger === 'agent' || point.trigger === 'task' || point.trigger === 'interval';
}

function isEdge({ trigger }: Attributable): boolean {
  return trigger === 'turn' || trigger === 'tool' || trigger === 'idle';
}

function sameTurn(one: Attributable, other: Attributable): boolean {
  return one.turn !== null && turnKey(one) === turnKey(other);
}

const nobody = { session: null, turn: null, callId: null, tool: null };

function owner(interval: Interval, path: string, late: boolean): Attribution {
  const { restored, touched, running } = interval;
  if (restored !== null && !late && (touched === null || touched.has(path)))
    return { ...nobody, by: 'restore', session: restored.session };
  const naming = (one: Running): Attributable['cause'] =>
    causesOf(interval, one).find((cause) => names(cause, path)) ?? null;
  const by = running.find((one) => naming(one) !== null) ?? running[0];
  if (by === undefined) return { ...nobody, by: 'user' };
  const named = naming(by);
  // Two agents at once, and the path was named by neither: it was one of them.
  const unsure = named === null && isUnsure(interval, path) ? { unsure: true as const } : {};
  if (running.length > 1 && named === null) return { ...nobody, by: 'agent', ...unsure };
  // A call that names its paths changes those; one that names none (a shell command) may change any.
  const last = causesOf(interval, by).at(-1);
  const call = named ?? (last?.paths.length === 0 ? last : null);
  return {
    by: 'agent',
    session: by.session,
    turn: by.turn,
    callId: call?.callId ?? null,
    tool: call?.tool ?? null,
    ...unsure,
  };
}

/** What a turn is known to have called, the last one last. */
function causesOf({ calls }: Interval, { session, cause }: Running): Array<NonNullable<Attributable['cause']>> {
  const own = calls.filter((call) => call.session === session);
  return cause === null || own.some(({ callId }) => callId === cause.callId) ? own : [cause, ...own];
}

/**
 * Nothing that is known to have been called touches the path. Within a turn that says little: points that equal the one before are
 * not made, and with them goes what calls of one step named; unless the point itself says that nobody had named what it found. Where
 * two work at once, or the turn still runs, it is worth a word.
 */
function isUnsure(interval: Interval, path: string): boolean {
  const { running, end } = interval;
  const last = running.map((one) => causesOf(interval, one).at(-1));
  const runsCommand = last.some((cause) => cause?.paths.length === 0);
  if (end?.files.lane !== 'paths' && end?.files.uncertain?.includes(path)) return !runsCommand;
  const mayChangeAny = runsCommand || last.includes(undefined);
  return (running.length > 1 || end === null) && !mayChangeAny;
}

/** A folder that is named covers what is in it. */
export function names({ paths }: { paths: readonly string[] }, path: string): boolean {
  return paths.some((named) => covers(named, path));
}

function covers(named: string, path: string): boolean {
  return path === named || path.startsWith(named.endsWith('/') ? named : `${named}/`);
}
