import type { Checkpoint, CheckpointId } from '../core/model';
import type { TurnEnd } from '../core/turn-ends';
import { facetLetters, type SessionState, type TimelineRow, type TimelineSession } from './timeline';

export const titleLimit = 160;

/** Of the points with which turns ended. */
export type TurnEnds = ReadonlyMap<CheckpointId, TurnEnd>;

/** Newest first. */
export function toRows(checkpoints: readonly Checkpoint[], ends: TurnEnds = new Map()): TimelineRow[] {
  return newestFirst(checkpoints).map((checkpoint) => {
    const row = toRow(checkpoint);
    const end = ends.get(checkpoint.id);
    return end === undefined || end.atOnce ? row : { ...row, turnFiles: end.changed };
  });
}

export function toRow(checkpoint: Checkpoint): TimelineRow {
  const { id, title, trigger, session, turn, files, task, git, origin } = checkpoint;
  const row: TimelineRow = {
    id,
    v: files.commit.slice(0, 8),
    t: Date.parse(checkpoint.createdAt),
    trigger,
    title: cut(title, titleLimit),
    facets: [
      files.only?.length === 0 ? '' : facetLetters.files,
      session ? facetLetters.conversation : '',
      task ? facetLetters.task : '',
      git ? facetLetters.git : '',
    ].join(''),
  };
  if (checkpoint.name !== null) row.named = true;
  if (checkpoint.pinned) row.pinned = true;
  if (session) row.session = session.id;
  if (turn) row.turn = turn.number;
  if (files.added + files.modified + files.deleted > 0) row.changes = [files.added, files.modified, files.deleted];
  if (task?.status) row.status = task.status;
  if (origin) row.origin = `${origin.user}@${origin.machine}`;
  if (files.partial.length > 0) row.partial = true;
  if (typeof checkpoint.metadata['subagent'] === 'string') row.subagent = true;
  return row;
}

/** What a server knows of a session beyond what the records say. */
export interface KnownSession {
  id: string;
  title?: string | null;
  parent?: string | null;
  /** The checkpoint it was forked at. */
  forkedFrom?: CheckpointId | null;
  /** How many messages it took over from its parent. */
  shared?: number | null;
  /** In milliseconds. */
  createdAt?: number;
  state?: SessionState;
}

/**
 * The sessions of these checkpoints, and their forks that have none of their own yet. The newest record knows the title best;
 * a safety checkpoint that tells which session a restore made also tells at which checkpoint that session was forked.
 */
export function toSessions(checkpoints: readonly Checkpoint[], known: readonly KnownSession[] = []): TimelineSession[] {
  const sessions = new Map<string, TimelineSession>();
  const forks = new Map<string, CheckpointId>();
  const begun = new Map<string, number>();
  for (const { session, restore, origin, createdAt } of newestFirst(checkpoints)) {
    if (restore?.session && restore.target) {
      forks.set(restore.session, restore.target);
      if (origin === null) begun.set(restore.session, Date.parse(createdAt));
    }
    if (!session) continue;
    const seen = sessions.get(session.id);
    if (!seen) {
      const { id, title, parent } = session;
      sessions.set(id, { id, title, parent, forkedFrom: null });
    } else {
      seen.title ??= session.title;
      seen.parent ??= session.parent;
    }
  }
  const byId = new Map(checkpoints.map((checkpoint) => [checkpoint.id, checkpoint]));
  for (const [id, at] of begun)
    if (!sessions.has(id)) {
      const target = byId.get(forks.get(id) ?? '');
      if (target?.session)
        sessions.set(id, { id, title: forkTitle(target), parent: target.session.id, forkedFrom: null, begun: at });
    }
  for (const { id, title, parent, forkedFrom, shared, createdAt, state } of known) {
    if (forkedFrom && !forks.has(id)) forks.set(id, forkedFrom);
    if (!sessions.has(id) && createdAt !== undefined && (parent || forks.has(id)))
      sessions.set(id, { id, title: null, parent: null, forkedFrom: null, begun: createdAt });
    const session = sessions.get(id);
    if (!session) continue;
    // Gone before anything was done in it: there is nothing to show.
    if (session.begun !== undefined && state === 'deleted') {
      sessions.delete(id);
      continue;
    }
    if (!forks.has(id) && parent && createdAt !== undefined) {
      const at = forkedAt(checkpoints, parent, shared ?? Infinity, createdAt);
      if (at) forks.set(id, at);
    }
    session.title = title ?? session.title;
    session.parent = parent ?? session.parent;
    if (state) session.state = state;
  }
  for (const session of sessions.values()) session.forkedFrom = forks.get(session.id) ?? null;
  return [...sessions.values()];
}

/** Where a fork that somebody else made branched off: the last checkpoint of which it has all the messages. */
function forkedAt(
  checkpoints: readonly Checkpoint[],
  parent: string,
  shared: number,
  createdAt: number,
): CheckpointId | undefined {
  return newestFirst(checkpoints).find(
    ({ session, origin, createdAt: made }) =>
      session?.id === parent && origin === null && session.messageCount <= shared && Date.parse(made) <= createdAt,
  )?.id;
}

function newestFirst<T extends { id: string; createdAt: string }>(records: readonly T[]): T[] {
  return [...records].sort((a, b) => compare(b.createdAt, a.createdAt) || compare(b.id, a.id));
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** Never in the middle of a surrogate pair: half an emoji is no JSON for some. */
function cut(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const end = /[\uD800-\uDBFF]$/.test(text.slice(0, limit - 1)) ? limit - 2 : limit - 1;
  return `${text.slice(0, end)}…`;
}

/** As the restore names it in OpenCode, while nobody can be asked. */
const forkTitle = ({ title, trigger }: Pick<Checkpoint, 'title' | 'trigger'>): string =>
  trigger === 'turn' ? `Before “${title}”` : title;
