import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type * as vscode from 'vscode';
import { carriedOver, hunksBetween, hunksInSelection, splitLines, type Hunk, type Span } from '../../../src/host/hunks';
import { editOf, hunkOf, type LineChange, type LineEdit } from '../../../src/host/line-edit';
import { lastLine, selectedSide } from '../../../src/host/selected-lines';

const letters = (text: string): string[] => text.split('');
const hunksOf = (before: readonly string[], now: readonly string[]): Hunk[] => {
  const hunks = hunksBetween(before, now);
  if (hunks === undefined) throw new Error('too different');
  return hunks;
};

/** Texts of few different lines, so that many are alike, with and without a last line end. */
const eols = fc.constantFrom('\n', '\r\n');
const lines = fc.array(fc.constantFrom('a', 'b', 'c', ''), { minLength: 1, maxLength: 12 });

describe('hunks', () => {
  it.each([
    ['abc', 'abc', []],
    ['abc', 'aXc', [{ before: [1, 2], now: [1, 2] }]],
    ['abc', 'abXc', [{ before: [2, 2], now: [2, 3] }]],
    ['abc', 'ac', [{ before: [1, 2], now: [1, 1] }]],
    ['abc', 'XYZ', [{ before: [0, 3], now: [0, 3] }]],
    [
      'abcde',
      'aXcdY',
      [
        { before: [1, 2], now: [1, 2] },
        { before: [4, 5], now: [4, 5] },
      ],
    ],
  ])('%s -> %s', (then, now, expected) => {
    expect(hunksBetween(letters(then), letters(now))).toEqual(expected);
  });

  it.each<[string, string, string, Span[] | undefined]>([
    ['abcdef', 'abXdef', 'abXdef', [[2, 3]]],
    ['abcdef', 'abXdef', '12abXdef', [[4, 5]]],
    ['abcdef', 'abXdef', 'bXdef', [[1, 2]]],
    ['abcdef', 'abXdef', 'abXdeY', [[2, 3]]],
    ['abcdef', 'abdef', '1abdef', [[3, 3]]],
    ['abcdef', 'abXdef', 'abYdef', undefined],
    ['abcdef', 'abXdef', 'aYXdef', undefined],
    ['abcdef', 'abXdef', 'abcdef', undefined],
    ['abcdef', 'abdef', 'abYdef', undefined],
  ])('of %s -> %s in what became %s', (then, after, now, expected) => {
    const hunks = hunksOf(letters(then), letters(after));
    const carried = carriedOver(hunks, hunksOf(letters(after), letters(now)));
    expect(carried?.map((hunk) => hunk.now)).toEqual(expected);
  });

  it('do not mind the line ends, but for the last one', () => {
    const then = splitLines('a\r\nb\r\nc\r\n');
    expect(hunksBetween(then, splitLines('a\nb\nc\n'))).toEqual([]);
    expect(hunksBetween(then, splitLines('a\nX\nc\n'))).toEqual([{ before: [1, 2], now: [1, 2] }]);
    expect(hunksBetween(then, splitLines('a\nb\nc'))).toEqual([{ before: [3, 4], now: [3, 3] }]);
  });

  it('are as few lines as can be', () => {
    const common = (one: readonly string[], other: readonly string[]): number => {
      let above = other.map(() => 0);
      for (const line of one) {
        let [left, corner] = [0, 0];
        above = above.map((up, index) => {
          const here = other[index] === line ? corner + 1 : Math.max(up, left);
          [left, corner] = [here, up];
          return here;
        });
      }
      return above.at(-1) ?? 0;
    };
    fc.assert(
      fc.property(lines, lines, (then, now) => {
        const kept = hunksOf(then, now).reduce((rest, { before: [from, to] }) => rest - (to - from), then.length);
        expect(kept).toBe(common(then, now));
      }),
    );
  });

  const many = (length: number, line: (index: number) => string): string[] => Array.from({ length }, (_, i) => line(i));

  it('of long texts without a common line are one', () => {
    const [then, now] = [many(50_000, (i) => `then ${i}`), many(50_000, (i) => `now ${i}`)];
    expect(hunksBetween(['head', ...then, 'tail'], ['head', ...now, 'tail'])).toEqual([
      { before: [1, 50_001], now: [1, 50_001] },
    ]);
  });

  it('are not looked for without end', () => {
    const then = many(5000, (i) => `line ${i}`);
    expect(hunksBetween(then, [...then].reverse())).toBeUndefined();
  });

  it('are chosen by the lines a selection touches, on either side', () => {
    const hunks = hunksOf(letters('abcdef'), letters('aXcdf'));
    expect(hunksInSelection(hunks, 1, 1)).toEqual([hunks[0]]);
    expect(hunksInSelection(hunks, 2, 2)).toEqual([]);
    // "e" was deleted between "d" (line 3) and "f" (line 4): either line means it.
    expect(hunksInSelection(hunks, 3, 3)).toEqual([hunks[1]]);
    expect(hunksInSelection(hunks, 4, 4)).toEqual([hunks[1]]);
    expect(hunksInSelection(hunks, 0, 4)).toEqual(hunks);
    // On the left it is a line of its own.
    expect(hunksInSelection(hunks, 3, 3, 'before')).toEqual([]);
    expect(hunksInSelection(hunks, 4, 4, 'before')).toEqual([hunks[1]]);
    expect(hunksInSelection(hunks, 5, 5, 'before')).toEqual([]);
  });
});

