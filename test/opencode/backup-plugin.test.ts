import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { until } from '../rig/opencode';
import { call } from '../rig/script';
import { gatewayTo, generations } from './gateway-fixture';
import { PluginRig } from './plugin-fixture';

describe.each(generations)('the backup inside OpenCode %s', (generation) => {
  let rig: PluginRig;
  let backup = '';
  beforeAll(async () => {
    backup = join(await mkdtemp(join(tmpdir(), 'checkpoints-plugin-')), 'opencode-sessions');
    rig = await PluginRig.start({ generation, env: { OPENCODE_BACKUP_PATH: backup } });
  });
  afterAll(async () => {
    await rig.dispose();
    await rm(dirname(backup), { recursive: true, force: true });
  });

  const files = async (top: string): Promise<string[]> => {
    const names = await readdir(join(backup, top), { recursive: true }).catch(() => []);
    return names.filter((name) => /ses_[^/]*\.json$/.test(name) && !name.endsWith('.todos.json'));
  };
  const has = async (top: string, session: string): Promise<string | undefined> =>
    (await files(top)).find((name) => name.endsWith(`/${session}.json`));
  const ask = async (session: string, prompt: string, tool: string, args = {}): Promise<string> => {
    await rig.server.turn(session, prompt, [{ tools: [call(tool, args)] }, { text: 'Done.' }]);
    return rig.answers()[0] ?? '';
  };

  it('saves by itself after a turn, and answers the agent as it expects', { timeout: 600_000 }, async () => {
    const { server } = rig;
    const session = await server.createSession('Saved by itself');
    await server.turn(session, 'say something', [{ text: 'This must survive.' }]);
    const saved = await until(
      async () => {
        const file = await has('sessions', session);
        const text = file === undefined ? '' : await readFile(join(backup, 'sessions', file), 'utf8');
        // Whole, and with the answer: a run in the middle of the turn is followed by another one.
        return text.includes('This must survive.') && file;
      },
      120_000,
      () => `never saved: ${session}`,
    );
    expect(JSON.parse(await readFile(join(backup, 'sessions', saved), 'utf8'))).toMatchObject({
      info: { id: session },
    });

    const forced = await ask(session, 'save now', 'session_backup_sync', { force: true });
    expect(forced).toMatch(/^Backup complete in \d+\.\ds(, \d+ files changed)?\. Destination: /);
    expect(forced).toContain(backup);
    expect(await ask(session, 'and again', 'session_backup_sync')).toMatch(
      /^Sync skipped - last sync \d+s ago\. Wait \d+s or force=true\.$/,
    );
    const status = await ask(session, 'how does it stand', 'session_backup_status');
    expect(status.split('\n').map((line) => line.split(':')[0])).toEqual([
      'Backup path',
      'Source path',
      'Sessions backed up',
      'Backup size',
      'Last backup',
      'Last sync',
      'Last sync success',
      'Syncs this session',
      'Sync pending',
    ]);
    expect(status).toContain(`Backup path: ${backup}`);
    expect(status).toContain('Sessions backed up: 1\n');
    expect(status).toContain('Last sync success: yes');
    // What a machine that died in the middle of its last run leaves behind.
    const own = join(server.home, 'data', 'opencode-checkpoints', 'backup');
    const [facts = ''] = (await readdir(own)).filter((name) => /^[0-9a-f]{16}\.json$/.test(name));
    const known = JSON.parse(await readFile(join(own, facts), 'utf8')) as object;
    const cutOff = { ...known, lastRunAt: new Date().toISOString(), lastSuccessAt: '2026-01-01T00:00:00.000Z' };
    await writeFile(join(own, facts), JSON.stringify(cutOff));
    expect(await ask(session, 'did it end', 'session_backup_status')).toContain('Last sync success: no (under way');
    expect(await ask(session, 'then anew', 'session_backup_sync')).toMatch(/^Backup complete in /);
    expect(await ask(session, 'bring all back', 'session_backup_restore', { confirm: false })).toMatch(
      /^Restore requires confirm=true\./,
    );

    // A deletion is told by an event: the only other session is enough for a list that is believed.
    const doomed = await server.createSession('Doomed');
    await server.turn(doomed, 'a word', [{ text: 'A word.' }]);
    await ask(session, 'save both', 'session_backup_sync', { force: true });
    expect(await has('sessions', doomed)).toBeDefined();
    const gateway = await gatewayTo(server);
    const before = (await server.messages(doomed)).map(({ raw }) => raw);
    await gateway.remove(doomed);
    await until(
      async () => {
        await ask(session, `save after the deletion ${Date.now()}`, 'session_backup_sync', { force: true });
        return has('deleted', doomed);
      },
      60_000,
      () => 'the deleted session was never set aside',
    );
    expect(await has('sessions', doomed)).toBeUndefined();

    // What is only in the backup comes back, and nothing else changes.
    const lost = await server.createSession('Lost');
    await server.turn(lost, 'another word', [{ text: 'Another word.' }]);
    const kept = (await server.messages(lost)).map(({ raw }) => raw);
    await ask(session, 'save the third', 'session_backup_sync', { force: true });
    await server.stop();
    await rm(join(server.home, 'data', 'opencode'), { recursive: true, force: true });
    await server.start();
    const helper = await server.createSession('After the loss');
    const restored = await ask(helper, 'bring all of it back', 'session_backup_restore', { confirm: true });
    expect(restored).toMatch(
      /^Restore complete in \d+\.\ds\. Restart OpenCode to see restored sessions\.\n2 sessions restored, /,
    );
    expect((await server.messages(lost)).map(({ raw }) => raw)).toEqual(kept);
    await server.turn(lost, 'go on', [{ text: 'Going on.' }]);
    expect((await server.messages(lost)).some(({ text }) => text === 'Going on.')).toBe(true);
    expect(before.length).toBeGreaterThan(1);
  });
});
