import { describe, expect, it } from 'vitest';
import type { Trigger } from '../../src/core/model';
import type { TimelineRow, TimelineSession } from '../../src/protocol/timeline';
import { toRow, toSessions } from '../../src/protocol/rows';
import { dayOf } from '../../webview/timeline/model/dates';
import { layout, sessionTones, sharing, statusChanges, type Layout } from '../../webview/timeline/model/layout';
import { many } from '../e2e/timeline/fixtures';

let serial = 0;

/** Rows are given newest first, as the page has them. */
function rows(
  ...specs: Array<[session: string | null, trigger: Trigger, fields?: Partial<TimelineRow>]>
): TimelineRow[] {
  return specs.map(([session, trigger, fields], index) => ({
    id: `cp_${String(specs.length - index).padStart(3, '0')}`,
    v: String(serial++),
    t: Date.UTC(2025, 0, 10, 12) - index * 60_000,
    trigger,
    title: `${trigger} ${index}`,
    facets: 'f',
    ...(session === null ? {} : { session }),
    ...fields,
  }));
}

const session = (id: string, fields: Partial<TimelineSession> = {}): TimelineSession => ({
  id,
  title: id,
  parent: null,
  forkedFrom: null,
  ...fields,
});

function lay(
  list: TimelineRow[],
  sessions: TimelineSession[] = [],
  open: ReadonlySet<string> | null = new Set(),
): Layout {
  return layout({
    rows: list,
    sessions: new Map(sessions.map((entry) => [entry.id, entry])),
    statusChanges: statusChanges(list),
    open,
    dayOf: () => 'one day',
  });
}

/** A picture in letters: one line per item, the columns of the lanes that pass, the point in capitals. */
function picture({ items, lines, columns }: Layout): string[] {
  return items.map((item, index) => {
    const cells = Array.from({ length: columns }, () => '.');
    for (const line of lines) {
      if (line.top <= index && index <= line.bottom) cells[line.column] = '|';
      if (line.fork !== null && index > line.bottom && index < line.fork) cells[line.column] = '|';
      if (line.fork === index) cells[line.column] = '/';
    }
    if (item.kind !== 'day') cells[item.column] = item.kind === 'fold' ? '+' : 'O';
    return cells.join('');
  });
}