/** As an editor does it: all at once, what begins at the same place in the order given. */
const applied = (text: string, edits: readonly LineEdit[]): string => {
  const eol = /\r?\n/.exec(text)?.[0] ?? '';
  const starts = splitLines(text).reduce<number[]>(
    (known, line) => [...known, (known.at(-1) ?? 0) + line.length + eol.length],
    [0],
  );
  const offset = ([line, character]: [number, number]): number => (starts[line] ?? NaN) + character;
  let [result, done] = ['', 0];
  for (const { start, end, text: put } of edits) {
    expect(offset(start)).toBeGreaterThanOrEqual(done);
    result += text.slice(done, offset(start)) + put;
    done = offset(end);
  }
  return result + text.slice(done);
};

/** A hunk as VS Code's inline change view tells it. */
const changeOf = ({ before, now }: Hunk): LineChange => {
  const sides = ([start, end]: Span): [number, number] => (start === end ? [start, 0] : [start + 1, end]);
  const [[originalStartLineNumber, originalEndLineNumber], [modifiedStartLineNumber, modifiedEndLineNumber]] = [
    sides(before),
    sides(now),
  ];
  return { originalStartLineNumber, originalEndLineNumber, modifiedStartLineNumber, modifiedEndLineNumber };
};

describe('restoring lines', () => {
  it.each([
    ['a\n', 'a', [2, 2, 1, 0]],
    ['a', 'a\n', [1, 0, 2, 2]],
    ['a\nb\n', 'a', [2, 3, 1, 0]],
    ['a', 'a\nb', [1, 0, 2, 2]],
    ['a', 'a\nb\n', [1, 0, 2, 3]],
    ['a\nb', 'a\nc\n', [2, 2, 2, 3]],
    ['', 'a\n', [1, 1, 1, 2]],
    ['a\n', '', [1, 2, 1, 1]],
    ['a\nb\n', 'b\n', [1, 1, 0, 0]],
  ] as const)('gives %j back where now is %j', (then, now, [originalStart, originalEnd, start, end]) => {
    const hunk = hunkOf({
      originalStartLineNumber: originalStart,
      originalEndLineNumber: originalEnd,
      modifiedStartLineNumber: start,
      modifiedEndLineNumber: end,
    });
    expect(applied(now, [editOf(splitLines(then), splitLines(now), hunk, '\n')])).toBe(then);
  });

  it('change by change ends at the checkpoint’s text, in any order', () => {
    fc.assert(
      fc.property(
        lines,
        lines,
        eols,
        fc.array(fc.nat(), { minLength: 24, maxLength: 24 }),
        (then, now, eol, choices) => {
          let text = now.join(eol);
          for (const choice of choices) {
            const hunks = hunksOf(then, splitLines(text));
            const hunk = hunks[choice % hunks.length];
            if (hunk === undefined) break;
            text = applied(text, [editOf(then, splitLines(text), hunkOf(changeOf(hunk)), eol)]);
          }
          expect(text).toBe(then.join(eol));
        },
      ),
    );
  });

  it('with all lines selected gives the checkpoint’s text, on either side and with the file’s own line ends', () => {
    fc.assert(
      fc.property(lines, lines, eols, eols, fc.constantFrom('before', 'now'), (old, current, one, other, side) => {
        const [then, now] = [splitLines(old.join(one)), splitLines(current.join(other))];
        const document = { lineCount: (side === 'now' ? now : then).length };
        const end = { line: document.lineCount - 1, character: (side === 'now' ? now : then).at(-1)?.length ?? 0 };
        const selection = { start: { line: 0, character: 0 }, end } as vscode.Selection;
        const hunks = hunksInSelection(hunksOf(then, now), 0, lastLine(selection, document), side);
        const edits = hunks.map((hunk) => editOf(then, now, hunk, other));
        expect(applied(current.join(other), edits)).toBe(old.join(other));
      }),
    );
  });

  it('leaves the lines of all other changes as they are', () => {
    fc.assert(
      fc.property(lines, lines, eols, fc.infiniteStream(fc.boolean()), (then, now, eol, choices) => {
        const chosen = hunksOf(then, now).filter(() => choices.next().value);
        const expected = [...now];
        for (const {
          before,
          now: [from, to],
        } of [...chosen].reverse())
          expected.splice(from, to - from, ...then.slice(...before));
        const edits = chosen.map((hunk) => editOf(then, now, hunk, eol));
        expect(applied(now.join(eol), edits)).toBe(expected.join(eol));
      }),
    );
  });
});

