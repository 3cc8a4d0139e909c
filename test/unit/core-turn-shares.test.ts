import { describe, expect, it } from 'vitest';
import type { Call, Checkpoint } from '../../src/core/model';
import { sharedSpans, type Whose } from '../../src/core/turn-shares';
import { Records } from './records';

/** One line per checkpoint, oldest first: trigger, session, what its call names, and the calls behind its changes. */
type Line = [Checkpoint['trigger'], string, string[]?, Call[]?];

const named = (session: string, ...paths: string[]): Call => ({ session, tool: 'edit', callId: null, paths });
const command = (session: string): Call => ({ session, tool: 'bash', callId: null, paths: [] });

/** Whose a change of `f` is in each span from the first checkpoint to the last one. */
function whose(session: string, lines: Line[]): Whose[] | null {
  const records = new Records();
  const points = lines.map(([trigger, of, paths = [], calls], i) =>
    records.next(trigger, {
      session: of,
      turn: 1,
      files: { tree: `tree ${i}`, ...(calls ? { calls } : {}) },
      cause: trigger === 'tool' ? { tool: paths.length > 0 ? 'edit' : 'bash', callId: null, paths } : null,
    }),
  );
  const ends = { from: points[0]?.id ?? '', until: points.at(-1)?.id ?? '' };
  return sharedSpans(points, session, ends, { tree: 'now', calls: [] })?.map((span) => span.whose('f')) ?? null;
}

describe('whose a change is, of two sessions at work', () => {
  it.each<[string, Line[], Whose[] | null]>([
    [
      'nothing to tell apart with one',
      [
        ['turn', 'a'],
        ['tool', 'a', ['f']],
        ['idle', 'a'],
      ],
      null,
    ],
    [
      'that of the one whose call named it last',
      [
        ['turn', 'a'],
        ['turn', 'b'],
        ['tool', 'a', ['f']],
        ['tool', 'b', ['f']],
        ['idle', 'a'],
        ['idle', 'b'],
      ],
      ['own', 'own', 'own', 'other', 'other'],
    ],
    [
      'also by a call that left no point',
      [
        ['turn', 'a'],
        ['turn', 'b'],
        ['idle', 'a', [], [named('b', 'f')]],
        ['idle', 'b'],
      ],
      ['own', 'other', 'own'],
    ],
    [
      'that of the one that ran a command, if nobody named it',
      [
        ['turn', 'a'],
        ['turn', 'b'],
        ['tool', 'b'],
        ['tool', 'a', ['g']],
        ['idle', 'a'],
        ['idle', 'b'],
      ],
      ['own', 'own', 'other', 'other', 'other'],
    ],
    [
      'unsure if both did',
      [
        ['turn', 'a'],
        ['turn', 'b'],
        ['tool', 'b'],
        ['tool', 'a'],
        ['idle', 'b'],
        ['idle', 'a'],
      ],
      ['own', 'own', 'other', 'unsure', 'own'],
    ],
    [
      'not that of a command whose turn died',
      [
        ['turn', 'b'],
        ['tool', 'b'],
        ['turn', 'a'],
        ['tool', 'a'],
        ['idle', 'a', [], [command('b'), command('a')]],
      ],
      ['own', 'other', 'own', 'own'],
    ],
  ])('%s', (_, lines, expected) => expect(whose('a', lines)).toEqual(expected));
});