describe('lanes', () => {
  it('reuse a column once a session has ended', () => {
    const drawn = lay(rows(['b', 'turn'], ['b', 'turn'], ['a', 'turn'], ['a', 'turn']));
    expect(picture(drawn)).toEqual(['.', 'O', 'O', 'O', 'O']);
  });

  it('run side by side while sessions overlap', () => {
    const drawn = lay(rows(['a', 'turn'], ['b', 'turn'], ['a', 'turn'], ['b', 'turn']));
    expect(picture(drawn)).toEqual(['..', '.O', 'O|', '|O', 'O.']);
  });

  it('give checkpoints of no session the leftmost column', () => {
    const drawn = lay(rows(['a', 'turn'], [null, 'manual'], ['a', 'turn'], [null, 'restore']));
    expect(picture(drawn)).toEqual(['..', '.O', 'O|', '|O', 'O.']);
  });

  it('branch off at the checkpoint a session was forked at, right of its parent', () => {
    const list = rows(['fork', 'turn'], ['main', 'turn'], ['fork', 'turn'], ['main', 'idle'], ['main', 'turn']);
    const drawn = lay(list, [session('main'), session('fork', { parent: 'main', forkedFrom: list[4]?.id ?? '' })]);
    expect(picture(drawn)).toEqual(['..', '.O', 'O|', '|O', 'O|', 'O/']);
    const line = drawn.lines.find((entry) => entry.session === 'fork');
    expect(line).toMatchObject({ column: 1, parentColumn: 0, fork: 5, orphan: false });
  });

  it('branch off at the parent’s next older point when only the parent is known', () => {
    const drawn = lay(rows(['fork', 'turn'], ['fork', 'turn'], ['main', 'idle'], ['main', 'turn']), [
      session('main'),
      session('fork', { parent: 'main' }),
    ]);
    expect(picture(drawn)).toEqual(['..', '.O', '.O', 'O/', 'O.']);
  });

  it('do not pretend a later branching when the fork point is filtered away', () => {
    const all = rows(['fork', 'turn'], ['main', 'turn'], ['main', 'tool'], ['main', 'turn'], ['main', 'turn']);
    const known = [session('main'), session('fork', { parent: 'main', forkedFrom: all[3]?.id ?? '' })];
    const shown = all.filter((_, index) => index !== 3);
    const drawn = lay(shown, known, null);
    expect(drawn.lines.find((line) => line.session === 'fork')?.fork).toBe(drawn.where.get(all[4]?.id ?? ''));
    const orphan = lay(all.slice(0, 2), known, null);
    expect(orphan.lines.find((line) => line.session === 'fork')).toMatchObject({ fork: null, orphan: true });
  });

  it('branch off at the fold that hides the fork point', () => {
    const list = rows(['fork', 'turn'], ['main', 'tool', { turn: 1 }], ['main', 'tool', { turn: 1 }], ['main', 'turn']);
    const drawn = lay(list, [session('main'), session('fork', { parent: 'main', forkedFrom: list[2]?.id ?? '' })]);
    expect(picture(drawn)).toEqual(['..', '.O', '+/', 'O.']);
  });

  it('begin with a fork that has no checkpoint yet, at its time, off the point it was forked at', () => {
    const list = rows(['main', 'turn'], ['main', 'idle'], ['main', 'turn']);
    const begun = (list[1]?.t ?? 0) + 1000;
    const known = [session('main'), session('fork', { parent: 'main', forkedFrom: list[2]?.id ?? '', begun })];
    const drawn = lay(list, known);
    expect(drawn.items.map(({ kind }) => kind)).toEqual(['day', 'point', 'session', 'point', 'point']);
    expect(picture(drawn)).toEqual(['..', 'O.', '|O', 'O|', 'O/']);
    expect(drawn.items[2]).toMatchObject({ key: 'session:fork', head: true, position: 2, size: 4 });
    expect(drawn.where.get('session:fork')).toBe(2);
    // A fork of that fork, and one that is older than all there is.
    const more = lay(list, [
      ...known,
      session('two', { parent: 'fork', begun: begun + 9e6 }),
      session('old', { begun: 1 }),
    ]);
    expect(picture(more)).toEqual(['...', '..O', 'O.|', '|O/', 'O|.', 'O/.', 'O..']);
    // A filter asks for checkpoints.
    expect(lay(list, known, null).items.map(({ kind }) => kind)).toEqual(['day', 'point', 'point', 'point']);
    expect([...sessionTones(list, 5, new Map(known.map((one) => [one.id, one])))]).toEqual([
      ['main', 0],
      ['fork', 1],
    ]);
  });

  it('do not hang on sessions that name each other as parents', () => {
    const list = rows(['a', 'turn'], ['b', 'turn'], ['a', 'turn'], ['b', 'turn']);
    const drawn = lay(list, [session('a', { parent: 'b' }), session('b', { parent: 'a' })]);
    expect(drawn.columns).toBeGreaterThan(0);
  });

  it('never put two lanes on one place, whatever the sessions do', () => {
    const checkpoints = many(600).map((checkpoint, index) => ({
      ...checkpoint,
      session: checkpoint.session && {
        ...checkpoint.session,
        id: `s${(index * 7) % 13}`,
        parent: index % 3 ? null : 's1',
      },
    }));
    const list = checkpoints.map(toRow).reverse();
    const drawn = lay(list, toSessions(checkpoints), null);
    for (let index = 0; index < drawn.items.length; index++) {
      const here = drawn.lines.filter((line) => line.top <= index && index <= (line.fork ?? line.bottom));
      expect(new Set(here.map((line) => line.column)).size).toBe(here.length);
    }
  });
});

