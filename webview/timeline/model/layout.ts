import type { TaskStatus } from '../../../src/core/model';
import type { TimelineRow, TimelineSession } from '../../../src/protocol/timeline';
import { assignColumns, type LaneLine } from './lanes';

/**
 * Rows in, what is drawn out. Pure: a person's fold state, day names and colours come in as data. Everything is one
 * item of one height, so that the list can be virtualised by arithmetic alone.
 */
export type Item = DayItem | LaneItem;
/** What stands on a session's lane. */
export type LaneItem = PointItem | FoldItem | SessionItem;

export interface DayItem {
  kind: 'day';
  key: string;
  /** Of its newest checkpoint. */
  t: number;
  count: number;
}

interface OnLane {
  key: string;
  session: string | null;
  column: number;
  /** Newest shown of its session: where the session's name stands. */
  head: boolean;
  /** For screen readers: place among the items of its level. */
  position: number;
  size: number;
}

export interface PointItem extends OnLane {
  kind: 'point';
  row: TimelineRow;
  /** 2 inside an open fold. */
  level: 1 | 2;
  status: StatusChange | null;
}

/** The tool points of one turn, as one row. */
export interface FoldItem extends OnLane {
  kind: 'fold';
  rows: TimelineRow[];
  open: boolean;
}

/** A fork that has no checkpoint of its own yet: only where it begins is known. */
export interface SessionItem extends OnLane {
  kind: 'session';
  session: string;
  t: number;
}

export interface StatusChange {
  from: TaskStatus | null;
  to: TaskStatus;
}

export interface Layout {
  items: Item[];
  lines: LaneLine[];
  columns: number;
  /** Of every shown checkpoint, folded ones too (then the fold's), of every fold, and of sessions without any. */
  where: ReadonlyMap<string, number>;
}

export interface LayoutInput {
  /** Newest first. */
  rows: readonly TimelineRow[];
  sessions: ReadonlyMap<string, TimelineSession>;
  statusChanges: ReadonlyMap<string, StatusChange>;
  /** Open folds; null shows every tool point (a filter is on), and nothing that is not a checkpoint. */
  open: ReadonlySet<string> | null;
  /** Same text for two times of one day. */
  dayOf: (t: number) => string;
}

export function layout({ rows, sessions, statusChanges, open, dayOf }: LayoutInput): Layout {
  const folds = open ? groupTools(rows) : new Map<string, TimelineRow[]>();
  const items: Item[] = [];
  const where = new Map<string, number>();
  let day: DayItem | null = null;
  let dayKey = '';

  const push = (item: LaneItem): number => {
    where.set(item.key, items.length);
    return items.push(item) - 1;
  };
  const dayAt = (t: number): DayItem => {
    const key = dayOf(t);
    if (day && key === dayKey) return day;
    dayKey = key;
    day = { kind: 'day', key: `day:${key}`, t, count: 0 };
    items.push(day);
    return day;
  };
  const place = { column: 0, head: false, position: 0, size: 0 };
  const waiting = open ? begunSessions(sessions) : [];
  const pushBegun = (after: number): void => {
    for (let next = waiting[0]; next && next.begun >= after; next = waiting[0]) {
      waiting.shift();
      dayAt(next.begun);
      push({ kind: 'session', key: sessionKey(next.id), session: next.id, t: next.begun, ...place });
    }
  };
  for (const row of rows) {
    pushBegun(row.t);
    const session = row.session ?? null;
    dayAt(row.t).count++;
    const lane = { session, ...place };
    const name = foldKey(row);
    const members = name === null ? undefined : folds.get(name);
    if (name !== null && members) {
      const isOpen = open?.has(name) ?? true;
      if (members[0] === row) push({ kind: 'fold', key: name, rows: members, open: isOpen, ...lane });
      if (!isOpen) {
        where.set(row.id, where.get(name) ?? 0);
        continue;
      }
    }
    const level = members ? 2 : 1;
    push({ kind: 'point', key: row.id, row, level, status: statusChanges.get(row.id) ?? null, ...lane });
  }

  pushBegun(-Infinity);

  number(items);
  const { lines, columns } = placeLanes(items, where, sessions);
  return { items, lines, columns, where };
}

export const sessionKey = (id: string): string => `session:${id}`;

/** Newest first. */
function begunSessions(
  sessions: ReadonlyMap<string, TimelineSession>,
): Array<TimelineSession & Required<Pick<TimelineSession, 'begun'>>> {
  return [...sessions.values()]
    .flatMap((session) => (session.begun === undefined ? [] : [{ ...session, begun: session.begun }]))
    .sort((a, b) => b.begun - a.begun || (a.id < b.id ? 1 : -1));
}

/** Points that a person or an agent marked stay in sight. */
export function foldKey(row: TimelineRow): string | null {
  const foldable = row.trigger === 'tool' && row.session !== undefined && row.turn !== undefined;
  return foldable && !row.pinned && !row.named ? `fold:${row.session}:${row.turn}` : null;
}

