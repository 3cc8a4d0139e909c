import { describe, expect, it } from 'vitest';
import type { Checkpoint } from '../../src/core/model';
import { linkLeavesRoot, unsafePath } from '../../src/git/trust';
import { cleanRecord } from '../../src/git/untrusted-record';
import { originName, parseRefLines, parseWireRef } from '../../src/sync/wire';
import { withoutPassword } from '../../src/sync/transport';
import { Records } from './records';

const origin = { machine: 'box', user: 'anna' };

describe('a record that somebody else wrote', () => {
  const honest = new Records().next('turn', {
    name: 'a name',
    title: 'a name',
    description: 'text',
    session: 'ses_1',
    turn: 3,
    files: { paths: ['a', 'b/c'], emptyDirs: ['d'], uncertain: ['e'] },
    git: { commit: 'a'.repeat(40), branch: 'main', dirty: true },
    task: { title: 'T', status: 'blocked', notes: ['n'] },
    cause: { tool: 'write', callId: 'c', paths: ['/abs', 'a'] },
    metadata: { ticket: 42 },
    origin,
  });

  it('comes through as it is when it is honest', () => {
    expect(cleanRecord(honest, honest.id, { machine: 'x', user: 'y' })).toEqual(honest);
  });

  it('is refused when it is of another checkpoint', () => {
    const other = new Records().next('manual');
    expect(() => cleanRecord(honest, other.id, origin)).toThrow('another checkpoint');
    expect(() => cleanRecord({ ...honest, id: '../x' }, '../x', origin)).toThrow();
  });

  const odd: Array<[what: string, change: Record<string, unknown>, expected: Partial<Checkpoint>]> = [
    ['a name that is no line', { name: 'a\nb' }, { name: 'a b' }],
    ['a name that is too long', { name: 'x'.repeat(500) }, { name: 'x'.repeat(200) }],
    ['a name that reads backwards', { name: 'abc\u202edef' }, { name: 'abcdef' }],
    ['a title that is no text', { title: 7 }, { title: 'a name' }],
    ['an unknown trigger', { trigger: 'explode' }, { trigger: 'manual' }],
    ['a pin that is no boolean', { pinned: 'yes' }, { pinned: false }],
    ['a session that is a path', { session: { id: '../../x', messageId: null, messageCount: 0 } }, { session: null }],
    ['a message that is a path', { session: { id: 'ses_1', messageId: 'a/b', messageCount: 0 } }, { session: null }],
    ['a task that is none', { task: { status: 'won' } }, { task: null }],
    ['git that is none', { git: 'main' }, { git: null }],
    ['a cause that is a list', { cause: [] }, { cause: null }],
    ['metadata that is too much', { metadata: { x: 'y'.repeat(70_000) } }, { metadata: {} }],
    ['metadata that is no object', { metadata: [1] }, { metadata: {} }],
    ['an origin that is none', { origin: null }, { origin }],
  ];
  it.each(odd)('loses %s', (_what, change, expected) => {
    const given = { ...honest, ...change } as unknown as Checkpoint;
    expect(cleanRecord(given, honest.id, origin)).toMatchObject(expected);
  });

  it('names only paths that could be written', () => {
    const files = {
      ...honest.files,
      paths: ['ok', '../up', '/abs', 'a/.git/config', 5],
      emptyDirs: ['ok', '..', '.GIT'],
      skipped: [{ path: 'ok', reason: 'r' }, { path: '../x', reason: 'r' }, 'text'],
      only: ['ok', 'git~1/x'],
      added: -1,
      modified: 'many',
    };
    const clean = cleanRecord({ ...honest, files } as unknown as Checkpoint, honest.id, origin).files;
    expect(clean).toMatchObject({ paths: ['ok'], emptyDirs: ['ok'], only: ['ok'], added: 0, modified: 0 });
    expect(clean.skipped).toEqual([{ path: 'ok', reason: 'r' }]);
  });
});

describe('names and links of a tree from elsewhere', () => {
  it.each([
    '.git',
    '.GIT/x',
    'a/.Git',
    'git~1',
    'GIT~2/x',
    '.git ',
    '.git...',
    '.git:x',
    '.g\u200dit',
    '..',
    'a//b',
    '',
  ])('refuses %j', (path) => expect(unsafePath(path)).not.toBeNull());
  it.each(['.gitignore', '.github/x', 'git', 'git~', '...', 'a.git', '..a'])('takes %j', (path) =>
    expect(unsafePath(path, false)).toBeNull(),
  );
  it.each([
    ['a', '/etc', true],
    ['a', '..', true],
    ['a/b', '../..', true],
    ['a/b', '../c', false],
    ['a', 'b/../../c', true],
    ['a', 'b/..', true],
    ['a', './b', false],
    ['a', '.git/config', true],
    ['a', 'C:\\x', true],
    ['a/b/c', '../../x', false],
  ])('a link at %s to %s leads away: %s', (path, target, away) => expect(linkLeavesRoot(path, target)).toBe(away));
});

describe('names on a remote', () => {
  const id = new Records().next('manual').id;
  const oid = 'a'.repeat(40);
  it('are read only as we write them', () => {
    const base = 'refs/opencode-checkpoints';
    expect(parseWireRef(`${base}/anna-box-1/checkpoints/${id}`, oid)).toMatchObject({ kind: 'checkpoint', id });
    expect(parseWireRef(`${base}/anna-box-1/sessions/ses_1`, oid)).toMatchObject({ kind: 'session', id: 'ses_1' });
    expect(parseWireRef(`${base}/anna-box-1/head`, oid)).toMatchObject({ kind: 'head' });
    for (const bad of [
      '../x/head',
      'A/head',
      'a/checkpoints/cp_x',
      'a/sessions/..',
      'a/b/c/d',
      '.a/head',
      'a.lock/head',
    ])
      expect([bad, parseWireRef(`${base}/${bad}`, oid)]).toEqual([bad, null]);
    expect(parseRefLines(`${oid}\t${base}/a/head\n${oid} refs/heads/main\n${oid}\t${base}/B/head\n`)).toEqual({
      refs: [expect.objectContaining({ origin: 'a' })],
      strange: ['B/head'],
    });
  });

  it('are made of who and where, and fit into a ref', () => {
    expect(originName({ user: 'Ännä Müller', machine: 'MacBook-Pro.local' }, 'k1')).toBe(
      'nn-m-ller-macbook-pro-local-k1',
    );
    expect(originName({ user: '..', machine: '' }, 'k1')).toBe('x-x-k1');
    const long = originName({ user: 'u'.repeat(200), machine: 'm'.repeat(200) }, 'k1');
    expect(parseWireRef(`refs/opencode-checkpoints/${long}/head`, oid)).not.toBeNull();
  });

  it('show no password', () => {
    expect(withoutPassword('https://anna:secret@example.org/x.git')).toBe('https://anna@example.org/x.git');
    expect(withoutPassword('https://example.org/a@b')).toBe('https://example.org/a@b');
    expect(withoutPassword('git@example.org:x.git')).toBe('git@example.org:x.git');
  });
});
