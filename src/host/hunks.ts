import { diffArrays } from 'diff';

export type Span = [start: number, end: number];

/** Lines that differ between two texts: 0-based, end exclusive. */
export interface Hunk {
  before: Span;
  now: Span;
}

/** A text's lines as VS Code counts them: without their ends, so that CRLF and LF are alike, and a last one behind the last line end. */
export const splitLines = (text: string): string[] => text.split(/\r\n|\r|\n/);

/** Half a second's work. Its time grows with the square: two long texts without any order in common took a minute. */
const maxEditLength = 2000;

/** undefined: the texts are too different to tell what became of which line. */
export const hunksBetween = (before: readonly string[], now: readonly string[]): Hunk[] | undefined => {
  const changed = changedLines(before, now);
  if (changed === undefined) return undefined;
  const hunks: Hunk[] = [];
  for (let [x, y] = [0, 0]; x < before.length || y < now.length; x += 1, y += 1) {
    const hunk: Hunk = { before: [x, x], now: [y, y] };
    while (changed.before.has(x)) hunk.before[1] = x += 1;
    while (changed.now.has(y)) hunk.now[1] = y += 1;
    if (hunk.before[0] < x || hunk.now[0] < y) hunks.push(hunk);
  }
  return hunks;
};

interface Line {
  text: string;
  number: number;
}

const changedLines = (
  before: readonly string[],
  now: readonly string[],
): { before: Set<number>; now: Set<number> } | undefined => {
  const most = Math.min(before.length, now.length);
  let head = 0;
  while (head < most && before[head] === now[head]) head += 1;
  let tail = 0;
  while (tail < most - head && before.at(-1 - tail) === now.at(-1 - tail)) tail += 1;
  const middle = (lines: readonly string[]): Line[] =>
    lines.slice(head, lines.length - tail).map((text, index) => ({ text, number: head + index }));
  const [old, current] = [middle(before), middle(now)];
  const changed = { before: foreign(old, current), now: foreign(current, old) };
  const parts = diffArrays(
    old.filter(({ number }) => !changed.before.has(number)),
    current.filter(({ number }) => !changed.now.has(number)),
    { comparator: (one, other) => one.text === other.text, maxEditLength },
  );
  if (parts === undefined) return undefined;
  for (const { removed, added, value } of parts)
    if (removed || added) for (const { number } of value) changed[removed ? 'before' : 'now'].add(number);
  return changed;
};

/** A line that the other side has nowhere has changed for certain: the long search is for the others alone. */
const foreign = (lines: readonly Line[], others: readonly Line[]): Set<number> => {
  const known = new Set(others.map(({ text }) => text));
  return new Set(lines.filter(({ text }) => !known.has(text)).map(({ number }) => number));
};

/**
 * The hunks that a selection of lines touches, on the side where it was made. What the side does not have shows between
 * two lines: both touch it.
 */
export const hunksInSelection = (
  hunks: readonly Hunk[],
  firstLine: number,
  lastLine: number,
  side: keyof Hunk = 'now',
): Hunk[] =>
  hunks.filter(({ [side]: [start, end] }) =>
    start === end ? start >= firstLine && start <= lastLine + 1 : start <= lastLine && end > firstLine,
  );

const lengthOf = ([start, end]: Span): number => end - start;

/** The same hunks in a text that changed further, by the hunks of that; undefined where one of them, or a line beside it, changed again. */
export const carriedOver = (hunks: readonly Hunk[], later: readonly Hunk[]): Hunk[] | undefined => {
  const meets = ({ now: [start, end] }: Hunk): boolean =>
    later.some(({ before: [first, last] }) => first <= end && last >= start);
  if (hunks.some(meets)) return undefined;
  return hunks.map(({ before, now: [start, end] }) => {
    const shift = later
      .filter(({ before: [, last] }) => last < start)
      .reduce((sum, hunk) => sum + lengthOf(hunk.now) - lengthOf(hunk.before), 0);
    return { before, now: [start + shift, end + shift] };
  });
};
