import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Checkpoint } from '../../src/core/model';
import { nextId } from '../../src/core/ulid';
import { checkpointMessage, encodeCommit } from '../../src/git/records';
import { formatTree, modes, type TreeEntry } from '../../src/git/tree-format';
import { Records } from '../unit/records';
import { gitBytes, sandbox } from './rig';
import { bareRemote, storeOf, type Bare } from './sync-rig';

/** Writes objects that git itself would refuse to make. */
function put(repo: Bare, type: string, data: Buffer | string): string {
  return execFileSync('git', [`--git-dir=${repo.path}`, 'hash-object', '-t', type, '-w', '--stdin', '--literally'], {
    input: data,
    encoding: 'utf8',
  }).trim();
}

type Spec = Record<string, string | { link: string } | { mode: number; content: string } | { folder: Spec }>;

function tree(repo: Bare, spec: Spec): string {
  const entries = Object.entries(spec).map(([name, what]): TreeEntry => {
    if (typeof what === 'string') return { name, mode: modes.file, oid: put(repo, 'blob', what) };
    if ('link' in what) return { name, mode: modes.link, oid: put(repo, 'blob', what.link) };
    if ('mode' in what) return { name, mode: what.mode, oid: put(repo, 'blob', what.content) };
    return { name, mode: modes.tree, oid: tree(repo, what.folder) };
  });
  return put(repo, 'tree', formatTree(entries));
}

let last: string | null = null;
const records = new Records();
const aCheckpoint = (): Checkpoint => records.next('manual');

/** A checkpoint of somebody who means harm (or only writes nonsense), as a commit. */
function commit(repo: Bare, spec: Spec, change: Partial<Checkpoint> | ((record: Checkpoint) => unknown) = {}) {
  const id = (last = nextId(last));
  const plain: Checkpoint = { ...aCheckpoint(), id, title: 'evil', name: 'evil', origin: { machine: 'm', user: 'u' } };
  const record = typeof change === 'function' ? change(plain) : { ...plain, ...change };
  const text = `evil\n\n${JSON.stringify(record)}\n`;
  return { id, oid: put(repo, 'commit', encodeCommit(tree(repo, spec), text, 0)) };
}

function offer(remote: Bare, spec: Spec, change?: Parameters<typeof commit>[2], origin = 'evil-m-1'): string {
  const { id, oid } = commit(remote, spec, change);
  remote.git('update-ref', `refs/opencode-checkpoints/${origin}/checkpoints/${id}`, oid);
  return id;
}

