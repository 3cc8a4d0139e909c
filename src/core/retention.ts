import type { Checkpoint, CheckpointId, Trigger } from './model';
import { turnKey } from './turns';
import { timeOf } from './ulid';

export type Retained = Pick<
  Checkpoint,
  'id' | 'createdAt' | 'trigger' | 'name' | 'description' | 'pinned' | 'session' | 'turn' | 'origin'
>;

export interface RetentionPolicy {
  /** Automatic turns kept; a turn with its tool and idle points counts one. */
  maxCheckpoints: number;
  /** Of automatic ones, in milliseconds. */
  maxAge: number;
}

export type DropReason = 'one-per-turn' | 'one-per-session' | 'max-age' | 'max-checkpoints' | 'max-store-size';

export interface Drop {
  id: CheckpointId;
  why: DropReason;
}

const day = 24 * 60 * 60 * 1000;
const keptRestorePoints = 20;

/** Nobody asked for these one by one. Manual, agent and imported ones were asked for and are never thinned. */
const thinned: Record<Trigger, boolean> = {
  manual: false,
  agent: false,
  import: false,
  task: true,
  turn: true,
  tool: true,
  idle: true,
  compaction: true,
  interval: true,
  restore: true,
};

/**
 * Which checkpoints stay. Pinned, named and described ones and the newest 20 restore points always do, and so does what came from
 * elsewhere (it is not this workspace's to thin). Of the automatic ones: all of the last day, then one per turn for a week (the
 * point before the prompt), then one per session (that of its last turn), and within that `maxAge` and `maxCheckpoints`.
 * Thinning daily and thinning once after a month leave the same.
 */
export function thin(
  checkpoints: readonly Retained[],
  policy: RetentionPolicy,
  now: number,
): { keep: CheckpointId[]; drop: Drop[] } {
  const ordered = [...checkpoints].sort(oldestFirst);
  const stays = protectedIds(ordered);
  const groups = groupByTurn(ordered);
  const turnPoints = new Set(groups.map((group) => group.representative));
  const sessionPoints = new Set(lastOfEachSession(groups).map((group) => group.representative));

  const why = new Map<CheckpointId, DropReason>();
  for (const checkpoint of ordered) {
    if (stays.has(checkpoint.id)) continue;
    const age = now - madeAt(checkpoint);
    if (age > policy.maxAge) why.set(checkpoint.id, 'max-age');
    else if (age > 7 * day && !sessionPoints.has(checkpoint.id)) why.set(checkpoint.id, 'one-per-session');
    else if (age > day && !turnPoints.has(checkpoint.id)) why.set(checkpoint.id, 'one-per-turn');
  }

  const free = (id: CheckpointId) => !stays.has(id) && !why.has(id);
  const counted = groups.filter((group) => group.members.some(free));
  const surplus = Math.max(0, counted.length - Math.max(0, policy.maxCheckpoints));
  for (const group of counted.slice(0, surplus))
    for (const id of group.members.filter(free)) why.set(id, 'max-checkpoints');

  return {
    keep: ordered.filter(({ id }) => !why.has(id)).map(({ id }) => id),
    drop: ordered.flatMap(({ id }) => {
      const reason = why.get(id);
      return reason === undefined ? [] : [{ id, why: reason }];
    }),
  };
}

/**
 * What to delete next when the store takes `bytes` and may take `limit`: whole automatic turns, the oldest first. Nobody knows what a
 * deletion frees before it is done, so this gives about the share that is over, at least one turn; the caller prunes, measures and
 * asks again until the store fits or nothing is left to give. Never what retention protects, nor the newest turn: the agent
 * may be in the middle of it.
 */
export function overSize(checkpoints: readonly Retained[], bytes: number, limit: number): Drop[] {
  if (bytes <= limit) return [];
  const ordered = [...checkpoints].sort(oldestFirst);
  const stays = protectedIds(ordered);
  const groups = groupByTurn(ordered)
    .map((group) => group.members.filter((id) => !stays.has(id)))
    .filter((members) => members.length > 0);
  const candidates = groups.slice(0, -1);
  const share = Math.ceil((ordered.length * (bytes - Math.max(0, limit))) / bytes);
  const drop: Drop[] = [];
  for (const members of candidates) {
    if (drop.length >= share) break;
    drop.push(...members.map((id): Drop => ({ id, why: 'max-store-size' })));
  }
  return drop;
}

/** Whether thinning may ever touch it, apart from the newest restore points. */
function isAutomatic(checkpoint: Retained): boolean {
  return (
    thinned[checkpoint.trigger] &&
    !checkpoint.pinned &&
    checkpoint.name === null &&
    (checkpoint.description === null || checkpoint.description === '') &&
    checkpoint.origin === null
  );
}

function protectedIds(ordered: readonly Retained[]): Set<CheckpointId> {
  const restorePoints = ordered.filter((c) => c.trigger === 'restore' && c.origin === null).slice(-keptRestorePoints);
  return new Set([...restorePoints, ...ordered.filter((c) => !isAutomatic(c))].map((c) => c.id));
}

interface TurnGroup {
  session: string | null;
  members: CheckpointId[];
  representative: CheckpointId;
  newest: CheckpointId;
}

/**
 * The local checkpoints by turn, ordered by their newest member. A point without a turn belongs to the one its session is in. Without a session
 * there are no turns: a day stands in for one.
 */
function groupByTurn(ordered: readonly Retained[]): TurnGroup[] {
  const current = new Map<string, string>();
  const groups = new Map<string, TurnGroup & { from: Trigger }>();
  for (const checkpoint of ordered) {
    if (checkpoint.origin !== null || checkpoint.trigger === 'import') continue;
    const session = checkpoint.session?.id ?? null;
    const turn = turnOf(checkpoint, current);
    const key = JSON.stringify([session, turn]);
    const group = groups.get(key);
    if (!group) {
      const { id, trigger } = checkpoint;
      groups.set(key, { session, members: [id], representative: id, newest: id, from: trigger });
      continue;
    }
    group.members.push(checkpoint.id);
    group.newest = checkpoint.id;
    // The point before the prompt stands for its turn: it also gives the prompt back. A safety point is the last to stand for one.
    if (rank(checkpoint.trigger) > rank(group.from)) {
      group.representative = checkpoint.id;
      group.from = checkpoint.trigger;
    }
  }
  return [...groups.values()].sort((a, b) => (a.newest < b.newest ? -1 : 1));
}

function turnOf(checkpoint: Retained, current: Map<string, string>): string {
  const session = checkpoint.session?.id;
  if (session === undefined) return new Date(madeAt(checkpoint)).toISOString().slice(0, 10);
  const turn = turnKey(checkpoint);
  if (turn !== null) current.set(session, turn);
  return turn ?? current.get(session) ?? '';
}

function rank(trigger: Trigger): number {
  return trigger === 'turn' ? 2 : trigger === 'restore' ? 0 : 1;
}

function lastOfEachSession(groups: readonly TurnGroup[]): TurnGroup[] {
  return [...new Map(groups.map((group) => [group.session, group])).values()];
}

function madeAt(checkpoint: Retained): number {
  const time = Date.parse(checkpoint.createdAt);
  return Number.isNaN(time) ? timeOf(checkpoint.id) : time;
}

function oldestFirst(a: Retained, b: Retained): number {
  return a.id < b.id ? -1 : a.id > b.id ? 1 : 0;
}
