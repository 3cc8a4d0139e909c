import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { compareDocuments, isPartOf, withDescendants } from '../../src/backup/compare';
import { absolute, destinationOf, suggestedFolders } from '../../src/backup/destination';
import { parseJsonc } from '../../src/backup/jsonc';
import { projectFolder } from '../../src/backup/layout';
import type { SessionRecord, VersionRecord } from '../../src/backup/manifest';
import { planRun, pruneVersions } from '../../src/backup/plan';
import { defaults, mergeConfig, type Config } from '../../src/core/config';
import type { ListedSession, SessionExport } from '../../src/core/sessions';

const listed = (id: string, stamp = 's'): ListedSession =>
  ({ session: { id, updatedAt: 1 }, stamp }) as unknown as ListedSession;
const record = (id: string, change: Partial<SessionRecord> = {}): SessionRecord =>
  ({ id, stamp: 's', settled: true, readAt: 100, generation: 'v1', deletedAt: null, ...change }) as SessionRecord;
const many = (count: number): SessionRecord[] => Array.from({ length: count }, (_, i) => record(`ses_${i}`));

describe('what a run does', () => {
  const plan = (
    known: SessionRecord[],
    list: ListedSession[],
    more: { touched?: Array<[string, number]>; deleted?: string[]; absent?: string[]; generation?: 'v1' | 'v2' } = {},
  ) => {
    const { read, gone, kept, unchanged } = planRun({
      known: new Map(known.map((one) => [one.id, one])),
      listed: list,
      generation: more.generation ?? 'v1',
      touched: new Map(more.touched),
      deleted: new Set(more.deleted),
      present: ({ id }) => !(more.absent ?? []).includes(id),
    });
    return {
      read: read.map(({ session }) => session.id),
      gone: gone.map(({ id }) => id),
      kept: kept.map(({ id }) => id),
      unchanged,
    };
  };
  const calm = { gone: [], kept: [] };

  it.each([
    ['what is new', [], {}, ['ses_0']],
    ['what the list says has changed', [record('ses_0', { stamp: 'old' })], {}, ['ses_0']],
    ['what was not at rest', [record('ses_0', { settled: false })], {}, ['ses_0']],
    ['what was deleted and is back', [record('ses_0', { deletedAt: 'x' })], {}, ['ses_0']],
    ['what is missing in the folder', [record('ses_0')], { absent: ['ses_0'] }, ['ses_0']],
    ['what an event named after it was read', [record('ses_0')], { touched: [['ses_0', 100]] }, ['ses_0']],
    ['not what an event named before', [record('ses_0')], { touched: [['ses_0', 99]] }, []],
    ['not what is as it was', [record('ses_0')], {}, []],
  ] as Array<[string, SessionRecord[], Parameters<typeof plan>[2], string[]]>)(
    'reads %s',
    (_what, known, more, read) => {
      expect(plan(known, [listed('ses_0')], more)).toEqual({ read, unchanged: 1 - read.length, ...calm });
    },
  );

  it.each([
    ['one of nine', 9, 8, ['ses_8'], []],
    ['a third of nine', 9, 6, ['ses_6', 'ses_7', 'ses_8'], []],
    ['more than a third', 9, 5, [], ['ses_5', 'ses_6', 'ses_7', 'ses_8']],
    ['one of two', 2, 1, [], ['ses_1']],
    ['all', 3, 0, [], ['ses_0', 'ses_1', 'ses_2']],
  ])('when %s are not listed', (_what, known, still, gone, kept) => {
    const list = Array.from({ length: still }, (_, i) => listed(`ses_${i}`));
    expect(plan(many(known), list)).toMatchObject({ gone, kept });
  });

  it('believes announcements, whatever the list looks like', () => {
    expect(plan(many(3), [], { deleted: ['ses_1'] })).toMatchObject({ gone: ['ses_1'], kept: ['ses_0', 'ses_2'] });
    expect(plan(many(1), [], { deleted: ['ses_0', 'ses_unknown'] })).toMatchObject({ gone: ['ses_0'], kept: [] });
  });

  it('leaves the other generation alone', () => {
    expect(plan(many(9), [listed('ses_x')], { generation: 'v2' })).toMatchObject({ gone: [], kept: [] });
  });
});

