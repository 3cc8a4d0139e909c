import { describe, expect, it } from 'vitest';
import type { Checkpoint, Trigger } from '../../src/core/model';
import { turnEnds, turnStart, withoutPassing } from '../../src/core/turn-ends';
import { rowCounts } from '../../src/host/labels';
import { toRows } from '../../src/protocol/rows';
import { Records } from './records';

/** One line per checkpoint, oldest first: trigger, session, turn, what changed since the one before. */
type Line = [trigger: Trigger, session: string, turn: number | undefined, ...paths: string[]];

const made = (lines: Line[], change: (index: number) => Partial<Checkpoint> = () => ({})): Checkpoint[] => {
  const records = new Records();
  return lines.map(([trigger, session, turn, ...paths], index) =>
    records.next(trigger, {
      session,
      ...(turn === undefined ? {} : { turn }),
      files: { paths, modified: paths.length },
      ...change(index),
    }),
  );
};

/** Of the last one. */
const lastEnd = (points: Checkpoint[]) => turnEnds([...points].reverse()).get(points.at(-1)?.id ?? '');

describe('the end of a turn', () => {
  it('stands for what all of its calls changed', () => {
    const points = made([
      ['turn', 'a', 1, 'mine.ts'],
      ['tool', 'a', 1],
      ['tool', 'a', 1, 'cart.ts'],
      ['idle', 'a', 1, 'cart.test.ts', 'cart.ts'],
    ]);
    const end = lastEnd(points);
    expect(end).toMatchObject({ changed: 2, paths: ['cart.ts', 'cart.test.ts'], atOnce: false });
    expect(end?.first.id).toBe(points[0]?.id);
    expect(turnStart(points[3]!, points)?.id).toBe(points[0]?.id);
    expect(rowCounts(points[3]!, end)).toBe('2 files');
    expect(toRows(points, turnEnds(points)).map(({ turnFiles }) => turnFiles)).toEqual([
      2,
      undefined,
      undefined,
      undefined,
    ]);
  });

  describe('where another session was at work meanwhile', () => {
    /** What each tool point comes before; a command names nothing. */
    const both = (named: Record<number, string[]>): Checkpoint[] =>
      made(
        [
          ['turn', 'a', 1],
          ['turn', 'b', 1],
          ['tool', 'a', 1],
          ['tool', 'b', 1, 'a.ts'],
          ['tool', 'a', 1, 'b.ts'],
          ['tool', 'b', 1, 'both.ts'],
          ['idle', 'a', 1, 'both.ts', 'by-hand.ts'],
        ],
        (index) => {
          const paths = named[index];
          return paths === undefined ? {} : { cause: { tool: 'write', callId: `call_${index}`, paths } };
        },
      );
    const all = ['a.ts', 'b.ts', 'both.ts', 'by-hand.ts'];

    it('leaves out what only calls of the other one named', () => {
      const points = both({ 2: ['a.ts'], 3: ['b.ts'], 4: ['both.ts'], 5: ['both.ts'] });
      const end = lastEnd(points);
      expect(end).toMatchObject({ changed: 3, paths: ['a.ts', 'both.ts', 'by-hand.ts'], others: ['b.ts'] });
      expect(rowCounts(points[6]!, end)).toBe('3 files');
    });

    it('knows also the calls that have no point of their own', () => {
      const points = both({ 3: ['b.ts', 'both.ts'] });
      points[6]!.files.calls = [
        { tool: 'edit', callId: 'first', paths: ['both.ts'], session: 'a' },
        { tool: 'edit', callId: 'other', paths: ['by-hand.ts'], session: 'b' },
      ];
      expect(lastEnd(points)).toMatchObject({ changed: 2, paths: ['a.ts', 'both.ts'], others: ['b.ts', 'by-hand.ts'] });
    });

    it('leaves out nothing where a command of its own may have changed it, or no call is known', () => {
      expect(lastEnd(both({ 2: ['a.ts'], 3: ['b.ts'], 4: [], 5: ['both.ts'] }))).toMatchObject({
        paths: all,
        others: [],
      });
      expect(lastEnd(both({ 3: ['b.ts'] }))).toMatchObject({ paths: all, changed: 4, others: [] });
    });
  });

  it('does not count what was made and removed again, and knows it by the files of both ends', async () => {
    const points = made([
      ['turn', 'a', 1],
      ['tool', 'a', 1, 'cart.ts', 'scratch.ts', 'moved.ts'],
      ['tool', 'a', 1, 'cart.ts'],
      ['idle', 'a', 1, 'scratch.ts', 'moved.ts', 'old.ts'],
    ]);
    Object.assign(points[1]!.files, { added: 2, modified: 1 });
    Object.assign(points[3]!.files, { deleted: 2, modified: 1 });
    const ends = turnEnds([...points].reverse());
    const end = points[3]!;
    expect(ends.get(end.id)).toMatchObject({ changed: 4, passing: ['scratch.ts', 'moved.ts'] });
    const asked: string[] = [];
    const seen = await withoutPassing(ends, async (id, path) => {
      asked.push(path);
      return path === 'moved.ts' && id === end.id;
    });
    expect(seen.get(end.id)).toMatchObject({
      changed: 3,
      paths: ['cart.ts', 'moved.ts', 'old.ts'],
      passing: ['scratch.ts'],
    });
    // Only what may have come and gone is asked for.
    expect(new Set(asked)).toEqual(new Set(['scratch.ts', 'moved.ts']));
  });

  it('keeps its own counts where nothing came before the last call', () => {
    const points = made([
      ['turn', 'a', 1],
      ['tool', 'a', 1],
      ['idle', 'a', 1, 'cart.ts'],
    ]);
    const end = lastEnd(points);
    expect(end).toMatchObject({ changed: 1, atOnce: true });
    expect(rowCounts(points[2]!, end)).toBe('~1');
    expect(toRows(points, turnEnds(points))[0]).not.toHaveProperty('turnFiles');
  });

  it('has what a checkpoint by hand found in the middle of it', () => {
    const points = made([
      ['turn', 'a', 1],
      ['manual', 'a', undefined, 'cart.ts'],
      ['idle', 'a', 1, 'other.ts'],
    ]);
    expect(lastEnd(points)).toMatchObject({ paths: ['cart.ts', 'other.ts'], atOnce: false });
  });

  it('begins anew where a turn has the number of one that had ended', () => {
    const points = made([
      ['turn', 'a', 1],
      ['idle', 'a', 1, 'one.ts'],
      ['turn', 'a', 1],
      ['tool', 'a', 1],
      ['idle', 'a', 1, 'two.ts'],
    ]);
    expect(lastEnd(points)?.first.id).toBe(points[2]?.id);
  });

  it.each<[string, Line[], ((index: number) => Partial<Checkpoint>)?]>([
    [
      'no beginning any more',
      [
        ['tool', 'a', 1],
        ['idle', 'a', 1, 'cart.ts'],
      ],
    ],
    [
      'a beginning of another turn',
      [
        ['turn', 'a', 1],
        ['idle', 'a', 2, 'cart.ts'],
      ],
    ],
    [
      'a beginning of another session',
      [
        ['turn', 'a', 1],
        ['idle', 'b', 1, 'cart.ts'],
      ],
    ],
    [
      'a beginning that came from elsewhere',
      [
        ['turn', 'a', 1],
        ['idle', 'a', 1, 'cart.ts'],
      ],
      (index) => (index === 0 ? { origin: { machine: 'm', user: 'u' } } : {}),
    ],
    [
      'no turn',
      [
        ['turn', 'a', 1],
        ['idle', 'a', undefined, 'cart.ts'],
      ],
    ],
    [
      'not ended',
      [
        ['turn', 'a', 1],
        ['tool', 'a', 1, 'cart.ts'],
      ],
    ],
  ])('is not told of what has %s', (_what, lines, change) => {
    const points = made(lines, change);
    expect(lastEnd(points)).toBeUndefined();
    expect(turnStart(points.at(-1)!, points)).toBeUndefined();
  });
});
