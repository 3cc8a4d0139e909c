import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type {
  BackupReport,
  BackupStatus,
  RestorePreview,
  SessionRestoreReport,
  VerifyReport,
} from '../../src/backup/api';
import type { SessionExport } from '../../src/core/sessions';
import { runProgram, useBuilt, type Ran } from '../git/cli-rig';
import { startOpenCode, type Generation, type OpenCode } from '../rig/opencode';
import { subagent, todos, write } from '../rig/script';
import { gatewayTo, generations } from './gateway-fixture';

const program = useBuilt('cli');

const servers: OpenCode[] = [];
let backup = '';
beforeEach(async () => {
  backup = join(await mkdtemp(join(tmpdir(), 'checkpoints-lost-')), 'opencode-sessions');
});
afterEach(async () => {
  for (const server of servers.splice(0)) await server.dispose();
  await rm(dirname(backup), { recursive: true, force: true });
});

const start = async (generation: Generation): Promise<OpenCode> => {
  const server = await startOpenCode({ generation });
  servers.push(server);
  return server;
};
const run = (server: OpenCode, args: string[]): Promise<Ran> => runCli(server, ['backup', ...args]);
const runCli = (server: OpenCode, args: string[], env: NodeJS.ProcessEnv = {}): Promise<Ran> =>
  runProgram(process.execPath, [program(), ...args, '--json'], {
    cwd: server.workspace,
    env: {
      ...server.env,
      OPENCODE_SERVER_URL: server.url,
      OPENCODE_BIN: server.binary,
      OPENCODE_BACKUP_PATH: backup,
      ...env,
    },
  });
const answer = async <T>(server: OpenCode, ...args: string[]): Promise<T> => {
  const ran = await run(server, args);
  expect({ code: ran.code, stdout: ran.stdout, stderr: ran.stderr }).toMatchObject({ code: 0, stderr: '' });
  return (JSON.parse(ran.stdout) as { backup: T }).backup;
};
const raw = async (server: OpenCode, session: string): Promise<unknown[]> =>
  (await server.messages(session)).map((message) => message.raw);
const states = async (server: OpenCode): Promise<Record<string, string>> => {
  const { sessions } = await answer<RestorePreview>(server, 'restore', '--dry-run');
  return Object.fromEntries(sessions.map(({ id, state }) => [id, state]));
};