describe('which versions stay', () => {
  const version = (file: string, messages: number, machine = 'me'): VersionRecord =>
    ({ file, messages, machine }) as VersionRecord;
  const kept = (limit: number, current: VersionRecord, ...older: VersionRecord[]): string =>
    pruneVersions(current, older, limit)
      .kept.map(({ file }) => file)
      .join('');
  const me = (file: string, messages = 1): VersionRecord => version(file, messages);

  it.each([
    ['the last three', kept(3, me('x'), me('a'), me('b'), me('c'), me('d')), 'ab'],
    ['only the present one', kept(1, me('x'), me('a'), me('b')), ''],
    ['the longest of a conversation that shrank', kept(2, me('x', 1), me('a', 1), me('b', 9), me('c', 8)), 'ab'],
    ['not a longer one when the present is as long', kept(2, me('x', 9), me('a', 9), me('b', 9)), 'a'],
    [
      "another machine's newest besides one's own",
      kept(2, me('x'), me('a'), version('o', 1, 'other'), me('b'), version('p', 1, 'other'), version('q', 1, 'other')),
      'aop',
    ],
  ])('%s', (_what, found, expected) => expect(found).toBe(expected));
});

describe('how a saved session stands to the one on the server', () => {
  const document = (ids: string, updated = 1, text = ''): SessionExport => ({
    info: { id: 'ses_a', time: { updated } },
    messages: [...ids].map((id) => ({ info: { id }, text })),
  });
  it.each([
    ['abc', 'abc', 'same'],
    ['ab', 'abc', 'older'],
    ['', 'abc', 'older'],
    ['abc', 'ab', 'newer'],
    ['abx', 'aby', 'different'],
    ['abx', 'abyz', 'different'],
  ])('%j and %j', (saved, live, state) => expect(compareDocuments(document(saved), document(live))).toBe(state));

  it('goes by time when only the content of messages differs', () => {
    expect(compareDocuments(document('ab', 2, 'x'), document('ab', 1, 'y'))).toBe('newer');
    expect(compareDocuments(document('ab', 1, 'x'), document('ab', 2, 'y'))).toBe('older');
  });

  it('knows what a cut-off import leaves', () => {
    expect(isPartOf(document('ab'), document('abc'))).toBe(true);
    expect(isPartOf(document(''), document('abc'))).toBe(true);
    expect(isPartOf(document('abc'), document('abc'))).toBe(false);
    expect(isPartOf(document('abx'), document('abc'))).toBe(false);
  });

  it('takes sub-agents along, each after the one that started it', () => {
    const all = new Map(
      [
        { id: 'grandchild', parentId: 'child' },
        { id: 'child', parentId: 'parent' },
        { id: 'parent', parentId: null },
        { id: 'other', parentId: 'nobody' },
        { id: 'ring1', parentId: 'ring2' },
        { id: 'ring2', parentId: 'ring1' },
      ].map((one) => [one.id, one] as const),
    );
    const order = (...ids: string[]): string[] => withDescendants(all, ids).map(({ id }) => id);
    expect(order('parent')).toEqual(['parent', 'child', 'grandchild']);
    expect(order('grandchild')).toEqual(['grandchild']);
    expect(order('grandchild', 'other', 'parent')).toEqual(['parent', 'child', 'grandchild', 'other']);
    expect(order('ring1').sort()).toEqual(['ring1', 'ring2']);
  });
});

