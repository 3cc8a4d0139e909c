import { describe, expect, it } from 'vitest';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { picture, sandbox, type Sandbox } from './rig';
import { bareRemote, storeOf } from './sync-rig';

/** Three people with a clone each. */
function three(): [Sandbox, Sandbox, Sandbox] {
  return [sandbox({ name: 'anna' }), sandbox({ name: 'ben' }), sandbox({ name: 'cleo' })];
}

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
    expect(fetched.added.map(({ id }) => id).sort()).toEqual([first.id, second.id]);
    expect(fetched).toMatchObject({ updated: [], refused: [], unchanged: 0, deletedHere: 0 });

    const list = await ben.list();
    expect(list.map(({ id }) => id).sort()).toEqual([first.id, second.id, own.id].sort());
    const seen = list.find(({ id }) => id === first.id);
    expect(seen?.origin).toEqual({ machine: expect.any(String) as string, user: expect.any(String) as string });
    expect((await ben.resolve('latest')).id).toBe(own.id);
    expect((await ben.resolve('anna: first')).id).toBe(first.id);
    expect((await ben.resolve(first.id.slice(0, 28))).id).toBe(first.id);
    expect(Buffer.from(await ben.cat(first.id, 'src/app.ts')).toString()).toBe('one\n');
    expect((await ben.changes(second.id)).map(({ path, status }) => [path, status])).toEqual([
      ['src/app.ts', 'modified'],
    ]);
    expect((await ben.diff(first.id, second.id)).changes).toHaveLength(1);
    await ben.restore(first.id);
    expect(readFileSync(join(b.root, 'src/app.ts'), 'utf8')).toBe('one\n');
    await ben.undo();
    expect(readFileSync(join(b.root, 'src/app.ts'), 'utf8')).toBe('mine\n');

    const again = await anna.sync.push(remote.path);
    expect(again).toMatchObject({ added: [], updated: [], deleted: [], unchanged: 2 });
    expect(await ben.sync.fetch(remote.path)).toMatchObject({ added: [], updated: [], unchanged: 2 });

    await ben.sync.push(remote.path);
    const cleo = await c.open();
    const both = await cleo.sync.fetch(remote.path);
    expect(both.added.map(({ id }) => id).sort()).toEqual([first.id, second.id, own.id].sort());
    await cleo.restore('ben: first', { allowMassDelete: true });
    expect(picture(c.root)).toEqual(picture(b.root));
    expect(storeOf(c).git('fsck', '--strict', '--no-dangling')).toBe('');
    expect(remote.git('fsck', '--strict', '--no-dangling')).toBe('');
  });
});
