import type { TaskStatus } from '../../../src/core/model';
import type { SessionState, TimelineRow } from '../../../src/protocol/timeline';
import type { LaneItem } from './layout';
import type { RowData } from './view-data';
import { statusNames } from '../../../src/protocol/task-names';
import { triggerLabel } from '../../../src/protocol/trigger-names';
import type { TimeFormat } from './dates';

/** Codicons. */
export const statusIcon: Record<TaskStatus, string> = {
  not_started: 'circle-large',
  in_progress: 'play-circle',
  blocked: 'error',
  done: 'pass-filled',
};

const numbers = new Intl.NumberFormat(undefined);
const compact = new Intl.NumberFormat(undefined, { notation: 'compact', maximumFractionDigits: 1 });

export const count = (value: number): string => numbers.format(value);
export const short = (value: number): string => compact.format(value);
export const plural = (value: number, one: string, many: string = `${one}s`): string =>
  `${count(value)} ${value === 1 ? one : many}`;

/** Cents, and smaller parts only where there are no cents. */
export const money = (value: number): string => `$${value.toFixed(value > 0 && value < 0.01 ? 4 : 2)}`;

export function sessionTitle(id: string | null, { sessions }: RowData): string {
  if (id === null) return 'Without a session';
  return sessions.get(id)?.title ?? 'Untitled session';
}

/** Codicon: whether the agent works in it, whether it is a fork. */
export function sessionIcon(id: string, { sessions }: RowData): string {
  const session = sessions.get(id);
  if (session?.state === 'busy') return 'loading codicon-modifier-spin';
  return (session?.forkedFrom ?? session?.parent) ? 'repo-forked' : 'comment-discussion';
}

/** What OpenCode says of a session, where there is something to say. */
export const stateText: Record<SessionState, string> = {
  busy: 'the agent is working',
  deleted: 'not in OpenCode any more',
};

/** Of a fork in which nothing was done yet. */
export const nothingYet = 'no checkpoint of its own yet';

export function changedFiles(row: TimelineRow): string {
  if (row.turnFiles !== undefined) return `${plural(row.turnFiles, 'file')} changed in this turn`;
  if (!row.changes) return 'no files changed';
  const [added, modified, deleted] = row.changes;
  const parts = [
    added > 0 ? `${count(added)} added` : '',
    modified > 0 ? `${count(modified)} modified` : '',
    deleted > 0 ? `${count(deleted)} deleted` : '',
  ].filter(Boolean);
  return `${parts.join(', ')} ${added + modified + deleted === 1 ? 'file' : 'files'}`;
}

/** All that a row shows beside its title by shape, colour and place, in words, for those who cannot see it. */
export function describeItem(item: LaneItem, data: RowData, time: TimeFormat, now: number): string {
  const session = sessionTitle(item.session, data);
  if (item.kind === 'fold') {
    const [newest] = item.rows;
    const when = newest ? `${time.day(newest.t, now)} ${time.clock(newest.t)}` : '';
    return `of turn ${newest?.turn ?? ''}, ${session}, ${when}`;
  }
  const state = item.session === null ? undefined : data.sessions.get(item.session)?.state;
  if (item.kind === 'session')
    return ['fork', state ? stateText[state] : '', `${time.day(item.t, now)} ${time.clock(item.t)}`]
      .filter(Boolean)
      .join(', ');
  const { row, status } = item;
  return [
    triggerLabel(row.trigger, row.origin),
    row.named ? 'named' : '',
    row.pinned ? 'pinned' : '',
    row.turn === undefined ? session : `${session}, turn ${row.turn}`,
    // Once a session is enough: at its name.
    state && item.head ? stateText[state] : '',
    `${time.day(row.t, now)} ${time.clock(row.t)}`,
    changedFiles(row),
    status ? `task became ${statusNames[status.to].toLowerCase()}` : '',
    row.origin ? `from ${row.origin}` : '',
    row.subagent ? 'by a sub-agent' : '',
    row.partial ? 'not everything could be read' : '',
  ]
    .filter(Boolean)
    .join(', ');
}

/** Folder and name apart: the name is what one looks for. */
export function splitPath(path: string): { folder: string; name: string } {
  const slash = path.lastIndexOf('/');
  return { folder: slash < 0 ? '' : path.slice(0, slash), name: path.slice(slash + 1) };
}