describe('folds', () => {
  const list = rows(
    ['a', 'idle', { turn: 2 }],
    ['a', 'tool', { turn: 2 }],
    ['b', 'turn', { turn: 1 }],
    ['a', 'tool', { turn: 2 }],
    ['a', 'tool', { turn: 2, pinned: true }],
    ['a', 'turn', { turn: 2 }],
    ['a', 'tool', { turn: 1 }],
  );
  const kinds = ({ items }: Layout): string[] =>
    items.map((item) => (item.kind === 'point' ? `${item.row.trigger}${item.level}` : item.kind));

  it('take the tool points of a turn, but not marked ones, nor a single one', () => {
    expect(kinds(lay(list))).toEqual(['day', 'idle1', 'fold', 'turn1', 'tool1', 'turn1', 'tool1']);
  });

  it('show their points where they belong when open', () => {
    const drawn = lay(list, [], new Set(['fold:a:2']));
    expect(kinds(drawn)).toEqual(['day', 'idle1', 'fold', 'tool2', 'turn1', 'tool2', 'tool1', 'turn1', 'tool1']);
  });

  it('do not exist under a filter', () => {
    expect(kinds(lay(list, [], null)).includes('fold')).toBe(false);
  });

  it('answer for the points they hide', () => {
    const drawn = lay(list);
    const hidden = list[3]?.id ?? '';
    expect(drawn.items[drawn.where.get(hidden) ?? -1]?.kind).toBe('fold');
  });

  it('number their points apart from the others, for screen readers', () => {
    const drawn = lay(list, [], new Set(['fold:a:2']));
    const places = drawn.items.flatMap((item) => (item.kind === 'day' ? [] : [`${item.position}/${item.size}`]));
    expect(places).toEqual(['1/6', '2/6', '1/2', '3/6', '2/2', '4/6', '5/6', '6/6']);
  });
});

describe('days', () => {
  it('separate and count', () => {
    const list = rows(['a', 'turn'], ['a', 'turn'], ['a', 'turn']);
    const [first, , last] = list;
    if (first && last) last.t = first.t - 3 * 86_400_000;
    const drawn = layout({
      rows: list,
      sessions: new Map(),
      statusChanges: new Map(),
      open: new Set(),
      dayOf,
    });
    expect(drawn.items.map((item) => (item.kind === 'day' ? item.count : item.kind))).toEqual([
      2,
      'point',
      'point',
      1,
      'point',
    ]);
  });

  it('name the session at its newest point only', () => {
    const drawn = lay(rows(['a', 'turn'], ['b', 'turn'], ['a', 'turn']));
    expect(drawn.items.flatMap((item) => (item.kind === 'day' ? [] : [item.head]))).toEqual([true, true, false]);
  });
});

describe('task status', () => {
  it('is marked where it changes; fetched checkpoints have one of their own', () => {
    const list = rows(
      ['a', 'turn', { status: 'done' }],
      ['b', 'turn', { status: 'blocked', origin: 'u@m' }],
      ['a', 'turn', {}],
      ['b', 'turn', { status: 'in_progress' }],
      ['a', 'turn', { status: 'in_progress' }],
    );
    expect(Object.fromEntries(statusChanges(list))).toEqual({
      cp_005: { from: 'in_progress', to: 'done' },
      cp_004: { from: null, to: 'blocked' },
      cp_001: { from: null, to: 'in_progress' },
    });
  });
});

describe('tones', () => {
  it('stay with a session when newer ones come', () => {
    const list = rows(['c', 'turn'], ['b', 'turn'], ['a', 'turn'], ['b', 'turn']);
    expect([...sessionTones(list, 2)]).toEqual([
      ['b', 0],
      ['a', 1],
      ['c', 0],
    ]);
    expect([...sessionTones(list.slice(1), 2)]).toEqual([
      ['b', 0],
      ['a', 1],
    ]);
  });
});

describe('a lane of several sessions', () => {
  const three = () =>
    lay([
      ...rows(
        ['a', 'turn'],
        ['b', 'turn'],
        ['c', 'turn'],
        ['c', 'idle'],
        ['b', 'idle'],
        ['a', 'idle'],
        ['c', 'manual'],
      ),
    ]);
  const said = (shown: Layout, drawn: number): string[] =>
    shown.items.flatMap((item) =>
      item.kind === 'point' && sharing(shown, drawn).has(item.key) ? [item.row.title] : [],
    );

  it('has each of its points say whose it is, where that is not the session above', () => {
    const shown = three();
    expect(shown.columns).toBe(3);
    expect(said(shown, 2)).toEqual(['turn 0', 'turn 1', 'idle 5']);
    expect(said(shown, 1)).toEqual(['turn 0', 'turn 1', 'turn 2', 'idle 4', 'idle 5', 'manual 6']);
  });

  it('is none while there is room for all', () => {
    expect(said(three(), 3)).toEqual([]);
    expect(said(three(), 10)).toEqual([]);
  });
});
