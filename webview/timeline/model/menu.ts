import { facetLetters, type TimelineAction, type TimelineRow } from '../../../src/protocol/timeline';
import type { FoldItem, LaneItem, SessionItem } from './layout';

/** What the page does itself, and what the host is asked for. */
type Run = TimelineAction | { type: 'mark'; id: string } | { type: 'fold'; key: string; open: boolean };

export type MenuEntry = { kind: 'separator' } | { kind: 'item'; label: string; icon: string; hint?: string; run: Run };

const separator: MenuEntry = { kind: 'separator' };

const item = (label: string, icon: string, run: Run, hint?: string): MenuEntry => ({
  kind: 'item',
  label,
  icon,
  run,
  ...(hint ? { hint } : {}),
});

/** What one can do with a row of the list, whatever it stands for. */
export function menuOf(row: LaneItem, marks: readonly TimelineRow[]): MenuEntry[] {
  if (row.kind === 'point') return menuFor(row.row, marks);
  return row.kind === 'fold' ? foldMenu(row) : sessionMenu(row);
}

/** The tool calls of a turn belong to it, and so does what one would do with all of them. */
function foldMenu({ key, open, rows, session }: FoldItem): MenuEntry[] {
  const toggle = item(open ? 'Collapse' : 'Expand', open ? 'chevron-down' : 'chevron-right', {
    type: 'fold',
    key,
    open: !open,
  });
  const oldest = rows.at(-1);
  if (!oldest) return [toggle];
  return [
    toggle,
    separator,
    item('Revert This Turn', 'reply', { type: 'revertTurn', id: oldest.id }),
    item('Show Changes of This Turn', 'comment', { type: 'compareTurn', id: oldest.id }),
    ...(session === null
      ? []
      : [separator, item('Open Session', 'comment-discussion', { type: 'openSession', session })]),
  ];
}

const sessionMenu = ({ session }: SessionItem): MenuEntry[] => [
  item('Open Session', 'comment-discussion', { type: 'openSession', session }),
];

/** Everything one can do with a checkpoint, in the order one would think of it. */
export function menuFor(row: TimelineRow, marks: readonly TimelineRow[]): MenuEntry[] {
  const { id } = row;
  const other = marks.find((mark) => mark.id !== id);
  const marked = marks.some((mark) => mark.id === id);
  const conversation = row.facets.includes(facetLetters.conversation);
  return [
    item('Restore Checkpoint…', 'discard', { type: 'restore', id }),
    ...(row.turn === undefined ? [] : [item('Revert This Turn', 'reply', { type: 'revertTurn', id })]),
    ...(conversation ? [item('Fork Session Here', 'repo-forked', { type: 'fork', id })] : []),
    separator,
    ...(hasFiles(row) ? [...comparisons(row, other, marked), separator] : []),
    item('Rename…', 'edit', { type: 'rename', id }, 'F2'),
    item('Edit Description…', 'note', { type: 'describe', id }),
    item(row.pinned ? 'Unpin' : 'Pin', row.pinned ? 'pinned' : 'pin', { type: 'pin', id, pinned: !row.pinned }),
    separator,
    ...(row.session === undefined
      ? []
      : [item('Open Session', 'comment-discussion', { type: 'openSession', session: row.session })]),
    item('Show in Checkpoints Tree', 'list-tree', { type: 'reveal', id }),
    item('Copy Id', 'copy', { type: 'copyId', id }, 'Ctrl+C'),
    separator,
    item('Delete', 'trash', { type: 'delete', ids: [id] }, 'Delete'),
  ];
}

/** What was imported may hold a conversation or a task alone: there is nothing to compare. */
export const hasFiles = ({ facets }: TimelineRow): boolean => facets.includes(facetLetters.files);

function comparisons(row: TimelineRow, other: TimelineRow | undefined, marked: boolean): MenuEntry[] {
  const { id } = row;
  return [
    item('Compare with Working Files', 'compare-changes', { type: 'compareWorking', id }, 'Ctrl+Enter'),
    item('Compare with Previous', 'diff', { type: 'comparePrevious', id }),
    ...(row.session === undefined
      ? []
      : [item('Compare with Session Start', 'diff-multiple', { type: 'compareSessionStart', id })]),
    ...(row.turn === undefined ? [] : [item('Show Changes of This Turn', 'comment', { type: 'compareTurn', id })]),
    item('Show Changes in Gutter', 'diff-single', { type: 'showInGutter', id }),
    ...(other ? [item(`Compare with “${other.title}”`, 'git-compare', compareInOrder(row, other))] : []),
    item(marked ? 'Unmark' : 'Mark to Compare', marked ? 'circle-slash' : 'target', { type: 'mark', id }, 'Space'),
  ];
}

/** From the older to the newer, whichever was marked first. */
export function compareInOrder(a: TimelineRow, b: TimelineRow): Extract<TimelineAction, { type: 'compare' }> {
  const [from, to] = a.t < b.t || (a.t === b.t && a.id < b.id) ? [a, b] : [b, a];
  return { type: 'compare', from: from.id, to: to.id };
}
