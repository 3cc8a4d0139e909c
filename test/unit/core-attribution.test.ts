import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  attribute,
  hasAllPaths,
  midTurn,
  turnEnd,
  usersChanges,
  type AttributionOptions,
} from '../../src/core/attribution';
import type { Checkpoint } from '../../src/core/model';
import { Records, type RecordInput } from './records';

/** One line per checkpoint, oldest first: trigger, session, changed paths, and the paths its call names. */
type Line = [Checkpoint['trigger'], string | null, string[], (RecordInput & { names?: string[] })?];

function history(...lines: Line[]): Checkpoint[] {
  const records = new Records();
  let turn = 0;
  return lines.map(([trigger, session, paths, { names, ...more } = {}], i) => {
    if (trigger === 'turn') turn++;
    return records.next(trigger, {
      session: session ?? undefined,
      turn: session === null ? undefined : turn,
      files: { paths },
      cause: trigger === 'tool' ? { tool: names ? 'edit' : 'bash', callId: `call_${i}`, paths: names ?? [] } : null,
      ...more,
    });
  });
}

function who(lines: Line[], now: string[], path: string, options: AttributionOptions = {}): string {
  const made = attribute(history(...lines), new Set(now), [path], options).get(path);
  return [made?.by, made?.session, made?.turn, made?.callId].map((part) => part ?? '-').join(' ');
}

describe('turns that share a number', () => {
  it("are two turns after OpenCode's undo: what was changed between them is by hand", () => {
    const turn = (messageId: string): RecordInput => ({
      turn: { number: 2, messageId, prompt: '', model: null, agent: null, cost: null, tokens: null },
    });
    const lines: Line[] = [
      ['turn', 'a', [], turn('msg_a')],
      ['task', 'a', ['mine.ts'], turn('msg_b')],
    ];
    expect(who(lines, [], 'mine.ts', { running: new Set() })).toBe('user - - -');
    lines[1] = ['task', 'a', ['mine.ts'], turn('msg_a')];
    expect(who(lines, [], 'mine.ts', { running: new Set() })).toBe('agent a 2 -');
  });
});