function groupTools(rows: readonly TimelineRow[]): Map<string, TimelineRow[]> {
  const groups = new Map<string, TimelineRow[]>();
  for (const row of rows) {
    const key = foldKey(row);
    if (key === null) continue;
    const group = groups.get(key);
    if (group) group.push(row);
    else groups.set(key, [row]);
  }
  for (const [key, group] of groups) if (group.length < 2) groups.delete(key);
  return groups;
}

function number(items: readonly Item[]): void {
  const top = items.filter((item): item is LaneItem => item.kind === 'fold' || item.kind === 'session' || isTop(item));
  top.forEach((item, index) => {
    item.position = index + 1;
    item.size = top.length;
  });
  const inFold = new Map<string, number>();
  for (const item of items) {
    if (item.kind !== 'point' || item.level === 1) continue;
    const key = foldKey(item.row) ?? '';
    item.position = (inFold.get(key) ?? 0) + 1;
    inFold.set(key, item.position);
  }
  for (const item of items)
    if (item.kind === 'point' && item.level === 2) item.size = inFold.get(foldKey(item.row) ?? '') ?? 0;
}

const isTop = (item: Item): item is PointItem => item.kind === 'point' && item.level === 1;

function placeLanes(
  items: readonly Item[],
  where: ReadonlyMap<string, number>,
  sessions: ReadonlyMap<string, TimelineSession>,
): { lines: LaneLine[]; columns: number } {
  const spans = new Map<string | null, { top: number; bottom: number }>();
  items.forEach((item, index) => {
    if (item.kind === 'day') return;
    const span = spans.get(item.session);
    if (span) span.bottom = index;
    else {
      spans.set(item.session, { top: index, bottom: index });
      item.head = true;
    }
  });
  /** The parent's first shown item that is as old as the fork point: that one may be filtered away. Ids sort as times do. */
  const firstBelow = (parent: string | null, index: number, forkedFrom: string | null): number | null => {
    for (let i = index + 1; i < items.length; i++) {
      const item = items[i];
      if (!item || item.kind === 'day' || item.session !== parent) continue;
      if (item.kind === 'session') return i;
      const oldest = item.kind === 'fold' ? item.rows.at(-1) : item.row;
      if (forkedFrom === null || (oldest && oldest.id <= forkedFrom)) return i;
    }
    return null;
  };
  const placed = assignColumns(
    [...spans].map(([session, span]) => {
      const known = session === null ? undefined : sessions.get(session);
      const exact = known?.forkedFrom ? where.get(known.forkedFrom) : undefined;
      const below = known?.parent ? firstBelow(known.parent, span.bottom, known.forkedFrom) : null;
      const fork = exact !== undefined && exact > span.bottom ? exact : below;
      const at = fork === null ? undefined : items[fork];
      const parent = at && at.kind !== 'day' && at.session !== session ? at.session : undefined;
      const hasOrigin = Boolean(known?.forkedFrom ?? known?.parent);
      return { session, ...span, fork: parent === undefined ? null : fork, parent, orphan: hasOrigin };
    }),
  );
  for (const item of items) if (item.kind !== 'day') item.column = placed.columnOf.get(item.session) ?? 0;
  return { lines: placed.lines, columns: placed.columns };
}

/**
 * The items whose session has to be said: with more lanes than are drawn the last one is shared, and there neither place nor colour tells whose a point
 * is. Where the session is that of the item above in it, it was said there.
 */
export function sharing({ items, columns }: Layout, drawn: number): ReadonlySet<string> {
  const keys = new Set<string>();
  if (columns <= drawn) return keys;
  let above: LaneItem | undefined;
  for (const item of items) {
    if (item.kind === 'day' || item.column < drawn - 1) continue;
    if (above?.session !== item.session) keys.add(item.key);
    above = item;
  }
  return keys;
}

/** Where the task's status became another one, told from all rows, newest first; fetched ones have a task of their own. */
export function statusChanges(rows: readonly TimelineRow[]): Map<string, StatusChange> {
  const changes = new Map<string, StatusChange>();
  const last = new Map<string, TaskStatus>();
  for (let i = rows.length - 1; i >= 0; i--) {
    const row = rows[i];
    if (!row?.status) continue;
    const owner = row.origin ?? '';
    const from = last.get(owner) ?? null;
    if (from !== row.status) changes.set(row.id, { from, to: row.status });
    last.set(owner, row.status);
  }
  return changes;
}

/** A colour number per session, oldest first and in turns: it stays when newer sessions come. */
export function sessionTones(
  rows: readonly TimelineRow[],
  tones: number,
  sessions: ReadonlyMap<string, TimelineSession> = new Map(),
): Map<string, number> {
  const result = new Map<string, number>();
  const add = (session: string | undefined): void => {
    if (session !== undefined && !result.has(session)) result.set(session, result.size % tones);
  };
  const waiting = begunSessions(sessions);
  for (let i = rows.length - 1; i >= 0; i--) {
    const row = rows[i];
    for (let next = waiting.at(-1); row && next && next.begun < row.t; next = waiting.at(-1)) add(waiting.pop()?.id);
    add(row?.session);
  }
  for (const { id } of waiting.reverse()) add(id);
  return result;
}