describe.each(generations)('sessions of OpenCode %s that were backed up', (generation) => {
  // Each import of OpenCode 1 is a program that starts: on a busy machine that adds up.
  it('are all back on a fresh machine, and go on', { timeout: 600_000 }, async () => {
    const lost = await start(generation);
    const gateway = await gatewayTo(lost);
    const main = await lost.createSession('The work');
    await lost.turn(main, 'write a file', [{ text: 'Writing.', tools: [write('a.txt', '1\n')] }, { text: 'Done.' }]);
    if (generation === 'v1')
      await lost.turn(main, 'make a plan', [{ tools: [todos('first', 'second')] }, { text: 'Planned.' }]);
    lost.model.on('look into it', [{ text: 'Looked.' }]);
    await lost.turn(main, 'delegate', [{ tools: [subagent('look into it')] }, { text: 'Delegated.' }]);
    const second = await lost.createSession('Ümläute & "quotes"');
    await lost.turn(second, 'say something', [{ text: 'Something: 🎉' }]);
    const elsewhere = join(lost.home, 'elsewhere');
    await mkdir(elsewhere);
    const other =
      generation === 'v1'
        ? await lost.call<{ id: string }>('POST', `/session?directory=${encodeURIComponent(elsewhere)}`, {
            title: 'Other',
          })
        : (
            await lost.call<{ data: { id: string } }>('POST', '/api/session', {
              title: 'Other',
              location: { directory: elsewhere },
            })
          ).data;
    if (generation === 'v1') await lost.call('PATCH', `/session/${second}`, { time: { archived: Date.now() } });
    const child = (await gateway.list(lost.workspace)).find(({ parentId }) => parentId === main)?.id ?? '';
    expect(child).toMatch(/^ses_/);
    const all = [main, second, other.id, child].sort();

    expect(await answer<BackupStatus>(lost, 'status')).toMatchObject({
      path: backup,
      source: 'environment',
      state: 'idle',
      sessions: 0,
      lastRunAt: null,
      problem: null,
    });
    const first = await answer<BackupReport>(lost, 'run');
    expect(first).toMatchObject({ path: backup, sessions: 4, written: 4, failed: [], problem: null });
    // In OpenCode's own format: what its own export prints.
    const { projectId } = await gateway.get(main);
    const file = join(backup, 'sessions', projectId ?? '', `${main}.json`);
    const saved = JSON.parse(await readFile(file, 'utf8')) as SessionExport;
    const own = generation === 'v1' ? ['export', main] : ['session', 'export', main, '--server', lost.url];
    expect(saved).toEqual(JSON.parse(await lost.cli(...own)));

    // One goes on. OpenCode 2 does not change the session's time when a turn ends.
    await lost.turn(second, 'say more', [{ text: 'More.' }]);
    expect(await answer<BackupReport>(lost, 'run')).toMatchObject({ sessions: 4, written: 1, problem: null });
    const inBackup = await readFile(join(backup, 'sessions', projectId ?? '', `${second}.json`), 'utf8');
    expect(inBackup).toContain('More.');
    expect(await answer<BackupReport>(lost, 'run')).toMatchObject({ written: 0, deleted: 0, kept: 0 });
    expect(await answer<VerifyReport>(lost, 'verify')).toMatchObject({ damaged: [] });

    const before = new Map<string, unknown[]>();
    for (const id of all) before.set(id, await raw(lost, id));
    const plan = await gateway.todos(main);
    await lost.dispose();

    const fresh = await start(generation);
    const back = await gatewayTo(fresh);
    expect(await states(fresh)).toEqual(Object.fromEntries(all.map((id) => [id, 'new'])));
    // A machine that is empty takes nothing out of the backup.
    expect(await answer<BackupReport>(fresh, 'run')).toMatchObject({ sessions: 0, deleted: 0, problem: null });
    const report = await answer<SessionRestoreReport>(fresh, 'restore', '--yes');
    expect(report).toMatchObject({ skipped: [], failed: [] });
    expect(report.restored.map(({ id }) => id).sort()).toEqual(all);
    for (const id of all) expect(await raw(fresh, id)).toEqual(before.get(id));
    expect(await back.get(child)).toMatchObject({ parentId: main });
    expect(await back.get(second)).toMatchObject({ title: 'Ümläute & "quotes"', directory: fresh.workspace });
    expect(await back.todos(main)).toEqual(plan);
    if (generation === 'v1') expect(report.restored.find(({ id }) => id === main)?.todos).toBe('restored');
    expect(await states(fresh)).toEqual(Object.fromEntries(all.map((id) => [id, 'same'])));

    await fresh.turn(main, 'go on where we were', [{ text: 'Going on.' }]);
    const texts = (await fresh.messages(main)).map(({ text }) => text);
    expect(texts).toContain('Going on.');
    expect(fresh.model.requests.filter(({ kind }) => kind === 'turn').at(-1)?.messages.length).toBeGreaterThan(4);
    expect(await states(fresh)).toMatchObject({ [main]: 'older', [second]: 'same' });
    // What is there stays; as a copy it comes in beside it, and goes on as well.
    expect((await answer<SessionRestoreReport>(fresh, 'restore', main)).skipped.map(({ id }) => id).sort()).toEqual(
      [main, child].sort(),
    );
    // Where there is nothing to do, nobody is asked.
    const asked = await runProgram(process.execPath, [program(), 'backup', 'restore', main], {
      cwd: fresh.workspace,
      env: { ...fresh.env, OPENCODE_SERVER_URL: fresh.url, OPENCODE_BIN: fresh.binary, OPENCODE_BACKUP_PATH: backup },
    });
    expect(asked).toMatchObject({ code: 0, stderr: '' });
    const copies = await answer<SessionRestoreReport>(fresh, 'restore', main, '--existing', 'copy');
    const copy = copies.restored.find(({ from }) => from === main)?.id ?? '';
    expect(copy).not.toBe(main);
    expect(await back.get(copy)).toMatchObject({ title: 'The work (from backup)' });
    expect((await fresh.messages(copy)).map(({ text }) => text)).not.toContain('Going on.');
    await fresh.turn(copy, 'go on in the copy', [{ text: 'In the copy.' }]);
    expect((await fresh.messages(main)).map(({ text }) => text)).toEqual(texts);

    // A checkpoint of a session that was deleted since finds its conversation in the backup.
    const kept = await fresh.createSession('Kept by the backup');
    await fresh.turn(kept, 'to be deleted', [{ text: 'Deleted.' }]);
    const cli = async (...args: string[]): Promise<Record<string, unknown>> => {
      const ran = await runCli(fresh, args);
      expect({ code: ran.code, stdout: ran.stdout }).toMatchObject({ code: 0 });
      return JSON.parse(ran.stdout) as Record<string, unknown>;
    };
    await cli('create', 'before the deletion', '--session', kept);
    await answer<BackupReport>(fresh, 'run');
    await back.remove(kept);
    const again = ['restore', 'before the deletion', '--scope', 'conversation'];
    const without = await runCli(fresh, again, { OPENCODE_BACKUP_PATH: '' });
    expect(JSON.parse(without.stdout)).toMatchObject({ error: { reason: 'session-missing' } });
    const { result } = (await cli(...again)) as {
      result: { session: { id: string } };
    };
    const said = (await fresh.messages(result.session.id)).map(({ text }) => text);
    expect(said).toContain('Deleted.');

    // The new machine's backup goes on with the old one's folder.
    expect((await answer<BackupReport>(fresh, 'run')).problem).toBeNull();
    expect(await answer<BackupStatus>(fresh, 'status')).toMatchObject({ machines: 2, deletedSessions: 0 });
    expect(await answer<VerifyReport>(fresh, 'verify')).toMatchObject({ damaged: [] });
    await fresh.stop();
    const gone = await run(fresh, ['run']);
    expect(gone.code).toBe(1);
    expect(JSON.parse(gone.stdout)).toMatchObject({ error: { reason: 'backup-failed' } });
  });
});

