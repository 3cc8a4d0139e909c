import type { TimelineRow, TimelineSession, TimelineWindow } from '../../../src/protocol/timeline';
import { dayOf } from './dates';
import { matches, parseFilter, type Filter } from './filter';
import { layout, sessionTones, statusChanges, type Layout, type StatusChange } from './layout';

/** Colours for sessions; the rest of the theme's palette means something else (you, restores, trouble). */
const toneCount = 5;

/** Everything that follows from the rows alone: computed once per answer of the host. */
export interface RowData {
  rows: readonly TimelineRow[];
  byId: ReadonlyMap<string, TimelineRow>;
  sessions: ReadonlyMap<string, TimelineSession>;
  tones: ReadonlyMap<string, number>;
  statusChanges: ReadonlyMap<string, StatusChange>;
}

export function rowData({ rows, sessions }: Pick<TimelineWindow, 'rows' | 'sessions'>): RowData {
  const bySession = new Map(sessions.map((session) => [session.id, session]));
  return {
    rows,
    byId: new Map(rows.map((row) => [row.id, row])),
    sessions: bySession,
    tones: sessionTones(rows, toneCount, bySession),
    statusChanges: statusChanges(rows),
  };
}

export interface FilteredData {
  filter: Filter;
  shown: readonly TimelineRow[];
  layout: Layout;
}

export function filteredData(
  data: RowData,
  query: string,
  now: number,
  open: ReadonlySet<string>,
  found: ReadonlyMap<string, ReadonlySet<string>>,
): FilteredData {
  const filter = parseFilter(query, now);
  const active = filter.terms.length > 0;
  const { rows, sessions, statusChanges: changes } = data;
  const shown = active ? rows.filter((row) => matches(filter, row, { sessions, found })) : rows;
  return {
    filter,
    shown,
    layout: layout({ rows: shown, sessions, statusChanges: changes, open: active ? null : open, dayOf }),
  };
}
