import type { SqlValue } from 'sql.js';
import type { ListFilter } from '../core/api';
import { CheckpointsError } from '../core/errors';
import { latestTriggers, type ParsedReference } from '../core/references';
import { pathConditions, searchConditions, type Condition } from './search';

/** A filter as SQL, and what SQL cannot tell exactly as a test on the changed paths. */
export interface Selection {
  conditions: Condition[];
  limit: number;
  changed: ((path: string) => boolean) | null;
}

export function selectionOf(filter: ListFilter): Selection {
  const conditions = filter.search === undefined ? [] : searchConditions(filter.search);
  const add = (sql: string, value: SqlValue): void => void conditions.push({ sql, values: [value] });
  if (filter.session !== undefined) add('session_id = ?', filter.session);
  if (filter.trigger !== undefined) add('trigger = ?', filter.trigger);
  if (filter.since !== undefined) add('created_at >= ?', instant(filter.since));
  if (filter.until !== undefined) add('created_at <= ?', instant(filter.until));
  const path = filter.path === undefined ? '' : folderOf(filter.path);
  if (path !== '') conditions.push(...pathConditions(path));
  return {
    conditions,
    limit: limitOf(filter.limit),
    changed: path === '' ? null : (one) => one === path || one.startsWith(`${path}/`),
  };
}

/** Every checkpoint that `resolveReference` may want to look at for this reference, in its messages too. */
export function selectionForReference(parsed: ParsedReference): Selection {
  if (parsed.kind === 'latest') {
    const marks = latestTriggers.map(() => '?').join(', ');
    const sql = `origin_machine IS NULL AND trigger IN (${marks})`;
    return { conditions: [{ sql, values: [...latestTriggers] }], limit: Infinity, changed: null };
  }
  const { name, idPrefix } = parsed;
  const tests: Condition[] = [{ sql: 'lower(name) = lower(?) OR title = ?', values: [name, name] }];
  if (idPrefix !== null) tests.push({ sql: 'id >= ? AND id < ?', values: [idPrefix, `${idPrefix}~`] });
  const either = {
    sql: tests.map(({ sql }) => `(${sql})`).join(' OR '),
    values: tests.flatMap(({ values }) => values),
  };
  return { conditions: [either], limit: Infinity, changed: null };
}

function limitOf(limit: number | undefined): number {
  if (limit === undefined || limit === Infinity) return Infinity;
  if (Number.isInteger(limit) && limit >= 0) return limit;
  throw new CheckpointsError('invalid-argument', `A limit is a whole number of at least 0, not ${limit}.`);
}

function instant(text: string): number {
  const time = Date.parse(text);
  if (Number.isNaN(time)) throw new CheckpointsError('invalid-argument', `Not a time: ${JSON.stringify(text)}.`);
  return time;
}

function folderOf(path: string): string {
  return path === '.' ? '' : path.replace(/^\.\//, '').replace(/\/+$/, '');
}