describe('who changed a path last', () => {
  const turnOfA: Line[] = [
    ['turn', 'a', ['start.ts']],
    ['tool', 'a', [], { names: ['a.ts'] }],
    ['tool', 'a', ['a.ts']],
    ['idle', 'a', ['b.ts']],
  ];

  it.each<[string, Line[], string[], string, string]>([
    ['a named edit', turnOfA, [], 'a.ts', 'agent a 1 call_1'],
    ['a shell command', turnOfA, [], 'b.ts', 'agent a 1 call_2'],
    ['nobody: it was there when watching began', turnOfA, [], 'start.ts', 'unknown - - -'],
    ['nobody: it never changed', turnOfA, [], 'other.ts', 'unknown - - -'],
    ['the user, after the turn ended', turnOfA, ['a.ts'], 'a.ts', 'user - - -'],
    ['the user, between two turns', [...turnOfA, ['turn', 'a', ['a.ts']]], [], 'a.ts', 'user - - -'],
    [
      'the agent again, after the user',
      [...turnOfA, ['turn', 'a', ['a.ts']], ['idle', 'a', ['a.ts']]],
      [],
      'a.ts',
      'agent a 2 -',
    ],
    [
      'the agent, in the middle of its turn',
      [
        ['manual', null, []],
        ['turn', 'a', []],
      ],
      ['x'],
      'x',
      'agent a 1 -',
    ],
    [
      'the user, who made a checkpoint',
      [
        ['manual', null, []],
        ['manual', null, ['x']],
      ],
      [],
      'x',
      'user - - -',
    ],
    [
      'a folder the call named',
      [
        ['turn', 'a', []],
        ['tool', 'a', [], { names: ['src'] }],
        ['idle', 'a', ['src/x']],
      ],
      [],
      'src/x',
      'agent a 1 call_1',
    ],
    [
      'the turn, not the call that named something else',
      [
        ['turn', 'a', []],
        ['tool', 'a', [], { names: ['src'] }],
        ['idle', 'a', ['srcx']],
      ],
      [],
      'srcx',
      'agent a 1 -',
    ],
    [
      'the user: the turn before had nothing to say at its end',
      [
        ['turn', 'a', []],
        ['turn', 'a', ['x']],
      ],
      [],
      'x',
      'user - - -',
    ],
    [
      'the other session, still at work',
      [
        ['turn', 'a', []],
        ['turn', 'b', []],
        ['idle', 'a', []],
        ['manual', null, ['x']],
      ],
      [],
      'x',
      'agent b 2 -',
    ],
    [
      'one of two at once, by the call that named it',
      [
        ['turn', 'a', []],
        ['turn', 'b', []],
        ['tool', 'a', [], { names: ['x'] }],
        ['tool', 'b', [], { names: ['y'] }],
        ['idle', 'b', ['x', 'y']],
      ],
      [],
      'x',
      'agent a 2 call_2',
    ],
    [
      'one of two at once, not known which',
      [
        ['turn', 'a', []],
        ['turn', 'b', []],
        ['idle', 'b', ['z']],
      ],
      [],
      'z',
      'agent - - -',
    ],
  ])('%s', (_, lines, now, path, expected) => expect(who(lines, now, path)).toBe(expected));

  it('a fetched checkpoint says nothing about this workspace', () => {
    const origin = { machine: 'm', user: 'u' };
    expect(
      who(
        [
          ['turn', 'a', []],
          ['idle', 'z', ['x'], { origin }],
          ['idle', 'a', []],
        ],
        [],
        'x',
      ),
    ).toBe('unknown - - -');
  });

  describe('around a restore', () => {
    const touched = (paths: string[] | null): Line => ['restore', null, [], { restore: { touched: paths } }];

    it('what it touched is its own', () => {
      expect(who([touched(['x']), ['turn', 'a', ['x', 'y']]], [], 'x')).toBe('restore - - -');
      expect(who([touched(['x']), ['turn', 'a', ['x', 'y']]], [], 'y')).toBe('user - - -');
      expect(who([touched(null), ['turn', 'a', ['x', 'y']]], [], 'y')).toBe('restore - - -');
    });

    it('only right after it', () => {
      expect(who([touched(null), ['manual', null, []]], ['x'], 'x')).toBe('user - - -');
    });

    it('one that was rolled back changed nothing', () => {
      expect(who([['restore', null, []]], ['x'], 'x')).toBe('user - - -');
    });

    it('what changed after it was finished is not its own', () => {
      expect(who([touched(['x'])], ['x'], 'x')).toBe('restore - - -');
      expect(who([touched(['x'])], ['x'], 'x', { sinceBase: new Set(['x']) })).toBe('user - - -');
    });
  });

  describe('when it is known which sessions are at work', () => {
    const silent: Line[] = [['turn', 'a', []]];

    it('a turn that ended without a change does not own what the user does next', () => {
      expect(who(silent, ['x'], 'x')).toBe('agent a 1 -');
      expect(who(silent, ['x'], 'x', { running: new Set() })).toBe('user - - -');
      expect(who(silent, ['x'], 'x', { running: new Set(['a']) })).toBe('agent a 1 -');
    });

    it('nor does a session that died, in what came after', () => {
      const lines: Line[] = [...silent, ['turn', 'b', []], ['idle', 'b', []], ['manual', null, ['x']]];
      expect(who(lines, [], 'x')).toBe('agent a 1 -');
      expect(who(lines, [], 'x', { running: new Set() })).toBe('user - - -');
    });
  });

  it('asks for the paths that a record could not hold', () => {
    const [first, second] = history(['turn', 'a', []], ['idle', 'a', ['x']]) as [Checkpoint, Checkpoint];
    second.files.modified = 700;
    expect(hasAllPaths(first)).toBe(true);
    expect(hasAllPaths(second)).toBe(false);
    const asked: string[] = [];
    const changesOf: AttributionOptions['changesOf'] = (checkpoint) => {
      asked.push(checkpoint.id);
      return ['x', 'y'];
    };
    expect(attribute([first, second], new Set(), ['y'], { changesOf }).get('y')?.by).toBe('agent');
    expect(asked).toEqual([second.id]);
    expect(attribute([first, second], new Set(), ['x'], { changesOf: () => null }).get('x')?.by).toBe('agent');
  });

  it('is unsure of what changed while an agent worked on something else', () => {
    const unsure = (lines: Line[], now: string[] = [], options: AttributionOptions = {}): string[] => {
      const paths = new Set([...lines.flatMap(([, , changed]) => changed), ...now]);
      return [...usersChanges(history(...lines), new Set(now), paths, options).unsure];
    };
    const start: Line = ['manual', null, []];
    // Between two points of one turn calls may have been made that left no point of their own.
    const edit: Line = ['tool', 'a', [], { names: ['a.ts'] }];
    expect(unsure([start, edit, ['idle', 'a', ['a.ts', 'mine.ts']]])).toEqual([]);
    // Unless the point says itself that nobody had named what it found; a command may have done it, though.
    const found = { files: { paths: ['a.ts', 'mine.ts'], uncertain: ['mine.ts'] } };
    const end: Line = ['idle', 'a', ['a.ts', 'mine.ts'], found];
    expect(unsure([start, edit, end])).toEqual(['mine.ts']);
    expect(unsure([start, ['turn', 'a', []], end])).toEqual(['mine.ts']);
    expect(unsure([start, ['tool', 'a', []], end])).toEqual([]);
    // While it runs an edit of a.ts does not change mine.ts; a shell command may, and so may a turn whose calls are not noted.
    const running = { running: new Set(['a']) };
    expect(unsure([start, edit], ['a.ts', 'mine.ts'], running)).toEqual(['mine.ts']);
    expect(unsure([start, ['tool', 'a', []]], ['mine.ts'], running)).toEqual([]);
    expect(unsure([start, ['turn', 'a', []]], ['mine.ts'], running)).toEqual([]);
    // A point that equals the one before is not made; what its call named is known all the same.
    const called = { ...running, calls: [{ session: 'a', tool: 'write', callId: 'c', paths: ['a.ts'] }] };
    expect(unsure([start, ['turn', 'a', []]], ['a.ts', 'mine.ts'], called)).toEqual(['mine.ts']);
    expect(who([start, ['turn', 'a', []]], ['a.ts'], 'a.ts', called)).toBe('agent a 1 c');
    const shell = [...called.calls, { session: 'a', tool: 'bash', callId: 'd', paths: [] }];
    expect(unsure([start, ['turn', 'a', []]], ['mine.ts'], { ...running, calls: shell })).toEqual([]);
    expect(who([start, ['turn', 'a', []]], ['mine.ts'], 'mine.ts', { ...running, calls: shell })).toBe('agent a 1 d');
    // Of another session they say nothing.
    expect(unsure([start, ['turn', 'b', []]], ['mine.ts'], { ...called, running: new Set(['b']) })).toEqual([]);
    // Two at once: each has what it named; what neither named is told as such, unless one of them ran a command.
    const two: Line[] = [start, ['tool', 'a', [], { names: ['a.ts'] }], ['tool', 'b', ['a.ts'], { names: ['b.ts'] }]];
    const both = { running: new Set(['a', 'b']) };
    expect(who(two, ['b.ts'], 'b.ts', both)).toBe('agent b 0 call_2');
    expect(who(two, ['b.ts'], 'a.ts', both)).toBe('agent a 0 call_1');
    expect(unsure(two, ['b.ts', 'mine.ts'], both)).toEqual(['mine.ts']);
    expect(who(two, ['mine.ts'], 'mine.ts', both)).toBe('agent - - -');
    expect(unsure([...two, ['tool', 'a', []]], ['mine.ts'], both)).toEqual([]);
    // Nobody is at work: it is the user's, and that is sure.
    expect(unsure(two, ['mine.ts'], { running: new Set() })).toEqual([]);
  });

  const atRest: AttributionOptions = { running: new Set() };

  it.each(['agent', 'task', 'interval'] as const)(
    "what was there when the agent made a point itself (%s) is the agent's, what came after it the user's",
    (trigger) => {
      const lines: Line[] = [
        ['turn', 'a', []],
        [trigger, 'a', ['mine.ts']],
      ];
      expect(who(lines, ['later.ts'], 'mine.ts', atRest)).toBe('agent a 1 -');
      expect(who(lines, ['later.ts'], 'later.ts', atRest)).toBe('user - - -');
    },
  );

  it('a compaction counts to the turn only when it came in the middle of one', () => {
    const lines = (metadata: Record<string, unknown>): Line[] => [
      ['turn', 'a', []],
      ['compaction', 'a', ['x'], { metadata }],
    ];
    expect(who(lines(midTurn), [], 'x', atRest)).toBe('agent a 1 -');
    expect(who(lines({}), [], 'x', atRest)).toBe('user - - -');
  });

  it('does not take a point of a later turn for a sign of life of this one', () => {
    const points = history(['agent', 'a', [], { turn: 1 }], ['agent', 'a', ['x'], { turn: 2 }]);
    expect(attribute(points, new Set(), ['x']).get('x')?.by).toBe('user');
  });

  it("knows a turn's end by its last point, also when another's point is the newest by then", () => {
    const points = history(['turn', 'a', []], ['turn', 'b', ['by-a.ts']], ['manual', null, ['by-hand.ts']]);
    const [mine, others] = points;
    if (mine && others) mine.metadata = turnEnd(others.id);
    expect(attribute(points, new Set(), ['by-a.ts'], atRest).get('by-a.ts')).toMatchObject({
      by: 'agent',
      session: 'a',
    });
    expect(attribute(points, new Set(), ['by-hand.ts'], atRest).get('by-hand.ts')?.by).toBe('user');
  });

  it('the changes of the user are exactly what was attributed to them', () => {
    const { yours } = usersChanges(history(...turnOfA), new Set(['a.ts', 'new.ts']), ['a.ts', 'b.ts', 'new.ts']);
    expect(yours).toEqual(new Set(['a.ts', 'new.ts']));
  });
});