describe('where sessions go', () => {
  let home = '';
  beforeEach(() => (home = mkdtempSync(join(tmpdir(), 'checkpoints-where-'))));
  afterEach(() => rmSync(home, { recursive: true, force: true }));
  const put = (path: string, text: string): void => {
    mkdirSync(join(home, path, '..'), { recursive: true });
    writeFileSync(join(home, path), text);
  };
  const config = (path: string): Config => ({ ...defaults, 'backup.path': path });
  const where = (path = '', env: NodeJS.ProcessEnv = {}) => destinationOf(config(path), { HOME: home, ...env });

  it('is nowhere until somebody says so', () => {
    expect(where()).toEqual({ path: null, source: null, debug: false });
  });

  it('takes the environment, then the setting, then the block of an older plugin', () => {
    put(
      '.config/opencode/opencode.json',
      '{ // mine\n "session-backup": { "backupPath": "~/cloud", "debug": true, }, }',
    );
    expect(where()).toEqual({ path: join(home, 'cloud'), source: 'opencode.json', debug: true });
    expect(where('/set')).toMatchObject({ path: '/set', source: 'setting' });
    expect(where('/set', { OPENCODE_BACKUP_PATH: '/env/' })).toMatchObject({ path: '/env', source: 'environment' });
    const both = { OPENCODE_BACKUP_PATH: '/env', OPENCODE_CHECKPOINTS_BACKUP_PATH: '~/own' };
    expect(where('', both)).toMatchObject({ path: join(home, 'own'), source: 'environment' });
    expect(where('/set', { OPENCODE_BACKUP_DEBUG: 'true' })).toMatchObject({ debug: true });
    put('other/opencode.jsonc', '{"session-backup": {"backupPath": "/by-config-dir"}}');
    expect(where('', { OPENCODE_CONFIG_DIR: join(home, 'other') })).toMatchObject({ path: '/by-config-dir' });
    expect(where('', { XDG_CONFIG_HOME: join(home, 'nowhere') })).toMatchObject({ path: null });
  });

  it("is never taken from a project's file", () => {
    const { config: merged, problems } = mergeConfig([
      { source: 'project', values: { backup: { path: '/stolen' } }, project: true },
    ]);
    expect(destinationOf(merged, { HOME: home }).path).toBeNull();
    expect(problems[0]?.message).toContain("not taken from a project's file");
  });

  it.each(['relative/path', '/', './x', ''])('refuses %j', (path) => {
    expect(() => absolute(path, { HOME: home })).toThrow(/absolute path|whole drive/);
  });

  it('suggests the folders of cloud clients that are there', () => {
    expect(suggestedFolders({ HOME: home }, 'linux')).toEqual([]);
    mkdirSync(join(home, 'Dropbox'));
    mkdirSync(join(home, 'Library/CloudStorage/GoogleDrive-me@example.org/My Drive'), { recursive: true });
    mkdirSync(join(home, 'Library/CloudStorage/OneDrive-Work'));
    expect(suggestedFolders({ HOME: home }, 'linux')).toEqual([join(home, 'Dropbox/opencode-sessions')]);
    expect(suggestedFolders({ HOME: home }, 'darwin')).toEqual([
      join(home, 'Library/CloudStorage/GoogleDrive-me@example.org/My Drive/opencode-sessions'),
      join(home, 'Library/CloudStorage/OneDrive-Work/opencode-sessions'),
      join(home, 'Dropbox/opencode-sessions'),
    ]);
  });
});

describe('small things', () => {
  it.each([
    [
      '{"a": 1, // one\n "b": "// no /* comment */", /* two */ "c": [1, 2,],}',
      { a: 1, b: '// no /* comment */', c: [1, 2] },
    ],
    ['\uFEFF{"a": "x,]"}', { a: 'x,]' }],
    ['{"a": "\\"// x"}', { a: '"// x' }],
    ['{', null],
    ['', null],
  ])('reads JSON with comments: %j', (text, value) => expect(parseJsonc(text)).toEqual(value));

  it.each([
    [null, 'global'],
    ['global', 'global'],
    ['563078eb0623f642021c60b85f6b22759ad7ed72', '563078eb0623f642021c60b85f6b22759ad7ed72'],
    ['../../etc', 'p-2e2e2f2e2e2f657463'],
    ['..', 'p-2e2e'],
    ['a/b', 'p-612f62'],
  ])('a project is one folder: %j', (id, folder) => expect(projectFolder(id)).toBe(folder));
});