it('brings sessions back from the old JSON folders of OpenCode 1', async () => {
  const server = await start('v1');
  const session = await server.createSession('Long ago');
  await server.turn(session, 'write', [{ text: 'Writing.', tools: [write('b.txt', '1\n')] }, { text: 'Done.' }]);
  const gateway = await gatewayTo(server);
  const document = await gateway.exportSession(session);
  const before = await raw(server, session);
  await gateway.remove(session);
  const old = join(dirname(backup), 'old');
  const put = async (path: string, value: unknown): Promise<void> => {
    await mkdir(dirname(join(old, path)), { recursive: true });
    await writeFile(join(old, path), JSON.stringify(value));
  };
  const { slug: _slug, agent: _agent, model: _model, path: _path, ...info } = document.info;
  await put(`session/global/${session}.json`, info);
  for (const { info: message, parts } of document.messages as Array<{
    info: { id: string };
    parts: Array<{ id: string }>;
  }>) {
    await put(`message/${session}/${message.id}.json`, message);
    for (const part of parts) await put(`part/${message.id}/${part.id}.json`, part);
  }
  await put(`todo/${session}.json`, [{ id: '1', content: 'old todo', status: 'pending', priority: 'low' }]);
  const report = await answer<SessionRestoreReport>(server, 'restore', '--from', old);
  expect(report).toMatchObject({ failed: [], restored: [{ id: session, todos: 'restored' }] });
  expect(await raw(server, session)).toEqual(before);
  expect(await gateway.todos(session)).toMatchObject([{ content: 'old todo' }]);
  await server.turn(session, 'go on', [{ text: 'After all these years.' }]);
  expect((await server.messages(session)).at(-1)?.text).toBe('After all these years.');
  expect((await readdir(old)).sort()).toEqual(['message', 'part', 'session', 'todo']);
});
