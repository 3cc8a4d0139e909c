import type { Hunk, Span } from './hunks';

/** What VS Code's inline change view passes: 1-based lines; an end of 0 means that the side is empty behind the start. */
export interface LineChange {
  originalStartLineNumber: number;
  originalEndLineNumber: number;
  modifiedStartLineNumber: number;
  modifiedEndLineNumber: number;
}

const span = (start: number, end: number): Span => (end === 0 ? [start, start] : [start - 1, end]);

export const hunkOf = (change: LineChange): Hunk => ({
  before: span(change.originalStartLineNumber, change.originalEndLineNumber),
  now: span(change.modifiedStartLineNumber, change.modifiedEndLineNumber),
});

type Position = [line: number, character: number];

export interface LineEdit {
  start: Position;
  end: Position;
  text: string;
}

/**
 * Puts the checkpoint's lines in the place of a hunk. No line end follows the last line: there the one in front of the
 * hunk goes with it.
 */
export const editOf = (
  then: readonly string[],
  now: readonly string[],
  { before, now: [first, end] }: Hunk,
  eol: string,
): LineEdit => {
  const lines = then.slice(...before);
  if (end < now.length) return { start: [first, 0], end: [end, 0], text: lines.map((line) => line + eol).join('') };
  const endOf = (line: number): Position => [line, now[line]?.length ?? 0];
  const last = endOf(now.length - 1);
  if (first === 0) return { start: [0, 0], end: last, text: lines.join(eol) };
  return { start: endOf(first - 1), end: last, text: lines.map((line) => eol + line).join('') };
};
