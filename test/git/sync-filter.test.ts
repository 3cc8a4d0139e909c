import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { layoutOf } from '../../src/git/layout';
import { sandbox, type Sandbox } from './rig';
import { bareRemote } from './sync-rig';

const secret = 'TOP-SECRET-7c1f';

/** The settings of one workspace, as VS Code writes them. */
function configure(box: Sandbox, exclude: string[]): void {
  writeFileSync(join(layoutOf(box.home, box.root).folder, 'config.json'), JSON.stringify({ exclude }));
}

/** Paths, names and contents that any ref of the remote leads to. */
function leaks(remote: ReturnType<typeof bareRemote>, text: string): boolean {
  return remote.everything().includes(text) || [...remote.paths()].some((path) => path.includes(text));
}

describe('what leaves the machine', () => {
  it('is never excluded, even when a checkpoint holds it, at any depth', async () => {
    const box = sandbox();
    const remote = bareRemote();
    box.write('app.ts', 'one\n');
    box.write('.env', `KEY=${secret}\n`);
    box.write('deep/er/still/customers-9f.csv', `${secret}\n`);
    box.write('private-9f/a/b.txt', `${secret}\n`);
    box.write('private-9f/only-this.txt', `${secret}\n`);
    const workspace = await box.open();
    configure(box, ['!.env']);
    const held = await workspace.create({ name: 'holds everything' });
    expect(Buffer.from(await workspace.cat(held.id, '.env')).toString()).toContain(secret);
    // From here on they are excluded: `.env` by default again, the others by the new patterns.
    configure(box, ['customers-*', 'private-9f/']);
    const tool = { tool: 'write', callId: null, paths: ['deep/er/still/customers-9f.csv', 'app.ts'] };
    const second = await workspace.create({ trigger: 'tool', name: 'second', cause: tool });
    expect(second.files.skipped.map(({ path }) => path)).toContain('deep/er/still/customers-9f.csv');
    const pushed = await workspace.sync.push(remote.path);
    expect(pushed).toMatchObject({ added: [held.id, second.id], filtered: 4 });
    expect([...remote.paths()]).toEqual(['app.ts']);
    for (const text of [secret, '.env', 'customers-9f', 'private-9f'])
      expect([text, leaks(remote, text)]).toEqual([text, false]);
    // Here everything is as it was.
    expect(Buffer.from(await workspace.cat(held.id, '.env')).toString()).toContain(secret);

    const other = sandbox();
    const there = await other.open();
    await there.sync.fetch(remote.path);
    expect((await there.changes(held.id)).map(({ path }) => path)).toEqual(['app.ts']);
  });

  it('is no name of an excluded file that an agent changed', async () => {
    const box = sandbox();
    const remote = bareRemote();
    box.write('app.ts', 'one\n');
    const workspace = await box.open();
    const session = { id: 'ses_1', messageId: null, messageCount: 0, title: null, parent: null };
    await workspace.create({ trigger: 'turn', session });
    const cause = { tool: 'write', callId: null, paths: ['customers-9f.csv'] };
    await workspace.create({ trigger: 'tool', session, cause, paths: cause.paths });
    box.write('customers-9f.csv', 'of the agent\n');
    const { files } = await workspace.create({ trigger: 'idle', session });
    expect(files.calls).toEqual([{ ...cause, session: 'ses_1' }]);
    configure(box, ['customers-*']);
    await workspace.sync.push(remote.path);
    expect(leaks(remote, 'customers-9f')).toBe(false);
  });

  it('takes back what was excluded only after it was sent', async () => {
    const box = sandbox();
    const remote = bareRemote();
    box.write('a.txt', 'a\n');
    box.write('plans/q3.txt', `${secret}\n`);
    const workspace = await box.open();
    const one = await workspace.create({ name: 'one' });
    await workspace.sync.push(remote.path);
    expect(leaks(remote, secret)).toBe(true);
    configure(box, ['plans/']);
    expect(await workspace.sync.push(remote.path)).toMatchObject({ updated: [one.id], filtered: 1 });
    expect(leaks(remote, secret)).toBe(false);
    expect(await workspace.sync.push(remote.path)).toMatchObject({ updated: [], unchanged: 1 });
  });

  it('is nothing at all of a checkpoint that holds only such files', async () => {
    const box = sandbox();
    const remote = bareRemote();
    box.write('plans/q3.txt', `${secret}\n`);
    const workspace = await box.open();
    await workspace.create({ name: 'only' });
    configure(box, ['plans/']);
    await workspace.sync.push(remote.path);
    expect([...remote.paths()]).toEqual([]);
    const there = await sandbox().open();
    const { added } = await there.sync.fetch(remote.path);
    expect(added.map(({ title }) => title)).toEqual(['only']);
  });
});
