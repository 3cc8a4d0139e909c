import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { picture, sandbox, type Sandbox } from './rig';
import { bareRemote, storeOf } from './sync-rig';

/** Three people with a clone each. */
function three(): [Sandbox, Sandbox, Sandbox] {
  return [sandbox({ name: 'anna' }), sandbox({ name: 'ben' }), sandbox({ name: 'cleo' })];
}

const read = (box: Sandbox, path: string): string => readFileSync(join(box.root, path), 'utf8');
const ids = (list: Array<{ id: string }>): string[] => list.map(({ id }) => id).sort();

describe('sync between three clones over a bare remote', () => {
  it('pushes, fetches, shows where it came from, and restores', async () => {
    const [a, b, c] = three();
    const remote = bareRemote();
    a.write('src/app.ts', 'one\n');
    const anna = await a.open();
    const first = await anna.create({ name: 'anna: first' });
    a.write('src/app.ts', 'two\n');
    const second = await anna.create({ trigger: 'turn' });
    await anna.create({ trigger: 'tool', cause: { tool: 'write', callId: null, paths: ['x'] } });
    const pushed = await anna.sync.push(remote.path);
    expect(pushed).toMatchObject({ added: [first.id, second.id], updated: [], deleted: [], unchanged: 0, filtered: 0 });

    b.write('src/app.ts', 'mine\n');
    const ben = await b.open();
    const own = await ben.create({ name: 'ben: first' });
    const fetched = await ben.sync.fetch(remote.path);
    expect(ids(fetched.added)).toEqual([first.id, second.id]);
    expect(fetched).toMatchObject({ updated: [], refused: [], unchanged: 0, deletedHere: 0 });

    const list = await ben.list();
    expect(ids(list)).toEqual([first.id, second.id, own.id].sort());
    const seen = list.find(({ id }) => id === first.id);
    expect(seen?.origin).toEqual({ machine: expect.any(String) as string, user: expect.any(String) as string });
    expect((await ben.resolve('latest')).id).toBe(own.id);
    expect((await ben.resolve('anna: first')).id).toBe(first.id);
    expect((await ben.resolve(first.id.slice(0, 28))).id).toBe(first.id);
    expect(Buffer.from(await ben.cat(first.id, 'src/app.ts')).toString()).toBe('one\n');
    const changes = await ben.changes(second.id);
    expect(changes.map(({ path, status }) => [path, status])).toEqual([['src/app.ts', 'modified']]);
    expect((await ben.diff(first.id, second.id)).changes).toHaveLength(1);
    await ben.restore(first.id);
    expect(read(b, 'src/app.ts')).toBe('one\n');
    await ben.undo();
    expect(read(b, 'src/app.ts')).toBe('mine\n');

    expect(await anna.sync.push(remote.path)).toMatchObject({ added: [], updated: [], deleted: [], unchanged: 2 });
    expect(await ben.sync.fetch(remote.path)).toMatchObject({ added: [], updated: [], unchanged: 2 });

    await ben.sync.push(remote.path);
    const cleo = await c.open();
    const both = await cleo.sync.fetch(remote.path);
    expect(ids(both.added)).toEqual([first.id, second.id, own.id].sort());
    await cleo.restore('ben: first', { allowMassDelete: true });
    expect(picture(c.root)).toEqual(picture(b.root));
    expect(storeOf(c).git('fsck', '--strict', '--no-dangling')).toBe('');
    expect(remote.git('fsck', '--strict', '--no-dangling')).toBe('');
  });

  it('lets no side undo what the other renamed, pinned, described or deleted', async () => {
    const [a, b] = three();
    const remote = bareRemote();
    a.write('a.txt', 'one\n');
    const anna = await a.open();
    const one = await anna.create({ name: 'one' });
    const two = await anna.create({ name: 'two' });
    const three_ = await anna.create({ name: 'three' });
    await anna.sync.push(remote.path);
    const ben = await b.open();
    await ben.sync.fetch(remote.path);

    // Ben names and pins what is Anna's; Anna renames and describes it, too.
    await ben.rename(one.id, 'the good one');
    await ben.pin(one.id, true);
    await ben.describe(two.id, 'look at this');
    expect(await ben.remove([three_.id])).toEqual([three_.id]);
    expect((await ben.sync.fetch(remote.path)).deletedHere).toBe(1);
    await anna.rename(one.id, 'renamed by Anna');
    await anna.describe(one.id, 'described by Anna');
    await anna.rename(two.id, 'two, better');
    const pushed = await anna.sync.push(remote.path);
    expect(ids(pushed.updated.map((id) => ({ id })))).toEqual([one.id, two.id].sort());

    const fetched = await ben.sync.fetch(remote.path);
    expect(ids(fetched.updated)).toEqual([one.id, two.id].sort());
    expect(fetched).toMatchObject({ added: [], deletedHere: 1 });
    expect(await ben.resolve(one.id)).toMatchObject({
      name: 'the good one',
      title: 'the good one',
      pinned: true,
      description: 'described by Anna',
    });
    expect(await ben.resolve(two.id)).toMatchObject({
      name: 'two, better',
      description: 'look at this',
      pinned: false,
    });
    await expect(ben.resolve(three_.id)).rejects.toMatchObject({ reason: 'unknown-reference' });
    expect(await ben.sync.fetch(remote.path)).toMatchObject({ added: [], updated: [], unchanged: 2, deletedHere: 1 });

    // Anna's own are as Anna left them, also after Ben pushed, who pushes nothing of hers.
    expect(await ben.sync.push(remote.path, { all: true })).toMatchObject({ added: [], deleted: [] });
    await expect(ben.sync.push(remote.path, { references: [one.id] })).rejects.toMatchObject({
      reason: 'invalid-argument',
    });
    expect(await anna.resolve(one.id)).toMatchObject({ name: 'renamed by Anna', pinned: false, origin: null });
    expect(await anna.sync.fetch(remote.path)).toMatchObject({ added: [], updated: [] });

    // What Ben deleted comes back once Anna changed it, and what Anna deletes stays with Ben.
    await anna.rename(three_.id, 'three again');
    await anna.remove([two.id]);
    expect(await anna.sync.push(remote.path)).toMatchObject({ updated: [three_.id], deleted: [two.id] });
    expect([...remote.refs().keys()].filter((ref) => ref.includes(two.id))).toEqual([]);
    expect(ids((await ben.sync.fetch(remote.path)).added)).toEqual([three_.id]);
    expect((await ben.resolve('two, better')).id).toBe(two.id);
    expect((await ben.resolve('three again')).id).toBe(three_.id);
  });

  it('deletes on the remote only in its own part, and nothing when some were named', async () => {
    const [a, b] = three();
    const remote = bareRemote();
    a.write('a.txt', 'a\n');
    b.write('b.txt', 'b\n');
    const anna = await a.open();
    const ben = await b.open();
    const mine = await anna.create({ name: 'mine' });
    const other = await anna.create({ name: 'other' });
    const his = await ben.create({ name: 'his' });
    await anna.sync.push(remote.path);
    await ben.sync.push(remote.path);
    await anna.remove([mine.id]);
    await anna.sync.push(remote.path, { references: [other.id] });
    expect([...remote.refs().keys()].some((ref) => ref.endsWith(mine.id))).toBe(true);
    await anna.sync.push(remote.path);
    const names = [...remote.refs().keys()];
    expect(names.some((ref) => ref.endsWith(mine.id))).toBe(false);
    expect(names.some((ref) => ref.endsWith(other.id))).toBe(true);
    expect(names.some((ref) => ref.endsWith(his.id))).toBe(true);
    // The head keeps nothing alive that was deleted.
    expect(remote.git('rev-list', '--all', '--count').trim()).toBe('4');
  });

  it('sends what people made and turns; tool, idle and safety points only when asked', async () => {
    const [a] = three();
    const remote = bareRemote();
    a.write('a.txt', '1\n');
    const anna = await a.open();
    const kept = [await anna.create({ name: 'manual' }), await anna.create({ trigger: 'agent', name: 'agent' })];
    a.write('a.txt', '2\n');
    kept.push(await anna.create({ trigger: 'turn' }));
    const tool = await anna.create({ trigger: 'tool' });
    const named = await anna.create({ trigger: 'tool' });
    await anna.rename(named.id, 'worth keeping');
    const pinned = await anna.create({ trigger: 'idle' });
    await anna.pin(pinned.id, true);
    await anna.restore('manual');
    const { added } = await anna.sync.push(remote.path);
    expect([...added].sort()).toEqual([...kept, named, pinned].map(({ id }) => id).sort());
    // What was sent stays and is kept up to date, though it would not be chosen now.
    await anna.pin(pinned.id, false);
    expect(await anna.sync.push(remote.path)).toMatchObject({ added: [], updated: [pinned.id], deleted: [] });
    const all = await anna.sync.push(remote.path, { all: true });
    expect(all.added).toContain(tool.id);
    expect(all.added).toHaveLength((await anna.list()).length - 5);
  });

  it('transfers what changed, not everything again', async () => {
    const [a, b] = three();
    const remote = bareRemote();
    for (let i = 0; i < 200; i++) a.write(`src/${i % 10}/file${i}.txt`, `${i} ${'x'.repeat(500)}\n`);
    const anna = await a.open();
    await anna.create({ name: 'many' });
    await anna.sync.push(remote.path);
    const ben = await b.open();
    await ben.sync.fetch(remote.path);
    const before = { remote: remote.objects(), ben: storeOf(b).objects() };
    a.write('src/1/file1.txt', 'changed\n');
    await anna.create({ name: 'one changed' });
    await anna.sync.push(remote.path);
    // A file, three folders, the checkpoint and the head; and a few more of the side's own book-keeping.
    expect(remote.objects() - before.remote).toBeLessThan(12);
    await ben.sync.fetch(remote.path);
    expect(storeOf(b).objects() - before.ben).toBeLessThan(20);
    expect(Buffer.from(await ben.cat('one changed', 'src/1/file1.txt')).toString()).toBe('changed\n');
  });

  it('survives pushes at the same time, from two clones and twice from one', async () => {
    const [a, b, c] = three();
    const remote = bareRemote();
    const expected: string[] = [];
    const people = await Promise.all(
      [a, b].map(async (box, n) => {
        box.write('x.txt', `${n}\n`);
        const workspace = await box.open();
        for (let i = 0; i < 5; i++) {
          box.write(`f${i}.txt`, `${n} ${i}\n`);
          expected.push((await workspace.create({ name: `${n}-${i}` })).id);
        }
        return workspace;
      }),
    );
    const [anna, ben] = people;
    const second = await a.open();
    await Promise.all([anna, ben, second, ben].map((workspace) => workspace?.sync.push(remote.path)));
    const cleo = await c.open();
    const results = await Promise.all([cleo.sync.fetch(remote.path), cleo.sync.fetch(remote.path)]);
    expect(ids(await cleo.list())).toEqual([...expected].sort());
    expect(results.flatMap(({ refused }) => refused)).toEqual([]);
    expect(storeOf(c).git('fsck', '--strict', '--no-dangling')).toBe('');
  });

  it('keeps fetched ones through pruning, at no cost to its own, and frees them once they are deleted', async () => {
    const [a, b] = three();
    const remote = bareRemote();
    a.write('big.bin', randomBytes(400_000));
    const anna = await a.open();
    const one = await anna.create({ name: 'big' });
    await anna.sync.push(remote.path);
    const ben = await b.open({ env: { ...process.env, OPENCODE_CHECKPOINTS_MAX_STORE_SIZE: '300 kb' } });
    const session = { id: 'ses_x', messageId: null, messageCount: 0, title: null, parent: null };
    const turn = { prompt: 'go', model: null, agent: null, cost: null, tokens: null };
    for (const number of [1, 2, 3]) {
      b.write('b.txt', `${number}\n`);
      await ben.create({ trigger: 'turn', session, turn: { ...turn, number } });
    }
    await (await b.open()).sync.fetch(remote.path);
    expect((await ben.prune()).deleted).toEqual([]);
    expect((await ben.cat('big', 'big.bin')).length).toBe(400_000);
    expect(storeOf(b).git('fsck', '--strict', '--no-dangling')).toBe('');
    const [ref] = [...storeOf(b).refs().keys()].filter((name) => name.endsWith(one.id));
    const blob = storeOf(b).git('rev-parse', `${ref}:big.bin`).trim();
    await ben.remove(['big']);
    await ben.prune();
    expect(() => storeOf(b).git('cat-file', '-e', blob)).toThrow();
    expect((await ben.sync.fetch(remote.path)).deletedHere).toBe(1);
    expect(await ben.list()).toHaveLength(3);
  });

  it('works with sha256 as well, and says when two kinds meet', async () => {
    const a = sandbox({ name: 'anna', git: false });
    a.git('init', '-q', '--object-format=sha256');
    a.write('a.txt', 'a\n');
    const anna = await a.open();
    const one = await anna.create({ name: 'one' });
    expect(one.files.commit).toHaveLength(64);
    const remote = bareRemote('--object-format=sha256');
    await anna.sync.push(remote.path);
    const b = sandbox({ name: 'ben', git: false });
    b.git('init', '-q', '--object-format=sha256');
    const ben = await b.open();
    expect(ids((await ben.sync.fetch(remote.path)).added)).toEqual([one.id]);
    await ben.restore('one');
    expect(read(b, 'a.txt')).toBe('a\n');
    const other = await sandbox().open();
    await other.create({ name: 'sha1' });
    for (const what of ['push', 'fetch'] as const)
      await expect(other.sync[what](remote.path)).rejects.toMatchObject({
        reason: 'remote-failed',
        message: expect.stringContaining('sha256') as string,
      });
    await expect(anna.sync.push(bareRemote().path)).rejects.toMatchObject({
      reason: 'remote-failed',
      message: expect.stringContaining('sha1 and sha256 do not mix') as string,
    });
  });

  it('goes on while the store is cleaned up and files are captured', async () => {
    const [a, b] = three();
    const remote = bareRemote();
    const anna = await a.open();
    const ben = await b.open();
    const other = await b.open();
    const expected: string[] = [];
    for (let round = 0; round < 4; round++) {
      a.write(`a${round}.txt`, `${round}\n`);
      const made = await anna.create({ name: `a${round}` });
      await anna.sync.push(remote.path);
      b.write('b.txt', `${round}\n`);
      // What was fetched before is deleted: its objects are freed while new ones come in that lean on them.
      await other.remove(expected.splice(0));
      const [, , own] = await Promise.all([
        ben.sync.fetch(remote.path),
        other.prune(),
        other.create({ name: `b${round}` }),
      ]);
      expected.push(made.id);
      expect((await ben.cat(made.id, `a${round}.txt`)).length).toBe(2);
      expect((await other.resolve(own.id)).name).toBe(`b${round}`);
      expect(storeOf(b).git('fsck', '--strict', '--no-dangling')).toBe('');
    }
  });

  it('tells those who watch, in this process and in others', async () => {
    const [a, b] = three();
    const remote = bareRemote();
    a.write('a.txt', 'a\n');
    const anna = await a.open();
    const one = await anna.create({ name: 'one' });
    await anna.sync.push(remote.path);
    const ben = await b.open();
    const watcher = await b.open();
    const seen = new Promise<string[]>((done) => watcher.onDidChange(({ ids: changed }) => done(changed)));
    await ben.sync.fetch(remote.path);
    expect(await seen).toEqual([one.id]);
    expect(ids(await watcher.list())).toEqual([one.id]);
  });
});