describe('a random afternoon', () => {
  /** Plays it as the plugin would record it, with an oracle that knows whose hand each edit was. */
  function play(steps: Array<{ kind: 'edit' | 'toggle' | 'manual'; path: string }>): {
    last: Map<string, 'agent' | 'user'>;
    yours: Set<string>;
  } {
    const records = new Records();
    const points = [records.next('manual')];
    const last = new Map<string, 'agent' | 'user'>();
    let dirty = new Set<string>();
    let turn = 0;
    let working = false;
    const capture = (trigger: Checkpoint['trigger']): void => {
      const input = trigger === 'manual' ? {} : { session: 'a', turn };
      points.push(records.next(trigger, { ...input, files: { paths: [...dirty] } }));
      dirty = new Set();
    };
    for (const { kind, path } of steps) {
      if (kind === 'manual') capture('manual');
      else if (kind === 'edit') {
        last.set(path, working ? 'agent' : 'user');
        dirty.add(path);
      } else if (working) {
        working = false;
        // An end of turn that changed nothing leaves no point.
        if (dirty.size > 0) capture('idle');
      } else {
        turn++;
        capture('turn');
        working = true;
      }
    }
    const { yours } = usersChanges(points, dirty, last.keys(), { running: new Set(working ? ['a'] : []) });
    return { last, yours };
  }

  const path = fc.constantFrom('p', 'q', 'r', 's', 't', 'u', 'v');
  const steps = (...kinds: Array<'edit' | 'toggle' | 'manual'>) =>
    fc.array(fc.record({ kind: fc.constantFrom(...kinds), path }), { maxLength: 40 });

  it('flags every last edit by hand and no other', () => {
    fc.assert(
      fc.property(steps('edit', 'toggle'), (afternoon) => {
        const { last, yours } = play(afternoon);
        for (const [name, hand] of last) expect([name, yours.has(name)]).toEqual([name, hand === 'user']);
      }),
      { numRuns: 1000 },
    );
  });

  it('flags every last edit by hand also when people make checkpoints in between', () => {
    fc.assert(
      fc.property(steps('edit', 'toggle', 'manual'), (afternoon) => {
        const { last, yours } = play(afternoon);
        for (const [name, hand] of last) if (hand === 'user') expect([name, yours.has(name)]).toEqual([name, true]);
      }),
      { numRuns: 1000 },
    );
  });
});