describe('checkpoints from somebody who means harm', () => {
  const bad: Array<[what: string, spec: Spec, named: string]> = [
    ['.git', { '.git': { folder: { config: 'x' } } }, '.git'],
    ['.GIT', { sub: { folder: { '.GIT': { folder: { hooks: 'x' } } } } }, 'sub/.GIT'],
    ['git~1', { 'git~1': 'x' }, 'git~1'],
    ['.git with invisible characters', { '.g\u200cit': { folder: { config: 'x' } } }, '.g\u200cit'],
    ['.git with a trailing dot', { '.git.': { folder: { config: 'x' } } }, '.git.'],
    ['.git as an NTFS stream', { '.git::$INDEX_ALLOCATION': { folder: { config: 'x' } } }, '.git::$INDEX_ALLOCATION'],
    ['..', { a: { folder: { '..': { folder: { 'evil.txt': 'x' } } } } }, 'a/..'],
    ['a path in a name', { 'a/b': 'x' }, 'a/b'],
    ['a submodule', { sub: { mode: modes.gitlink, content: 'x' } }, 'sub'],
    ['a device', { dev: { mode: 0o60644, content: 'x' } }, 'dev'],
  ];

  it.each(bad)('refuses %s by name when it arrives, and takes the rest', async (_what, spec, named) => {
    const remote = bareRemote();
    const id = offer(remote, spec);
    const good = offer(remote, { 'fine.txt': 'fine\n' }, { name: 'good', title: 'good' });
    const box = sandbox();
    box.write('mine.txt', 'mine\n');
    const workspace = await box.open();
    const result = await workspace.sync.fetch(remote.path);
    expect(result.added.map((one) => one.id)).toEqual([good]);
    expect(result.refused).toEqual([{ id, origin: 'evil-m-1', reason: expect.stringContaining(named) as string }]);
    await expect(workspace.resolve(id)).rejects.toMatchObject({ reason: 'unknown-reference' });
  });

  it.each(bad.filter(([what]) => what !== 'a path in a name'))(
    'writes nothing of a tree with %s that got into the store all the same',
    async (_what, spec, named) => {
      const box = sandbox();
      box.write('mine.txt', 'mine\n');
      const workspace = await box.open();
      await workspace.create({ name: 'own' });
      const { id, oid } = commit(storeOf(box), { ...spec, 'mine.txt': 'theirs\n' }, { origin: null });
      storeOf(box).git('update-ref', `refs/remote-checkpoints/evil/${id}`, oid);
      const before = gitBytes(box.root);
      const plan = await workspace.plan(id);
      const refused = plan.entries.filter(({ action }) => action === 'skip');
      expect(refused.length).toBeGreaterThan(0);
      expect(refused.every(({ path }) => path.startsWith(named))).toBe(true);
      await expect(workspace.restore(id)).rejects.toMatchObject({
        reason: 'untrusted-tree',
        message: expect.stringContaining(named) as string,
      });
      expect(readFileSync(join(box.root, 'mine.txt'), 'utf8')).toBe('mine\n');
      expect(gitBytes(box.root)).toBe(before);
      expect(existsSync(join(box.root, '..', 'evil.txt'))).toBe(false);
      await workspace.restore(id, { paths: ['mine.txt'] });
      expect(readFileSync(join(box.root, 'mine.txt'), 'utf8')).toBe('theirs\n');
    },
  );

  it('leaves out links that lead away, and what is excluded or ours here', async () => {
    const remote = bareRemote();
    const id = offer(remote, {
      absolute: { link: '/etc/passwd' },
      up: { link: '../outside' },
      round: { link: 'inside/../../x' },
      inside: { link: 'fine.txt' },
      '.env': 'KEY=theirs\n',
      'fine.txt': 'fine\n',
    });
    const box = sandbox();
    box.write('.env', 'KEY=mine\n');
    const workspace = await box.open();
    await workspace.sync.fetch(remote.path);
    const result = await workspace.restore(id);
    expect(result.restored.sort()).toEqual(['fine.txt', 'inside']);
    expect(result.skipped.map(({ path }) => path).sort()).toEqual(['.env', 'absolute', 'round', 'up']);
    expect(readFileSync(join(box.root, '.env'), 'utf8')).toBe('KEY=mine\n');
    const plugin = offer(remote, {
      '.opencode': { folder: { plugins: { folder: { 'opencode-checkpoints.js': 'evil()' } } } },
    });
    await workspace.sync.fetch(remote.path);
    await expect(workspace.restore(plugin)).rejects.toMatchObject({ reason: 'untrusted-tree' });
    expect(existsSync(join(box.root, '.opencode'))).toBe(false);
  });

  it('does not follow a link that is here into another folder', async () => {
    const remote = bareRemote();
    const id = offer(remote, { data: { folder: { 'x.txt': 'evil\n' } } });
    const box = sandbox();
    mkdirSync(join(box.root, '..', 'elsewhere'));
    box.sh('ln -s ../elsewhere data');
    const workspace = await box.open();
    await workspace.sync.fetch(remote.path);
    await workspace.restore(id);
    expect(existsSync(join(box.root, '..', 'elsewhere', 'x.txt'))).toBe(false);
  });

  it('takes a record for what it is: cleaned, or refused', async () => {
    const remote = bareRemote();
    const cleaned = offer(remote, { a: 'a' }, (record) => ({
      ...record,
      name: 'two\nlines',
      title: { not: 'text' },
      trigger: 'explode',
      createdAt: 'yesterday',
      session: { id: '../../etc/passwd', messageId: null, messageCount: 1 },
      files: { ...record.files, emptyDirs: ['../outside', '.git/hooks', 'fine'], paths: ['../x', 'a', 7] },
      task: { status: 'conquered', __proto__: { polluted: true } },
      metadata: JSON.parse('{"__proto__": {"polluted": true}}') as object,
      origin: { machine: 'a\nb', user: 5 },
      surprise: true,
    }));
    const other = offer(remote, { a: 'a' }, { id: nextId(null) });
    const huge = offer(remote, { a: 'a' }, { description: 'x'.repeat(9 << 20) });
    const { oid: noRecord } = commit(remote, { a: 'a' }, () => 'nothing');
    const nulled = offer(remote, { a: 'a' }, () => null);
    const listed = offer(remote, { a: 'a' }, (record) => ({ ...record, files: [] }));
    const nothing = (last = nextId(last));
    remote.git('update-ref', `refs/opencode-checkpoints/evil-m-1/checkpoints/${nothing}`, noRecord);
    const blob = (last = nextId(last));
    remote.git('update-ref', `refs/opencode-checkpoints/evil-m-1/checkpoints/${blob}`, put(remote, 'blob', 'hello'));
    remote.git('update-ref', 'refs/opencode-checkpoints/evil-m-1/checkpoints/cp_nonsense', noRecord);
    remote.git('update-ref', `refs/opencode-checkpoints/Evil-M/checkpoints/${nothing}`, noRecord);

    const box = sandbox();
    const workspace = await box.open();
    const result = await workspace.sync.fetch(remote.path);
    expect(result.added.map(({ id }) => id)).toEqual([cleaned]);
    const refused = new Map(result.refused.map(({ id, reason }) => [id, reason]));
    expect(refused.get(other)).toContain('another checkpoint');
    expect(refused.get(huge)).toContain('too large');
    expect(refused.get(blob)).toContain('not a commit');
    expect([...refused.keys()]).toEqual(expect.arrayContaining([nothing, nulled, listed, 'cp_nonsense']));
    const record = await workspace.resolve(cleaned);
    expect(record).toMatchObject({ name: 'two lines', trigger: 'manual', session: null, task: null, metadata: {} });
    expect(record.files).toMatchObject({ emptyDirs: ['fine'], paths: ['a'] });
    expect(record.origin).toEqual({ machine: 'a b', user: 'unknown' });
    expect('surprise' in record).toBe(false);
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
    await workspace.restore(cleaned);
    expect(existsSync(join(box.root, 'fine'))).toBe(true);
    expect(existsSync(join(box.root, '..', 'outside'))).toBe(false);
  });

  it('does not unfold a small pack into more files than there is disk', async () => {
    const remote = bareRemote();
    let folder = tree(remote, { x: 'x' });
    for (let level = 0; level < 12; level++)
      folder = put(
        remote,
        'tree',
        formatTree(Array.from({ length: 10 }, (_, i) => ({ name: `d${i}`, mode: modes.tree, oid: folder }))),
      );
    const id = (last = nextId(last));
    const record = { ...aCheckpoint(), id, origin: { machine: 'm', user: 'u' } };
    const oid = put(remote, 'commit', encodeCommit(folder, checkpointMessage(record), 0));
    remote.git('update-ref', `refs/opencode-checkpoints/evil-m-1/checkpoints/${id}`, oid);
    const workspace = await sandbox().open();
    const { refused } = await workspace.sync.fetch(remote.path);
    expect(refused).toEqual([{ id, origin: 'evil-m-1', reason: expect.stringContaining('files') as string }]);
  });

  it('lets one damaged origin keep nobody else away, and changes nothing when all are', async () => {
    const remote = bareRemote();
    const broken = put(remote, 'tree', Buffer.from('100644 a\0too short'));
    const id = nextId(null);
    const record = { ...aCheckpoint(), id, origin: { machine: 'm', user: 'u' } };
    const oid = put(remote, 'commit', encodeCommit(broken, checkpointMessage(record), 0));
    remote.git('update-ref', `refs/opencode-checkpoints/broken-m-1/checkpoints/${id}`, oid);
    const box = sandbox();
    const workspace = await box.open();
    await expect(workspace.sync.fetch(remote.path)).rejects.toMatchObject({ reason: 'remote-failed' });
    expect(await workspace.list()).toEqual([]);
    const good = offer(remote, { a: 'a' }, {}, 'good-m-2');
    const result = await workspace.sync.fetch(remote.path);
    expect(result.added.map((one) => one.id)).toEqual([good]);
    expect(result.refused).toEqual([expect.objectContaining({ id: '*', origin: 'broken-m-1' })]);
    expect(storeOf(box).git('fsck', '--strict', '--no-dangling')).toBe('');
  });

  it('stops a remote that sends more than the store may hold', async () => {
    const remote = bareRemote();
    const blob = put(remote, 'blob', randomBytes(3_000_000));
    const big = put(remote, 'tree', formatTree([{ name: 'noise.bin', mode: modes.file, oid: blob }]));
    const id = nextId(null);
    const record = { ...aCheckpoint(), id, origin: { machine: 'm', user: 'u' } };
    const oid = put(remote, 'commit', encodeCommit(big, checkpointMessage(record), 0));
    remote.git('update-ref', `refs/opencode-checkpoints/big-m-1/checkpoints/${id}`, oid);
    const box = sandbox();
    const workspace = await box.open({ env: { ...process.env, OPENCODE_CHECKPOINTS_MAX_STORE_SIZE: '1 mb' } });
    await expect(workspace.sync.fetch(remote.path)).rejects.toMatchObject({
      reason: 'remote-failed',
      message: expect.stringContaining('maxStoreSize') as string,
    });
    expect(await workspace.list()).toEqual([]);
  });
});
