import { describe, expect, it } from 'vitest';
import type { TimelineRow, TimelineSession } from '../../src/protocol/timeline';
import { parseMoment, parseUntil } from '../../src/protocol/moments';
import { dayOf, TimeFormat } from '../../webview/timeline/model/dates';
import { findKey, hostQueries, matches, parseFilter, tokenize } from '../../webview/timeline/model/filter';
import { suggest } from '../../webview/timeline/model/suggest';

const now = new Date(2025, 10, 14, 16, 42).getTime();
const local = (...parts: [number, number, number, number?, number?]): number => new Date(...parts).getTime();

describe('times', () => {
  it.each([
    ['2025-11-02', local(2025, 10, 2)],
    ['2025-11-02T09:30', local(2025, 10, 2, 9, 30)],
    ['09:05', local(2025, 10, 14, 9, 5)],
    ['today', local(2025, 10, 14)],
    ['Yesterday', local(2025, 10, 13)],
    ['45m', now - 45 * 60_000],
    ['2h', now - 2 * 3_600_000],
    ['3d', now - 3 * 86_400_000],
    ['1w', now - 7 * 86_400_000],
  ])('understand %s', (text, expected) => {
    expect(parseMoment(text, now)).toBe(expected);
  });

  it.each(['', 'soon', '25:00', '12:60', '2025-13-01', '2025-02-30', '2025-1-1', '2y', '-1h'])(
    'refuse “%s”',
    (text) => {
      expect(parseMoment(text, now)).toBeNull();
    },
  );

  it.each([
    ['2025-11-02', local(2025, 10, 3) - 1],
    ['yesterday', local(2025, 10, 14) - 1],
    ['09:05', local(2025, 10, 14, 9, 6) - 1],
    ['2h', now - 7_200_000],
    ['soon', null],
  ])('until “%s” means to its end', (text, expected) => {
    expect(parseUntil(text, now)).toBe(expected);
    const [term] = parseFilter(`until:${text}`, now).terms;
    expect(term).toEqual(expected === null ? undefined : { not: false, kind: 'before', t: expected + 1 });
  });

  it('are said as people say them', () => {
    const format = new TimeFormat('en-GB');
    expect(format.day(now, now)).toBe('Today');
    expect(format.day(local(2025, 10, 13, 0, 1), now)).toBe('Yesterday');
    expect(format.day(local(2025, 10, 9), now)).toMatch(/^Sunday,? 9 November$/);
    expect(format.day(local(2024, 10, 9), now)).toBe('9 November 2024');
    expect(format.ago(now - 5000, now)).toBe('now');
    // As in the tree beside it: whole units that have passed.
    expect(format.ago(now - 59_000, now)).toBe('now');
    expect(format.ago(now + 120_000, now)).toBe('now');
    expect(format.ago(now - 60_000, now)).toBe('1 minute ago');
    expect(format.ago(now - 119_000, now)).toBe('1 minute ago');
    expect(format.ago(now - 25 * 3_600_000, now)).toBe('1 day ago');
    expect(format.ago(now - 92 * 86_400_000, now)).toBe('3 months ago');
    expect(dayOf(local(2025, 0, 5, 23, 59))).toBe('2025-01-05');
  });
});

const sessions = new Map<string, TimelineSession>([
  ['ses_1', { id: 'ses_1', title: 'Fix the Login Flow', parent: null, forkedFrom: null }],
]);
const row = (fields: Partial<TimelineRow> = {}): TimelineRow => ({
  id: 'cp_01k9abcdefghjkmnpqrstvwxyz',
  v: '',
  t: now,
  trigger: 'tool',
  title: 'edit src/Auth.ts',
  facets: 'f',
  ...fields,
});
const hit = (query: string, fields: Partial<TimelineRow> = {}, found: Record<string, string[]> = {}): boolean =>
  matches(parseFilter(query, now), row(fields), {
    sessions,
    found: new Map(Object.entries(found).map(([key, ids]) => [key, new Set(ids)])),
  });

