import { nothing, svg, type SVGTemplateResult } from 'lit';
import { repeat } from 'lit/directives/repeat.js';
import type { Item, Layout } from '../model/layout';
import type { LaneLine } from '../model/lanes';
import { beginShape, foldShape, pointShape, toneClass } from './points';

/** Where lanes stand, in pixels. More lanes than fit share the last column. */
export interface Geometry {
  rowHeight: number;
  pitch: number;
  columns: number;
  width: number;
}

export function geometry(columns: number, rowHeight: number, width: number): Geometry {
  const narrow = width < 380;
  const pitch = width < 260 ? 10 : narrow ? 12 : 18;
  const margin = narrow ? 10 : 14;
  // Rows are read, lanes only looked at: a quarter of the room is theirs.
  const fitting = narrow ? 4 : Math.min(10, Math.floor((width / 4 - margin) / pitch));
  const shown = Math.min(columns, fitting);
  return { rowHeight, pitch, columns: shown, width: shown * pitch + margin };
}

const laneX = ({ pitch, columns }: Geometry, column: number): number =>
  Math.min(column, columns - 1) * pitch + pitch / 2 + (pitch > 12 ? 6 : 4);

export interface LaneDrawing {
  layout: Layout;
  start: number;
  end: number;
  geometry: Geometry;
  tones: ReadonlyMap<string, number>;
  selected: string | null;
}

/**
 * The graph for the drawn rows alone. y is measured from the first row of all, and the picture's view box moves instead:
 * so a point that stays in sight while one scrolls is not touched.
 */
export function drawLanes(drawing: LaneDrawing): SVGTemplateResult {
  const { layout, start, end, geometry: g, tones, selected } = drawing;
  const selectedItem = selected === null ? undefined : layout.items[layout.where.get(selected) ?? -1];
  const emphasised = selectedItem && selectedItem.kind !== 'day' ? selectedItem.session : undefined;
  const tone = (session: string | null): number | null => (session === null ? null : (tones.get(session) ?? 0));
  const inSight = layout.lines.filter((line) => line.top < end && (line.fork ?? line.bottom) >= start);
  // The one that is looked at lies on top of those it crosses.
  const lines = [
    ...inSight.filter((line) => line.session !== emphasised),
    ...inSight.filter((line) => line.session === emphasised),
  ];
  /** Several lanes in one place have no colour of their own; their points do. */
  const shared = ({ column, session }: LaneLine): boolean =>
    session !== emphasised && layout.columns > g.columns && column >= g.columns - 1;
  return svg`
    ${lines.map((line) => {
      const own = shared(line) ? 'shared' : toneClass(tone(line.session));
      const classes = `lane ${own}${line.session === emphasised ? ' emphasised' : ''}`;
      return svg`<path class=${classes} d=${linePath(line, start, end, g)}></path>
        ${line.orphan ? svg`<path class="${classes} orphan" d=${stub(line, g)}></path>` : nothing}`;
    })}
    ${repeat(layout.items.slice(start, end), itemKey, (item, offset) => {
      if (item.kind === 'day') return nothing;
      const [x, y] = [laneX(g, item.column), (start + offset + 0.5) * g.rowHeight];
      if (item.kind === 'fold' && !item.open) return foldShape(tone(item.session), x, y);
      if (item.kind === 'fold') return nothing;
      if (item.kind === 'session') return beginShape(tone(item.session), x, y);
      const { row, status } = item;
      return pointShape(
        {
          // A point where the task's status changes shows the status, whatever made it.
          trigger: status && row.trigger === 'interval' ? 'task' : row.trigger,
          tone: tone(item.session),
          status: row.status,
          ring: Boolean(row.pinned ?? row.named),
          selected: item.key === selected,
        },
        x,
        y,
      );
    })}
  `;
}

const cut = 50;
const itemKey = (item: Item): string => item.key;

/** Straight down its column, and at a fork in a bow into the point it branched off. */
function linePath(line: LaneLine, start: number, end: number, g: Geometry): string {
  const y = (index: number): number => (index + 0.5) * g.rowHeight;
  const x = laneX(g, line.column);
  // Cut far out of sight, in steps: the path changes once per so many rows, not with each.
  const top = Math.max(y(line.top), (Math.floor(start / cut) - 1) * cut * g.rowHeight);
  const bottomLimit = (Math.ceil(end / cut) + 1) * cut * g.rowHeight;
  if (line.fork === null || y(line.fork) > bottomLimit) {
    const bottom = line.fork === null ? y(line.bottom) : bottomLimit;
    return `M${x} ${top}V${Math.max(top, Math.min(bottom, bottomLimit))}`;
  }
  const px = laneX(g, line.parentColumn);
  const at = y(line.fork);
  const bend = at - g.rowHeight;
  return `M${x} ${top}V${Math.max(top, bend)}C${x} ${at - g.rowHeight * 0.35} ${px} ${at - g.rowHeight * 0.55} ${px} ${at}`;
}

/** What it branched off is filtered away or gone: the line trails off. */
function stub(line: LaneLine, g: Geometry): string {
  const y = (line.bottom + 0.5) * g.rowHeight;
  return `M${laneX(g, line.column)} ${y}v${g.rowHeight * 0.9}`;
}
