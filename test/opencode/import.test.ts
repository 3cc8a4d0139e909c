import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Checkpoint, RestoreResult } from '../../src/core/model';
import type { SessionExport } from '../../src/core/sessions';
import type { ImportReport } from '../../src/imports/model';
import { runProgram, useBuilt } from '../git/cli-rig';
import { oldDatabase, put } from '../git/import-rig';
import { startOpenCode, type OpenCode } from '../rig/opencode';
import { gatewayTo } from './gateway-fixture';

const program = useBuilt('cli');

/** The old tools were plugins of OpenCode 1; their data goes back into it. */
describe('what older tools kept, on OpenCode 1', () => {
  let server: OpenCode;
  let scratch: string;
  beforeAll(async () => {
    scratch = realpathSync(mkdtempSync(path.join(tmpdir(), 'checkpoints-import-')));
    server = await startOpenCode({ generation: 'v1', files: { 'a.txt': 'one\n' } });
  });
  afterAll(async () => {
    await server?.dispose();
    rmSync(scratch, { recursive: true, force: true });
  });

  const answer = async <T>(args: string[], env: NodeJS.ProcessEnv = {}): Promise<T> => {
    const ran = await runProgram(process.execPath, [program(), ...args, '--json'], {
      cwd: server.workspace,
      env: { ...server.env, OPENCODE_SERVER_URL: server.url, OPENCODE_BIN: server.binary, ...env },
    });
    expect({ code: ran.code, stdout: ran.stdout, stderr: ran.stderr }).toMatchObject({ code: 0, stderr: '' });
    return JSON.parse(ran.stdout) as T;
  };
  const texts = async (session: string): Promise<string[]> => (await server.messages(session)).map(({ text }) => text);

  it('a bookmark forks exactly the messages it counted, whether a server was there at its import or not', async () => {
    const session = await server.createSession('Old work');
    await server.turn(session, 'first', [{ text: 'One.' }]);
    await server.turn(session, 'make a checkpoint', [{ text: 'Made.' }]);
    await server.turn(session, 'third', [{ text: 'Three.' }]);
    const all = await server.messages(session);
    const row = { session_id: session, message_count: 4, metadata: JSON.stringify({ directory: server.workspace }) };
    const file = path.join(scratch, 'checkpoints.db');

    // The old plugin forked before the last message it had counted: three instead of four.
    const expectFork = async (name: string): Promise<void> => {
      const { result } = await answer<{ result: RestoreResult }>(['restore', name, '--scope', 'conversation']);
      const forked = await texts(result.session?.id ?? '');
      expect(forked.slice(0, 4)).toEqual(['first', 'One.', 'make a checkpoint', 'Made.']);
      // One more message tells the agent what happened.
      expect(forked.slice(4)).toEqual([expect.stringMatching(/^\[Checkpoints\]/)]);
    };

    await oldDatabase(file, [{ ...row, id: 1, name: 'with a server' }]);
    await answer<ImportReport>(['import', '--from', 's1', file]);
    const { checkpoint } = await answer<{ checkpoint: Checkpoint }>(['show', 'with a server']);
    expect(checkpoint.session).toEqual({
      id: session,
      messageId: all[3]?.id,
      messageCount: 4,
      title: 'Old work',
      parent: null,
    });
    await expectFork('with a server');

    await oldDatabase(file, [
      { ...row, id: 2, name: 'without one' },
      { ...row, id: 3, name: 'too many', message_count: 40 },
    ]);
    const nobody = { OPENCODE_SERVER_URL: 'http://127.0.0.1:9' };
    const report = await answer<ImportReport>(['import', '--from', 's1', file], nobody);
    expect(report.imported).toHaveLength(2);
    const later = await answer<{ checkpoint: Checkpoint }>(['show', 'without one']);
    expect(later.checkpoint.session).toMatchObject({ messageId: null, messageCount: 4 });
    await expectFork('without one');
    const refused = await runProgram(
      process.execPath,
      [program(), 'restore', 'too many', '--scope', 'conversation', '--json'],
      { cwd: server.workspace, env: { ...server.env, OPENCODE_SERVER_URL: server.url } },
    );
    expect(JSON.parse(refused.stdout)).toMatchObject({ error: { reason: 'message-missing' } });
    expect(await server.messages(session)).toEqual(all);
  });

  it('sessions of an old backup come back, once, and can be continued', async () => {
    const session = await server.createSession('Saved long ago');
    await server.turn(session, 'remember this', [{ text: 'I do.' }]);
    const before = await texts(session);
    const old = path.join(scratch, 'opencode-sessions');
    spread(old, await (await gatewayTo(server)).exportSession(session));
    put(path.join(old, 'session/global/ses_damaged.json'), '{"id": "ses_dam');
    put(
      path.join(old, 'session/global/ses_000000000001elsewhere00000000.json'),
      JSON.stringify({
        id: 'ses_000000000001elsewhere00000000',
        title: 'Other',
        directory: scratch,
        time: { created: 1, updated: 2 },
      }),
    );
    // Of a project that is not on this machine any more: it comes only to whoever names the folder.
    put(
      path.join(old, 'session/global/ses_000000000002movedaway0000000.json'),
      JSON.stringify({
        id: 'ses_000000000002movedaway0000000',
        title: 'Moved away',
        directory: path.join(scratch, 'not-there'),
        time: { created: 1, updated: 2 },
      }),
    );
    put(path.join(old, 'message/ses_000000000002movedaway0000000/.keep'), '');
    await server.call('DELETE', `/session/${session}`);

    const usual = await answer<ImportReport>(['import', '--from', 's4', '--dry-run'], { OPENCODE_BACKUP_PATH: old });
    expect(usual.imported.map(({ id }) => id)).toEqual([session]);
    expect(usual.skipped).toContainEqual({
      item: 'Moved away (ses_000000000002movedaway0000000)',
      reason: expect.stringContaining('which is not there any more') as string,
    });
    const named = await answer<ImportReport>(['import', '--from', 's4', old, '--dry-run']);
    expect(named.imported.map(({ title }) => title).sort()).toEqual(['Moved away', 'Saved long ago']);
    rmSync(path.join(old, 'session/global/ses_000000000002movedaway0000000.json'));
    const dry = await answer<ImportReport>(['import', '--from', 's4', old, '--dry-run']);
    expect(dry.imported.map(({ id, title }) => [id, title])).toEqual([[session, 'Saved long ago']]);
    const report = await answer<ImportReport>(['import', '--from', 's4', old]);
    expect(report.imported.map(({ id }) => id)).toEqual([session]);
    expect(report.skipped).toContainEqual({
      item: 'Other (ses_000000000001elsewhere00000000)',
      reason: `belongs to ${scratch}`,
    });
    expect(report.problems).toEqual([{ item: 'session/global/ses_damaged.json', message: 'It is not a session' }]);
    expect(await texts(session)).toEqual(before);
    const again = await answer<ImportReport>(['import', '--from', 's4', old]);
    expect(again.imported).toEqual([]);
    expect(again.skipped).toHaveLength(2);
    await server.turn(session, 'and now?', [{ text: 'Going on.' }]);
    expect(await texts(session)).toEqual([...before, 'and now?', 'Going on.']);
  });
});

/** An exported session as the folders of JSON files that OpenCode once had. */
function spread(folder: string, { info, messages }: SessionExport): void {
  const write = (file: string, value: unknown): void => put(path.join(folder, file), JSON.stringify(value, null, 2));
  const { slug: _newer, ...session } = info as Record<string, unknown> & { id: string };
  write(`project/${String(info['projectID'])}.json`, { id: info['projectID'] });
  write(`session/${String(info['projectID'])}/${info.id}.json`, session);
  for (const { info: message, parts } of messages as Array<{ info: { id: string }; parts: Array<{ id: string }> }>) {
    write(`message/${info.id}/${message.id}.json`, message);
    for (const part of parts) write(`part/${message.id}/${part.id}.json`, part);
  }
}