describe('filter', () => {
  it('splits at spaces outside of quotes', () => {
    expect(tokenize('a "b c" session:"d e" "open').map(({ text }) => text)).toEqual([
      'a',
      '"b c"',
      'session:"d e"',
      '"open',
    ]);
  });

  it.each<[string, Partial<TimelineRow>, boolean]>([
    ['', {}, true],
    ['auth', {}, true],
    ['EDIT auth', {}, true],
    ['edit nothing', {}, false],
    ['"edit src"', {}, true],
    ['"src edit"', {}, false],
    ['-auth', {}, false],
    ['-other', {}, true],
    ['cp_01k9', {}, true],
    ['trigger:tool', {}, true],
    ['trigger:turn,tool', {}, true],
    ['trigger:turn', {}, false],
    ['TRIGGER:to', {}, true],
    ['-trigger:tool', {}, false],
    ['session:login', { session: 'ses_1' }, true],
    ['session:"login flow"', { session: 'ses_1' }, true],
    ['session:ses_1', { session: 'ses_1' }, true],
    ['session:ses', { session: 'ses_1' }, false],
    ['session:login', {}, false],
    ['login', { session: 'ses_1' }, true],
    ['session:none', {}, true],
    ['session:none', { session: 'ses_1' }, false],
    ['before:2h', {}, false],
    ['before:2h', { t: now - 3 * 3_600_000 }, true],
    ['after:today before:tomorrow', {}, true],
    ['after:today', { t: now - 86_400_000 }, false],
    ['is:pinned', { pinned: true }, true],
    ['is:pinned', {}, false],
    ['is:named -is:fetched', { named: true }, true],
    ['is:fetched', { origin: 'maria@thinkpad' }, true],
    ['maria', { origin: 'maria@thinkpad' }, true],
    ['http://x', {}, false],
    ['session:', {}, true],
    ['-', { title: 'a - b' }, true],
  ])('“%s” on %j is %s', (query, fields, expected) => {
    expect(hit(query, fields)).toBe(expected);
  });

  it('uses what the host found', () => {
    const { id } = row();
    expect(hit('file:auth.ts')).toBe(false);
    expect(hit('file:Auth.ts', {}, { 'file:auth.ts': [id] })).toBe(true);
    expect(hit('-file:auth.ts', {}, { 'file:auth.ts': [id] })).toBe(false);
    expect(hit('prompt', {}, { 'text:prompt': [id] })).toBe(true);
  });

  it('asks the host for words and files, not for single letters', () => {
    const queries = hostQueries(parseFilter('Refresh a file:src trigger:tool', now));
    expect(queries).toEqual([{ text: 'refresh' }, { file: 'src' }]);
    expect(queries.map(findKey)).toEqual(['text:refresh', 'file:src']);
  });

  it('says what it does not understand and applies the rest', () => {
    const filter = parseFilter('trigger:magic before:soon is:green auth', now);
    expect(filter.problems).toHaveLength(3);
    expect(filter.terms).toEqual([{ not: false, kind: 'text', text: 'auth' }]);
  });
});

describe('suggestions', () => {
  const offer = (query: string, caret = query.length) => suggest(query, caret, { sessions: sessions.values() });
  const labels = (query: string, caret?: number): string[] => offer(query, caret).map(({ label }) => label);

  it('are keys first, then their values', () => {
    expect(labels('')).toEqual(['trigger:', 'session:', 'file:', 'before:', 'after:', 'is:']);
    expect(labels('t')).toEqual(['trigger:']);
    expect(labels('login tr')).toEqual(['trigger:']);
    expect(labels('trigger:t')).toEqual(['task', 'turn', 'tool']);
    expect(labels('is:p')).toEqual(['pinned', 'partial']);
    expect(labels('session:log')).toEqual(['Fix the Login Flow']);
    expect(labels('after:y')).toEqual(['yesterday']);
    expect(labels('file:x')).toEqual([]);
    expect(labels('nothing')).toEqual([]);
    expect(labels('http:')).toEqual([]);
  });

  it('complete the word at the caret and leave the rest', () => {
    expect(offer('-tr login', 3)[0]).toMatchObject({ value: '-trigger: login', caret: 9 });
    expect(offer('trigger:to login', 10)[0]).toMatchObject({ value: 'trigger:tool login', caret: 13 });
    expect(offer('a session:fix b', 13)[0]).toMatchObject({ value: 'a session:"Fix the Login Flow" b' });
  });
});
