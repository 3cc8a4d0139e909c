import { describe, expect, it } from 'vitest';
import names from '../../package.nls.json';
import type { TimelineRow } from '../../src/protocol/timeline';
import { keyIntent, keyName } from '../../webview/timeline/model/keys';
import { compareInOrder, menuFor, menuOf } from '../../webview/timeline/model/menu';
import { initialState, readPageState } from '../../webview/timeline/model/page-state';
import {
  maxScroll,
  pageStep,
  scrollToReveal,
  scrollToShow,
  visibleSlice,
  type Viewport,
} from '../../webview/timeline/model/virtual';

describe('virtual list', () => {
  const view = (scrollTop: number, fields: Partial<Viewport> = {}): Viewport => ({
    scrollTop,
    height: 100,
    rowHeight: 20,
    count: 1000,
    ...fields,
  });

  it.each<[string, Viewport, number, [number, number]]>([
    ['at the top', view(0), 2, [0, 7]],
    ['in the middle', view(400), 2, [18, 27]],
    ['between two rows', view(410), 0, [20, 26]],
    ['at the end', view(19_900), 2, [993, 1000]],
    ['bounced above the top', view(-50), 2, [0, 7]],
    ['scrolled beyond what is left of a shrunken list', view(19_900, { count: 3 }), 2, [3, 3]],
    ['empty', view(0, { count: 0 }), 2, [0, 0]],
    ['without a height yet', view(0, { height: 0 }), 3, [0, 3]],
  ])('draws what is in sight %s', (_, viewport, overscan, [start, end]) => {
    expect(visibleSlice(viewport, overscan)).toEqual({ start, end });
  });

  it('draws as few rows of ten thousand as of a hundred', () => {
    const size = (count: number): number => {
      const { start, end } = visibleSlice(view(500, { count }), 8);
      return end - start;
    };
    expect(size(10_000)).toBe(size(100));
  });

  it('scrolls as little as it must, clear of the sticky day', () => {
    expect(scrollToShow(view(400), 22, 20)).toBe(400);
    expect(scrollToShow(view(400), 20, 20)).toBe(380);
    expect(scrollToShow(view(400), 25, 20)).toBe(420);
    expect(scrollToShow(view(400), 0, 20)).toBe(0);
    expect(scrollToShow(view(400), 999, 20)).toBe(maxScroll(view(0)));
  });

  it('puts a far row where one sees around it', () => {
    const top = scrollToReveal(view(0), 500, 20);
    expect(top).toBeLessThan(500 * 20 - 20);
    expect(top).toBeGreaterThan(500 * 20 - 100);
    expect(scrollToReveal(view(0), 5, 20)).toBe(20);
    expect(scrollToReveal(view(0), 999, 20)).toBe(maxScroll(view(0)));
  });

  it('pages by what is in sight', () => {
    expect(pageStep(view(0))).toBe(3);
    expect(pageStep(view(0, { height: 10 }))).toBe(1);
  });
});

describe('keys', () => {
  const press = (key: string, held: Partial<Record<'ctrlKey' | 'metaKey' | 'shiftKey' | 'altKey', boolean>> = {}) =>
    keyIntent({ key, ctrlKey: false, metaKey: false, shiftKey: false, altKey: false, ...held });

  it.each([
    ['ArrowDown', { do: 'move', by: 1 }],
    ['PageUp', { do: 'page', by: -1 }],
    ['Home', { do: 'first' }],
    [' ', { do: 'mark' }],
    ['/', { do: 'filter' }],
    ['F2', { do: 'rename' }],
    ['a', { do: 'type', text: 'a' }],
    ['ß', { do: 'type', text: 'ß' }],
  ])('%j', (key, intent) => {
    expect(press(key)).toEqual(intent);
  });

  it('with others held', () => {
    expect(press('Enter', { ctrlKey: true })).toEqual({ do: 'compare' });
    expect(press('Enter', { metaKey: true })).toEqual({ do: 'compare' });
    expect(press('F10', { shiftKey: true })).toEqual({ do: 'menu' });
    expect(press('/', { shiftKey: true })).toEqual({ do: 'filter' });
    expect(press('c', { ctrlKey: true })).toEqual({ do: 'copy' });
    expect(press('A', { shiftKey: true })).toEqual({ do: 'type', text: 'A' });
    expect(press('Backspace', { metaKey: true })).toEqual({ do: 'delete' });
  });

  it('leaves the rest to VS Code', () => {
    expect(press('p', { ctrlKey: true })).toBeNull();
    expect(press('ArrowDown', { altKey: true })).toBeNull();
    expect(press('F1')).toBeNull();
    expect(press('Backspace')).toBeNull();
  });

  it('are named after the keyboard', () => {
    expect(keyName('Ctrl+Enter', true)).toBe('⌘Enter');
    expect(keyName('Ctrl+Enter', false)).toBe('Ctrl+Enter');
  });
});

