import type { Checkpoint, CheckpointId } from '../core/model';
import type { TurnEnd } from '../core/turn-ends';
import { turnKey } from '../core/turns';
import { toSessions, type KnownSession } from '../protocol/rows';

/** Sessions, their turns and points as the tree shows them: plain data, newest first everywhere. */
export interface TurnGroup {
  kind: 'turn';
  key: string;
  number: number;
  prompt: string;
  /** When the turn began. */
  startedAt: string;
  /** The point before it, also where that one is pinned or named and shown on top. */
  first: Checkpoint;
  points: Checkpoint[];
  /** Paths that the agent changed in it, as far as its points know. */
  paths: string[];
  /** How many, at least. */
  changed: number;
}

export interface SessionGroup {
  kind: 'session';
  key: string;
  /** null: checkpoints that belong to no session. */
  id: string | null;
  title: string | null;
  latest: string;
  /** When its newest turn began. */
  prompted: string;
  count: number;
  /** Pinned and named ones. */
  kept: Checkpoint[];
  items: Array<TurnGroup | Checkpoint>;
  /** Also those that have no checkpoint of their own yet. */
  forks: SessionGroup[];
  /** What a running OpenCode says of it. */
  state: KnownSession['state'];
}

export const isGroup = (item: TurnGroup | Checkpoint): item is TurnGroup => 'kind' in item;

const isKept = (checkpoint: Checkpoint): boolean => checkpoint.pinned || checkpoint.name !== null;

type Ends = ReadonlyMap<CheckpointId, TurnEnd>;

/** While nothing tells that a turn has ended: what its own points found, without the one that opens it, which holds what changed before. */
const soFar = (all: readonly Checkpoint[]): Pick<TurnGroup, 'paths' | 'changed'> => {
  const changes = all.filter((point) => point.trigger !== 'turn').map((point) => point.files);
  const paths = [...new Set(changes.flatMap((files) => files.paths))];
  // A record names the first paths only, and counts all.
  const counted = changes.map(({ added, modified, deleted }) => added + modified + deleted);
  return { paths, changed: Math.max(paths.length, ...counted) };
};

/** `all`: with the pinned and named ones, which are shown elsewhere. */
const turnGroup = (
  key: string,
  points: Checkpoint[],
  first: Checkpoint,
  all: readonly Checkpoint[],
  ends: Ends,
): TurnGroup => {
  // Where other sessions were at work, too, their points found some of what the turn changed: its end knows all of it.
  const end = all.map(({ id }) => ends.get(id)).find((one) => one !== undefined);
  const { paths, changed } = end ?? soFar(all);
  return {
    kind: 'turn',
    key,
    number: first.turn?.number ?? 0,
    prompt: first.turn?.prompt ?? '',
    startedAt: first.createdAt,
    first,
    points,
    paths,
    changed,
  };
};

/** What a prompt's point counts came before the prompt: beside the prompt it would be read as what the agent did. */
const opensOnChanges = ({ trigger, files }: Checkpoint): boolean =>
  trigger === 'turn' && files.added + files.modified + files.deleted > 0;

/** A level with one thing in it is a click for nothing: a turn of one point is that point, unless its row would say something else. */
const sessionItems = (points: readonly Checkpoint[], ends: Ends): SessionGroup['items'] => {
  const turns = new Map<string, Checkpoint[]>();
  const order = new Set<string | Checkpoint>();
  for (const point of points) {
    const turn = turnKey(point);
    const inTurn = turn === null ? undefined : turns.get(turn);
    if (inTurn !== undefined) inTurn.push(point);
    else if (turn !== null) turns.set(turn, [point]);
    if (!isKept(point)) order.add(turn ?? point);
  }
  return [...order].flatMap((item): SessionGroup['items'] => {
    if (typeof item !== 'string') return [item];
    const all = turns.get(item) ?? [];
    const shown = all.filter((point) => !isKept(point));
    const first = all.findLast(({ trigger }) => trigger === 'turn') ?? all.at(-1);
    const isBare = all.length === 1 && !all.some(opensOnChanges);
    return isBare || first === undefined ? shown : [turnGroup(item, shown, first, all, ends)];
  });
};

/** `checkpoints`: newest first. `known`: what a running OpenCode says of their sessions. `ends`: where their turns end. */
export const groupBySession = (
  checkpoints: readonly Checkpoint[],
  known: readonly KnownSession[] = [],
  ends: Ends = new Map(),
): SessionGroup[] => {
  const bySession = new Map<string | null, Checkpoint[]>();
  for (const checkpoint of checkpoints) {
    const id = checkpoint.session?.id ?? null;
    const known = bySession.get(id);
    if (known === undefined) bySession.set(id, [checkpoint]);
    else known.push(checkpoint);
  }
  const groups = new Map<string | null, SessionGroup>();
  const parents = new Map<string, string>();
  const sessions = new Map(toSessions(checkpoints, known).map((session) => [session.id, session]));
  const sessionAt = new Map(checkpoints.map((checkpoint) => [checkpoint.id, checkpoint.session?.id]));
  for (const { id } of sessions.values()) if (!bySession.has(id)) bySession.set(id, []);
  for (const [id, points] of bySession) {
    const session = id === null ? undefined : sessions.get(id);
    // OpenCode 1 does not say what a fork was forked from; the restore that made it does.
    const parent = session?.parent ?? (session?.forkedFrom ? sessionAt.get(session.forkedFrom) : undefined);
    if (id !== null && typeof parent === 'string' && parent !== id) parents.set(id, parent);
    const latest = points[0]?.createdAt ?? new Date(session?.begun ?? 0).toISOString();
    groups.set(id, {
      kind: 'session',
      key: id ?? '-',
      id,
      title: session?.title ?? null,
      latest,
      prompted: points.find(({ trigger }) => trigger === 'turn')?.createdAt ?? points.at(-1)?.createdAt ?? latest,
      count: points.length,
      kept: points.filter(isKept),
      items: sessionItems(points, ends),
      forks: [],
      state: session?.state,
    });
  }
  return nestForks(groups, parents);
};

const nestForks = (groups: Map<string | null, SessionGroup>, parents: Map<string, string>): SessionGroup[] => {
  const top: SessionGroup[] = [];
  for (const [id, group] of groups) {
    const parent = id === null ? undefined : groups.get(parents.get(id) ?? null);
    if (id !== null && parents.has(id) && parent !== undefined && !isAncestor(parents, id, parent.id))
      parent.forks.push(group);
    else top.push(group);
  }
  for (const { forks } of groups.values()) forks.sort((a, b) => (a.latest < b.latest ? 1 : -1)).sort(atWorkFirst);
  return top.sort(atWorkFirst);
};

/**
 * Agents that work side by side make points in turns: by their newest, their rows would change places under the mouse all the time. What they were
 * asked last stays where it is.
 */
const atWorkFirst = (a: SessionGroup, b: SessionGroup): number => {
  if (a.state !== 'busy' || b.state !== 'busy') return Number(b.state === 'busy') - Number(a.state === 'busy');
  return a.prompted === b.prompted ? 0 : a.prompted < b.prompted ? 1 : -1;
};

/** Records are data from disk: two sessions that name each other as parent must not make both vanish. */
const isAncestor = (parents: Map<string, string>, ancestor: string, of: string | null): boolean => {
  const seen = new Set<string>();
  for (let id = of ?? undefined; id !== undefined && !seen.has(id); id = parents.get(id)) {
    if (id === ancestor) return true;
    seen.add(id);
  }
  return false;
};