describe('the selection', () => {
  const editor = (uri: string, viewColumn?: number) =>
    ({ document: { uri }, viewColumn }) as unknown as vscode.TextEditor;
  const diff = { original: 'then:a', modified: 'file:a' } as unknown as vscode.TabInputTextDiff;
  const [left, right, beside, other] = [editor('then:a'), editor('file:a'), editor('file:a', 1), editor('file:b', 1)];

  it.each([
    ['of the right side when it has the focus', right, [beside, left, right], { editor: right, side: 'now' }],
    ['of the left side when it has the focus', left, [beside, left, right], { editor: left, side: 'before' }],
    ['not of an editor beside the diff', undefined, [beside, left, right], { editor: right, side: 'now' }],
    ['not of another file', other, [other, left, right], { editor: right, side: 'now' }],
    ['of the file where the diff’s own editor is not told', undefined, [beside], { editor: beside, side: 'now' }],
    ['of none', other, [other], undefined],
  ])('is that %s', (_, active, visible, expected) => {
    expect(selectedSide(diff, active, visible)).toEqual(expected);
  });

  it.each([
    [1, 3, 3, 0, 6, 2],
    [1, 3, 3, 1, 6, 3],
    [3, 0, 3, 0, 6, 3],
    // Nothing comes behind the last, empty line: it is meant.
    [1, 0, 5, 0, 6, 5],
  ])(
    'from %d:%d to %d:%d of %d lines ends with line %d',
    (line, character, endLine, endCharacter, lineCount, expected) => {
      const selection = { start: { line, character }, end: { line: endLine, character: endCharacter } };
      expect(lastLine(selection as vscode.Selection, { lineCount })).toBe(expected);
    },
  );
});