describe('menu', () => {
  const row = (id: string, fields: Partial<TimelineRow> = {}): TimelineRow => ({
    id,
    v: '',
    t: Number(id),
    trigger: 'turn',
    title: `row ${id}`,
    facets: 'f',
    ...fields,
  });
  const labels = (of: TimelineRow, marks: TimelineRow[] = []): string[] =>
    menuFor(of, marks).flatMap((entry) => (entry.kind === 'item' ? [entry.label] : []));

  it('offers only what a checkpoint can do', () => {
    const bare = labels(row('1'));
    expect(bare).toContain('Restore Checkpoint…');
    expect(bare).not.toContain('Fork Session Here');
    expect(bare).not.toContain('Open Session');
    expect(bare).not.toContain('Revert This Turn');
    const full = labels(row('1', { session: 's', turn: 1, facets: 'fc', pinned: true }));
    expect(full).toEqual(expect.arrayContaining(['Fork Session Here', 'Open Session', 'Revert This Turn', 'Unpin']));
  });

  it('calls what the palette has, too, by its name there', () => {
    const full = labels(row('1', { session: 's', turn: 1, facets: 'fc' }), [row('2')]);
    const known = new Set(Object.values(names));
    const timelineOnly = ['Compare with “row 2”', 'Mark to Compare', 'Show in Checkpoints Tree'];
    expect(full.filter((label) => !known.has(label)).sort()).toEqual(timelineOnly);
  });

  it('compares nothing with what holds no files', () => {
    const bookmark = labels(row('1', { session: 's', turn: 1, trigger: 'import', facets: 'c' }), [row('2')]);
    expect(bookmark.filter((label) => /compare|changes|mark/i.test(label))).toEqual([]);
    expect(bookmark).toEqual(expect.arrayContaining(['Restore Checkpoint…', 'Fork Session Here', 'Rename…']));
  });

  it('of folded tool calls is about their turn', () => {
    const rows = [
      row('2', { trigger: 'tool', session: 's', turn: 1 }),
      row('1', { trigger: 'tool', session: 's', turn: 1 }),
    ];
    const place = { session: 's', column: 0, head: false, position: 0, size: 0 };
    const runs = (open: boolean) =>
      menuOf({ kind: 'fold', key: 'f', rows, open, ...place }, []).flatMap((entry) =>
        entry.kind === 'item' ? [[entry.label, entry.run]] : [],
      );
    expect(runs(false)).toEqual([
      ['Expand', { type: 'fold', key: 'f', open: true }],
      ['Revert This Turn', { type: 'revertTurn', id: '1' }],
      ['Show Changes of This Turn', { type: 'compareTurn', id: '1' }],
      ['Open Session', { type: 'openSession', session: 's' }],
    ]);
    expect(runs(true)[0]).toEqual(['Collapse', { type: 'fold', key: 'f', open: false }]);
  });

  it('of a fork without a checkpoint opens its session', () => {
    const place = { session: 's', column: 0, head: true, position: 0, size: 0 };
    const entries = menuOf({ kind: 'session', key: 'session:s', t: 0, ...place }, []);
    expect(entries).toEqual([expect.objectContaining({ run: { type: 'openSession', session: 's' } })]);
  });

  it('compares with the marked one, from the older to the newer', () => {
    expect(labels(row('1'), [row('2')])).toContain('Compare with “row 2”');
    expect(labels(row('1'), [row('1')])).toContain('Unmark');
    expect(compareInOrder(row('5'), row('3'))).toEqual({ type: 'compare', from: '3', to: '5' });
    expect(compareInOrder(row('3'), row('5'))).toEqual({ type: 'compare', from: '3', to: '5' });
  });
});

describe('remembered state', () => {
  it('comes back as it was', () => {
    const state = { ...initialState, filter: 'x', selected: 'cp_1', scroll: { key: 'cp_1', offset: -3 }, open: ['f'] };
    expect(readPageState(JSON.parse(JSON.stringify(state)))).toEqual(state);
  });

  it.each([
    [null],
    [undefined],
    ['text'],
    [{ version: 99, filter: 'x' }],
    [{ version: 1, filter: 5, marks: 'x', scroll: { key: 1 }, beside: 'wide' }],
  ])('is none when it is broken: %j', (value) => {
    expect(readPageState(value)).toEqual(initialState);
  });

  it('is not shared between pages', () => {
    readPageState(null).marks.push('x');
    expect(readPageState(null).marks).toEqual([]);
  });
});
