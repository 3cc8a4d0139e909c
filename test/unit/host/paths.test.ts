import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { filesBelow, pathTree, type PathFolder } from '../../../src/host/file-tree';
import { pathMatcher } from '../../../src/host/path-match';
import { relativePath } from '../../../src/host/relative-path';
import { matcherOf, parseQuery } from '../../../src/host/search-query';
import { record } from './record';

describe('pathTree', () => {
  const shape = (folder: PathFolder<string>): unknown => ({
    ...Object.fromEntries(folder.folders.map((child) => [child.label, shape(child)])),
    ...(folder.files.length === 0 ? {} : { '.': folder.files }),
  });

  it('joins folders with one child', () => {
    expect(shape(pathTree(['src/a/b/x.ts', 'src/a/b/y.ts', 'z.ts'], (path) => path))).toEqual({
      'src/a/b': { '.': ['src/a/b/x.ts', 'src/a/b/y.ts'] },
      '.': ['z.ts'],
    });
  });

  it('keeps every path once', () => {
    const part = fc.stringMatching(/^[a-c]{1,2}$/);
    const path = fc.array(part, { minLength: 1, maxLength: 4 }).map((parts) => parts.join('/'));
    fc.assert(
      fc.property(fc.uniqueArray(path), (paths) => {
        expect(filesBelow(pathTree(paths, (item) => item)).sort()).toEqual([...paths].sort());
      }),
    );
  });
});

describe('parseQuery', () => {
  const now = Date.parse('2026-03-10T12:00:00.000Z');

  it.each([
    ['', {}],
    ['fix login', { search: 'fix login' }],
    ['trigger:turn fix', { trigger: 'turn', search: 'fix' }],
    ['file:src/*.ts', { path: 'src/*.ts' }],
    ['file:"my file.ts" x', { path: 'my file.ts', search: 'x' }],
    ['since:2d', { since: '2026-03-08T12:00:00.000Z' }],
    ['until:2026-01-31', { until: new Date(new Date(2026, 1, 1).getTime() - 1).toISOString() }],
    ['before:2026-01-31', { until: new Date(new Date(2026, 0, 31).getTime() - 1).toISOString() }],
    ['after:2026-01-31', { since: new Date(2026, 0, 31).toISOString() }],
    ['session:ses_1', { session: 'ses_1' }],
    ['is:pinned is:na', { is: ['pinned', 'named'] }],
    ['"trigger: happy"', { search: 'trigger: happy' }],
    ['note:this', { search: 'note:this' }],
  ])('%s', (text, expected) => {
    expect(parseQuery(text, now)).toEqual({ ...expected, unknown: [] });
  });

  it('names filters it does not understand', () => {
    expect(parseQuery('trigger:nope since:whenever is:lost ok', now)).toEqual({
      search: 'ok',
      unknown: ['trigger:nope', 'since:whenever', 'is:lost'],
    });
  });
});

describe('matcherOf', () => {
  const login = { id: 'ses_1', messageId: null, messageCount: 0, title: 'Login with cookies', parent: null };
  const found = record('cp_1', { pinned: true, session: login });
  const bare = record('cp_2', { name: 'mine' });
  const fits = (text: string): boolean[] => {
    const matcher = matcherOf(parseQuery(text, 0));
    return [found, bare].map((checkpoint) => matcher?.(checkpoint) ?? true);
  };

  it.each([
    ['words only', [true, true]],
    ['is:pinned', [true, false]],
    ['is:named', [false, true]],
    ['is:pinned is:named', [false, false]],
    ['session:cookies', [true, false]],
    ['session:ses_1', [true, false]],
    ['session:none', [false, true]],
  ])('%s', (text, expected) => expect(fits(text)).toEqual(expected));
});

describe('pathMatcher', () => {
  it.each([
    ['receipt', 'src/checkout/receipt.ts', true],
    ['Checkout/re', 'src/checkout/receipt.ts', true],
    ['./src', 'src/a.ts', true],
    ['src\\checkout', 'src/checkout/pay.ts', true],
    ['pay', 'src/cart.ts', false],
    ['*.ts', 'src/checkout/pay.ts', true],
    ['*.ts', 'src/pay.tsx', false],
    ['src/*.ts', 'src/checkout/pay.ts', false],
    ['src/**/*.ts', 'src/checkout/pay.ts', true],
    ['src/**/*.ts', 'src/pay.ts', true],
    ['a+(b)*', 'a+(b)c', true],
  ])('%s and %s', (typed, path, expected) => {
    expect(pathMatcher(typed)(path)).toBe(expected);
  });
});

describe('relativePath', () => {
  it.each([
    ['/project/a.ts', 'a.ts'],
    ['/project/src/a.ts', 'src/a.ts'],
    ['/project/..foo', '..foo'],
    ['/project/..foo/a.ts', '..foo/a.ts'],
    ['/project/...', '...'],
    ['/project', undefined],
    ['/', undefined],
    ['/other/a.ts', undefined],
    ['/workshop/a.ts', undefined],
  ])('%s', (file, expected) => {
    expect(relativePath('/project', file)).toBe(expected);
  });
});
