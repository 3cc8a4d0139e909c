import type { SqlValue } from 'sql.js';
import type { Trigger } from '../core/model';

export interface IndexStats {
  checkpoints: number;
  sessions: number;
  byTrigger: Partial<Record<Trigger, number>>;
  /** The most recent first; `session` null: made outside of any. */
  perSession: Array<{
    session: string | null;
    title: string | null;
    checkpoints: number;
    /** Milliseconds. */
    first: number;
    last: number;
  }>;
}

export function statsFrom(all: (sql: string) => SqlValue[][]): IndexStats {
  const triggers = all('SELECT trigger, count(*) FROM checkpoints GROUP BY trigger');
  const sessions = all(
    'SELECT session_id, count(*), min(created_at), max(created_at) FROM checkpoints GROUP BY session_id ORDER BY 4 DESC',
  );
  // With a single max() SQLite takes the other columns from the row that has it: the newest title.
  const titles = all(
    'SELECT session_id, session_title, max(id) FROM checkpoints WHERE session_title IS NOT NULL GROUP BY session_id',
  );
  const titleOf = new Map(titles.map(([session, title]) => [session, String(title)]));
  return {
    checkpoints: triggers.reduce((sum, [, count]) => sum + Number(count), 0),
    sessions: sessions.filter(([session]) => session !== null).length,
    byTrigger: Object.fromEntries(triggers) as IndexStats['byTrigger'],
    perSession: sessions.map(([session, count, first, last]) => ({
      session: typeof session === 'string' ? session : null,
      title: titleOf.get(session) ?? null,
      checkpoints: Number(count),
      first: Number(first),
      last: Number(last),
    })),
  };
}
