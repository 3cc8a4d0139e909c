import type { Checkpoint } from '../core/model';
import { toSessions, type KnownSession } from '../protocol/rows';

/** Sessions, their turns and points as the tree shows them: plain data, newest first everywhere. */
export interface TurnGroup {
  kind: 'turn';
  key: string;
  number: number;
  prompt: string;
  /** When the turn began. */
  startedAt: string;
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

const turnGroup = (session: string, number: number, points: Checkpoint[]): TurnGroup => {
  const oldest = points[points.length - 1];
  // The point that opens a turn holds what changed before it.
  const changes = points.filter((point) => point.trigger !== 'turn').map((point) => point.files);
  const paths = [...new Set(changes.flatMap((files) => files.paths))];
  return {
    kind: 'turn',
    key: `${session}/${number}`,
    number,
    prompt: oldest?.turn?.prompt ?? '',
    startedAt: oldest?.createdAt ?? '',
    points,
    paths,
    // A record names the first paths only, and counts all.
    changed: Math.max(paths.length, ...changes.map(({ added, modified, deleted }) => added + modified + deleted)),
  };
};

const sessionItems = (session: string, points: Checkpoint[]): SessionGroup['items'] => {
  const turns = new Map<number, Checkpoint[]>();
  const order: Array<number | Checkpoint> = [];
  for (const point of points) {
    const number = point.turn?.number;
    if (number === undefined) order.push(point);
    else if (turns.has(number)) turns.get(number)?.push(point);
    else {
      turns.set(number, [point]);
      order.push(number);
    }
  }
  return order.map((item) => {
    if (typeof item !== 'number') return item;
    const inTurn = turns.get(item) ?? [];
    const [only] = inTurn;
    // A level with one thing in it is a click for nothing.
    return inTurn.length === 1 && only !== undefined ? only : turnGroup(session, item, inTurn);
  });
};

/** `checkpoints`: newest first. `known`: what a running OpenCode says of their sessions. */
export const groupBySession = (
  checkpoints: readonly Checkpoint[],
  known: readonly KnownSession[] = [],
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
    groups.set(id, {
      kind: 'session',
      key: id ?? '-',
      id,
      title: session?.title ?? null,
      latest: points[0]?.createdAt ?? new Date(session?.begun ?? 0).toISOString(),
      count: points.length,
      kept: points.filter(isKept),
      items: sessionItems(
        id ?? '-',
        points.filter((point) => !isKept(point)),
      ),
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
  for (const { forks } of groups.values()) forks.sort((a, b) => (a.latest < b.latest ? 1 : -1));
  return top;
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
