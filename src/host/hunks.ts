import { diffArrays } from 'diff';

/** Lines that differ between two texts: 0-based, end exclusive. */
export interface Hunk {
  before: [start: number, end: number];
  now: [start: number, end: number];
}

/** A text's lines with their ends, so that joining them gives the text back. */
export const splitLines = (text: string): string[] => text.match(/[^\n]*\n|[^\n]+$/g) ?? [];

export const hunksBetween = (before: readonly string[], now: readonly string[]): Hunk[] => {
  const hunks: Hunk[] = [];
  let [x, y] = [0, 0];
  let open: Hunk | undefined;
  for (const part of diffArrays([...before], [...now])) {
    const count = part.value.length;
    if (!part.added && !part.removed) {
      [x, y, open] = [x + count, y + count, undefined];
      continue;
    }
    if (open === undefined) hunks.push((open = { before: [x, x], now: [y, y] }));
    if (part.removed) open.before[1] = x += count;
    else open.now[1] = y += count;
  }
  return hunks;
};

/** The hunks that a selection of lines of the present text touches. A deletion shows between two lines: both touch it. */
export const hunksInSelection = (hunks: readonly Hunk[], firstLine: number, lastLine: number): Hunk[] =>
  hunks.filter(({ now: [start, end] }) =>
    start === end ? start >= firstLine && start <= lastLine + 1 : start <= lastLine && end > firstLine,
  );
