import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { layoutOf } from '../../src/git/layout';
import { sandbox, type Sandbox } from './rig';
import { bareRemote, storeOf } from './sync-rig';

const beside = (box: Sandbox, name: string): string => join(dirname(box.root), name);

/** Everything of a store that a refused import must leave as it is. */
const stateOf = (box: Sandbox): string =>
  storeOf(box)
    .git('for-each-ref')
    .replace(/.*refs\/sync\n/, '');

describe('bundles', () => {
  it('carry chosen checkpoints in one file that git itself understands', async () => {
    const a = sandbox({ name: 'anna' });
    a.write('src/app.ts', 'one\n');
    a.write('.env', 'KEY=1\n');
    const anna = await a.open();
    const one = await anna.create({ name: 'one' });
    a.write('src/app.ts', 'two\n');
    const two = await anna.create({ name: 'two', description: 'the second' });
    await anna.create({ name: 'not this one' });
    const file = beside(a, 'friday.bundle');
    const exported = await anna.sync.exportBundle(['one', two.id], file);
    expect(exported).toMatchObject({ file, checkpoints: [one.id, two.id], bytes: statSync(file).size });
    expect(storeOf(a).git('bundle', 'verify', '-q', file)).toBe('');
    expect(storeOf(a).git('bundle', 'list-heads', file).trim().split('\n')).toHaveLength(2);

    const b = sandbox({ name: 'ben' });
    const ben = await b.open();
    const result = await ben.sync.importBundle(file);
    expect(result.added.map(({ id }) => id).sort()).toEqual([one.id, two.id].sort());
    expect((await ben.list()).map(({ origin }) => origin)).toEqual([
      expect.objectContaining({ user: expect.any(String) as string }),
      expect.objectContaining({ machine: expect.any(String) as string }),
    ]);
    await ben.restore('two');
    expect(readFileSync(join(b.root, 'src/app.ts'), 'utf8')).toBe('two\n');
    expect(existsSync(join(b.root, '.env'))).toBe(false);
    expect(await ben.sync.importBundle(file)).toMatchObject({ added: [], updated: [], unchanged: 2 });
    // What this workspace has itself is not taken a second time.
    expect(await anna.sync.importBundle(file)).toMatchObject({ added: [], unchanged: 2 });
    // What came from Anna goes on to Cleo as Anna's.
    const passedOn = beside(b, 'passed-on.bundle');
    await ben.sync.exportBundle(['one'], passedOn);
    const c = sandbox({ name: 'cleo' });
    const cleo = await c.open();
    await cleo.sync.importBundle(passedOn);
    const origins = storeOf(c).git('for-each-ref', '--format=%(refname)', 'refs/remote-checkpoints').trim();
    expect(storeOf(b).git('for-each-ref', '--format=%(refname)', 'refs/remote-checkpoints')).toContain(origins);
    expect(storeOf(c).git('fsck', '--strict', '--no-dangling')).toBe('');
  });

  it('replace a bundle, but nothing else, and leave no half of one', async () => {
    const box = sandbox();
    box.write('a.txt', 'a\n');
    const workspace = await box.open();
    await workspace.create({ name: 'one' });
    const folder = beside(box, 'out');
    mkdirSync(folder);
    const file = join(folder, 'x.bundle');
    await workspace.sync.exportBundle(['one'], file);
    await workspace.sync.exportBundle(['latest'], 'out/x.bundle', { cwd: dirname(box.root) });
    writeFileSync(join(folder, 'notes.txt'), 'mine\n');
    const refused = { reason: 'invalid-argument' };
    await expect(workspace.sync.exportBundle(['one'], join(folder, 'notes.txt'))).rejects.toMatchObject(refused);
    expect(readFileSync(join(folder, 'notes.txt'), 'utf8')).toBe('mine\n');
    await expect(workspace.sync.exportBundle(['one'], join(folder, 'no/where.bundle'))).rejects.toMatchObject(refused);
    await expect(workspace.sync.exportBundle([], file)).rejects.toMatchObject(refused);
    await expect(workspace.sync.exportBundle(['nobody'], join(folder, 'y'))).rejects.toMatchObject({
      reason: 'unknown-reference',
    });
    const stop = AbortSignal.abort();
    await expect(workspace.sync.exportBundle(['one'], join(folder, 'z'), { signal: stop })).rejects.toMatchObject({
      reason: 'cancelled',
    });
    expect(readdirSync(folder).sort()).toEqual(['notes.txt', 'x.bundle']);
    expect(existsSync(join(layoutOf(box.home, box.root).folder, 'sync'))).toBe(false);
  });

  it('of a repository with sha256 are refused by one with sha1 and the other way round, and nothing changes', async () => {
    const long = sandbox({ git: false });
    long.git('init', '-q', '--object-format=sha256');
    const boxes = [long, sandbox()];
    for (const box of boxes) await (await box.open()).create({ name: 'one' });
    for (const [from, to] of [boxes, boxes.toReversed()]) {
      const file = beside(from!, 'x.bundle');
      await (await from!.open()).sync.exportBundle(['one'], file);
      const before = stateOf(to!);
      await expect((await to!.open()).sync.importBundle(file)).rejects.toMatchObject({
        reason: 'invalid-argument',
        message: expect.stringContaining('sha1 and sha256 do not mix') as string,
      });
      expect(stateOf(to!)).toBe(before);
    }
  });

  it('that are damaged, cut off or of another kind are refused, and nothing changes', async () => {
    const a = sandbox({ name: 'anna' });
    for (let i = 0; i < 50; i++) a.write(`f${i}.txt`, `${i} ${'x'.repeat(i * 7)}\n`);
    const anna = await a.open();
    await anna.create({ name: 'one' });
    const whole = beside(a, 'whole.bundle');
    await anna.sync.exportBundle(['one'], whole);
    const size = statSync(whole).size;

    const b = sandbox({ name: 'ben' });
    b.write('b.txt', 'b\n');
    const ben = await b.open();
    await ben.create({ name: 'own' });
    const before = stateOf(b);
    const refuse = async (name: string, make: (path: string) => void): Promise<string> => {
      const path = beside(b, name);
      make(path);
      const error = await ben.sync.importBundle(path).then(
        () => null,
        (reason: { reason: string; message: string }) => reason,
      );
      expect([name, error?.reason]).toEqual([name, 'invalid-argument']);
      expect(stateOf(b)).toBe(before);
      return error?.message ?? '';
    };
    const copy = (path: string): void => writeFileSync(path, readFileSync(whole));
    for (const at of [size - 1, size - 30, Math.floor(size / 2), 200, 40, 15, 0])
      await refuse(`cut-${at}`, (path) => {
        copy(path);
        truncateSync(path, at);
      });
    for (const at of [size - 5, size - 400, Math.floor(size / 2)])
      await refuse(`flipped-${at}`, (path) => {
        const bytes = readFileSync(whole);
        bytes[at] = (bytes[at] ?? 0) ^ 0xff;
        writeFileSync(path, bytes);
      });
    expect(await refuse('text', (path) => writeFileSync(path, 'hello\n'))).toContain('not a bundle');
    expect(await refuse('folder', (path) => mkdirSync(path))).toContain('not a bundle');
    expect(await refuse('missing', () => undefined)).toContain('no such file');
    const repo = bareRemote();
    const empty = repo.git('hash-object', '-t', 'tree', '-w', '/dev/null').trim();
    const commit = repo.git('-c', 'user.name=x', '-c', 'user.email=x', 'commit-tree', '-m', 'x', empty).trim();
    repo.git('update-ref', 'refs/heads/main', commit);
    expect(
      await refuse('foreign', (path) => void repo.git('bundle', 'create', '-q', path, 'refs/heads/main')),
    ).toContain('no checkpoint');
    await ben.sync.importBundle(whole);
    expect((await ben.resolve('one')).origin).not.toBeNull();
  });
});
