// Loaded when a table is printed: knowing how wide every character is takes longer to learn than most commands take.
import stringWidth from 'string-width';
import { visible } from './visible';

export interface Column {
  header: string;
  align?: 'left' | 'right';
  /** Gives way first when the terminal is too narrow. */
  flexible?: boolean;
  /** Left out where that is not enough, the lowest number first: a row that is broken in two is no table any more. */
  spare?: number;
  style?: (text: string) => string;
}

const gap = '  ';
const narrowest = 12;

/** Cuts by what the terminal shows, not by code units: an emoji is two columns wide and must not be halved. */
export function fit(text: string, width: number): string {
  if (stringWidth(text) <= width) return text;
  let out = '';
  let used = 0;
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    const next = stringWidth(segment);
    if (used + next > width - 1) break;
    out += segment;
    used += next;
  }
  return `${out}…`;
}

function pad(text: string, width: number, align: Column['align']): string {
  const space = ' '.repeat(Math.max(0, width - stringWidth(text)));
  return align === 'right' ? space + text : text + space;
}

const across = (widths: number[]): number =>
  widths.reduce((sum, width) => sum + width, 0) + gap.length * (widths.length - 1);

/** Which columns there is room for, with the flexible one as narrow as it gets. */
function fitting(columns: Column[], widths: number[], width: number | undefined): number[] {
  const least = columns.map((column, i) => (column.flexible ? Math.min(widths[i]!, narrowest) : widths[i]!));
  const spare = columns.flatMap((column, i) => (column.spare === undefined ? [] : [i]));
  spare.sort((a, b) => columns[a]!.spare! - columns[b]!.spare!);
  let shown = columns.map((_, i) => i);
  while (width !== undefined && spare.length > 0 && across(shown.map((i) => least[i]!)) > width) {
    const gone = spare.shift();
    shown = shown.filter((i) => i !== gone);
  }
  return shown;
}

/** `width` is the terminal's, or undefined when there is none: then nothing is cut. */
export function table(
  allColumns: Column[],
  rows: string[][],
  options: { width?: number; header?: (text: string) => string } = {},
): string {
  const all = rows.map((row) => allColumns.map((_, i) => visible(row[i] ?? '')));
  const allWidths = allColumns.map((column, i) =>
    Math.max(stringWidth(column.header), ...all.map((row) => stringWidth(row[i] ?? ''))),
  );
  const shown = fitting(allColumns, allWidths, options.width);
  const columns = shown.map((i) => allColumns[i]!);
  const cells = all.map((row) => shown.map((i) => row[i]!));
  const widths = shown.map((i) => allWidths[i]!);
  const flexible = columns.findIndex((column) => column.flexible);
  if (options.width !== undefined && flexible >= 0) {
    const over = across(widths) - options.width;
    if (over > 0) widths[flexible] = Math.max(narrowest, (widths[flexible] ?? 0) - over);
  }
  const line = (row: string[], style: (column: Column, text: string) => string): string =>
    columns
      .map((column, i) => {
        const width = widths[i] ?? 0;
        const text = column.flexible && options.width !== undefined ? fit(row[i] ?? '', width) : (row[i] ?? '');
        // Nothing follows the last column: padding it would only leave blanks at the line's end.
        const padded = i === columns.length - 1 && column.align !== 'right' ? text : pad(text, width, column.align);
        return style(column, padded);
      })
      .join(gap)
      .trimEnd();
  const head = line(
    columns.map((column) => column.header),
    (_, text) => (options.header ?? ((plain) => plain))(text),
  );
  const body = cells.map((row) => line(row, (column, text) => (column.style ?? ((plain) => plain))(text)));
  return [head, ...body].map((text) => `${text}\n`).join('');
}
