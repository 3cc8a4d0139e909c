import type { Checkpoint, CheckpointId } from '../core/model';
import { facetLetters, type SessionState, type TimelineRow, type TimelineSession } from './timeline';

export const titleLimit = 160;

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
  state?: SessionState;
}

/**
 * The sessions of these checkpoints. The newest record knows the title best; a safety checkpoint that tells which
 * session a restore made also tells at which checkpoint that session was forked.
 */
export function toSessions(checkpoints: readonly Checkpoint[], known: readonly KnownSession[] = []): TimelineSession[] {
  const sessions = new Map<string, TimelineSession>();
  const forks = new Map<string, CheckpointId>();
  for (const { session, restore } of newestFirst(checkpoints)) {
    if (restore?.session && restore.target) forks.set(restore.session, restore.target);
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
  for (const { id, title, parent, forkedFrom, state } of known) {
    const session = sessions.get(id);
    if (!session) continue;
    if (forkedFrom && !forks.has(id)) forks.set(id, forkedFrom);
    session.title = title ?? session.title;
    session.parent = parent ?? session.parent;
    if (state) session.state = state;
  }
  for (const session of sessions.values()) session.forkedFrom = forks.get(session.id) ?? null;
  return [...sessions.values()];
}

export function newestFirst<T extends { id: string; createdAt: string }>(records: readonly T[]): T[] {
  return [...records].sort((a, b) => compare(b.createdAt, a.createdAt) || compare(b.id, a.id));
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** Never in the middle of a surrogate pair: half an emoji is no JSON for some. */
function cut(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const end = /[\uD800-\uDBFF]$/.test(text.slice(0, limit - 1)) ? limit - 2 : limit - 1;
  return `${text.slice(0, end)}…`;
}
