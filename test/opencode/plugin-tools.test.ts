import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { until } from '../rig/opencode';
import { call, write } from '../rig/script';
import { countIn, generations } from './gateway-fixture';
import { PluginRig } from './plugin-fixture';

describe.each(generations)("the agent's tools on OpenCode %s", (generation) => {
  let rig: PluginRig;
  beforeAll(async () => {
    rig = await PluginRig.start({ generation, files: { 'code.txt': 'good\n' } });
  });
  afterAll(() => rig.dispose());

  const file = (): Promise<string> => readFile(join(rig.server.workspace, 'code.txt'), 'utf8');
  const question = (session: string): Promise<{ id: string; action: string }> =>
    until(
      async () => (await rig.server.permissions(session))[0],
      60_000,
      () => 'the user was never asked',
    );

  it('rewinds a refactoring that went wrong, after the user allowed it', async () => {
    const { server } = rig;
    const session = await server.createSession('Refactoring');
    await server.turn(session, 'save the good state', [
      { tools: [call('checkpoint_create', { name: 'good | state', description: 'it works' })] },
      { text: 'Saved.' },
    ]);
    expect(rig.answers()[0]).toMatch(
      /^Checkpoint created: good \| state\n {2}ID: cp_[0-9a-z]{26}\n {2}Messages: 2\n {2}Git commit: [0-9a-f]{8}\n {2}Description: it works\n/,
    );
    const made = (await rig.list(session)).find(({ trigger }) => trigger === 'agent');
    expect(made).toMatchObject({ name: 'good | state', session: { id: session, messageCount: 2 } });

    await server.prompt(session, 'refactor it all', [
      { tools: [write('code.txt', 'broken\n'), write('junk.txt', 'junk\n')] },
      { tools: [call('checkpoint_list', {}), call('checkpoint_diff', { from: 'good | state' })] },
      { tools: [call('checkpoint_restore', { checkpoint: 'good | state' })] },
      { text: 'Stopped.' },
    ]);
    const asked = await question(session);
    expect(asked.action).toBe('checkpoint_restore');
    expect(await file()).toBe('broken\n');
    await server.answer(session, asked.id, 'once');
    await server.idle(session);
    const [, , list, diff, restored] = rig.answers();
    expect(list).toContain('| ID | Name | Messages | Created | Git | Task |');
    expect(list).toMatch(/\| cp_[0-9a-z]{26} \| good \\\| state \| 2 \| \d{4}-/);
    expect(diff).toContain('M code.txt +1 -1');
    expect(diff).toContain('A junk.txt +1 -0');
    expect(diff).toContain('+broken');
    expect(await file()).toBe('good\n');
    await expect(readFile(join(server.workspace, 'junk.txt'))).rejects.toThrow(/ENOENT/);
    expect(restored).toContain('Session restored to checkpoint: good | state');
    expect(restored).toContain('A new session has been created with 2 messages.');
    const fork = /New session ID: (ses_\S+)/.exec(restored ?? '')?.[1] ?? '';
    // OpenCode 2 keeps our note in the inbox until the next prompt, OpenCode 1 has it as a message already.
    expect(await countIn(server, fork)).toBe(generation === 'v1' ? 3 : 2);
    expect(await countIn(server, session)).toBe(8);
    // All that was finished when the restore began: without the step that asked for it, and its last word.
    const safety = (await rig.list()).find(({ restore }) => restore?.session === fork);
    expect(safety?.session).toMatchObject({ id: session, messageCount: 6 });

    await server.turn(fork, 'what is there to go back to', [{ tools: [call('checkpoint_list')] }, { text: 'This.' }]);
    expect(rig.answers()[0]).toContain('good \\| state');
  });

  it('changes nothing when the user says no', async () => {
    const { server } = rig;
    const session = await server.createSession('No');
    await server.prompt(session, 'go back without leave', [
      { tools: [write('code.txt', 'newer\n')] },
      { tools: [call('checkpoint_restore', { checkpoint: 'good | state', scope: 'files' })] },
      { text: 'Sorry.' },
    ]);
    const asked = await question(session);
    await server.answer(session, asked.id, 'reject');
    await server.idle(session);
    expect(await file()).toBe('newer\n');
    expect((await rig.list()).filter(({ trigger, restore }) => trigger === 'restore' && restore !== null)).toHaveLength(
      1,
    );
    const answered = JSON.stringify((await server.messages(session)).map(({ raw }) => raw));
    expect(answered).toContain('The user did not allow this restore');
  });

  it('knows the first version of each file that its session changed, and brings one back', async () => {
    const { server } = rig;
    await writeFile(join(server.workspace, 'code.txt'), 'before the session\n');
    const session = await server.createSession('Originals');
    await server.turn(session, 'change it twice', [
      { tools: [write('code.txt', 'first change\n')] },
      { tools: [write('code.txt', 'second change\n')] },
      { tools: [write('ma|de.txt', 'made here\n')] },
      { text: 'Changed.' },
    ]);
    await server.prompt(session, 'take the file back', [
      { tools: [call('checkpoint_list', { originals: true }), call('checkpoint_diff', { path: 'code.txt' })] },
      { tools: [call('checkpoint_diff', { path: 'nowhere.txt' }), call('checkpoint_diff', {})] },
      { tools: [call('checkpoint_restore', { path: 'code.txt', scope: 'conversation' })] },
      { tools: [call('checkpoint_restore', { path: 'code.txt' })] },
      { text: 'Back.' },
    ]);
    const asked = await question(session);
    expect(await file()).toBe('second change\n');
    await server.answer(session, asked.id, 'once');
    await server.idle(session);
    const [list, diff, foreign, nothing, scope, restored] = rig.answers();
    expect(list).toMatch(/^First versions \(2\):/);
    expect(list).toMatch(/\| code\.txt \| 19 bytes \| \d{4}-[^|]+ \| cp_[0-9a-z]{26} \| modified \|/);
    expect(list).toMatch(/\| ma\\\|de\.txt \| absent \| .* \| added \|/);
    expect(diff).toContain('-before the session\n+second change\n');
    expect(foreign).toContain('nowhere.txt is not among the files that this session changed');
    expect(nothing).toContain('"from" is missing');
    expect(scope).toContain('With "path" only files come back');
    expect(restored).toMatch(/^code\.txt restored from checkpoint: /);
    expect(await file()).toBe('before the session\n');
    expect(await readFile(join(server.workspace, 'ma|de.txt'), 'utf8')).toBe('made here\n');
    expect(restored).not.toContain('New session ID');
  });

  it('answers bad arguments so that a model can do better', async () => {
    const { server } = rig;
    const session = await server.createSession('Bad arguments');
    const mine = (await rig.list()).find(({ trigger }) => trigger === 'agent')?.id;
    await server.turn(session, 'all wrong', [
      {
        tools: [
          call('checkpoint_create', {}),
          call('checkpoint_restore', { checkpoint: 'never made' }),
          call('checkpoint_restore', { checkpoint: 'good | state', scope: 'everything' }),
          call('checkpoint_delete', { checkpoint: mine }),
          call('checkpoint_save', { status: 'bogus' }),
          call('checkpoint_load_snapshot', { name: 'nowhere' }),
          call('checkpoint_create', { name: 'falsified', metadata: { ticket: 1, turnEnd: mine } }),
          call('session_backup_sync', { force: true }),
          call('session_backup_restore', { confirm: true }),
        ],
      },
      { text: 'Done.' },
    ]);
    const [create, unknown, scope, other, status, snapshot, falsified, ...noBackup] = rig.answers();
    // OpenCode 2 looks at the schema itself, OpenCode 1 leaves all of it to us.
    expect(create).toMatch(generation === 'v1' ? /"name" is missing. Example: / : /name: Missing key/);
    expect(unknown).toContain('Restore failed: No checkpoint is named');
    expect(unknown).toContain('checkpoint_list');
    expect(scope).toContain('files, conversation, task');
    expect(other).toContain('not to this session');
    expect(status).toMatch(/not_started\W+in_progress\W+blocked\W+done/);
    expect(JSON.parse(snapshot ?? '')).toEqual({ error: 'Snapshot not found', name: 'nowhere', available: [] });
    const wayOut =
      'No backup path configured. The user can name a folder: OPENCODE_BACKUP_PATH, or the setting backup.path.';
    expect(noBackup).toEqual([`Backup failed: ${wayOut}`, `Restore failed: ${wayOut}`]);
    expect(falsified).toContain('Metadata cannot have "turnEnd"');
    expect((await rig.list()).some(({ name }) => name === 'falsified')).toBe(false);
    expect((await rig.list()).some(({ id }) => id === mine)).toBe(true);
  });

  it('has slash commands, and offers what the setting says', async () => {
    const { server } = rig;
    const where = encodeURIComponent(server.workspace);
    const path = generation === 'v1' ? `/command?directory=${where}` : `/api/command?location[directory]=${where}`;
    const listed = JSON.stringify((await server.request('GET', path)).body);
    expect(listed).toContain('"checkpoint"');
    expect(listed).toContain('"rewind"');
    const session = await server.createSession('Slash');
    server.model.on('/checkpoint create from a slash', [
      { tools: [call('checkpoint_create', { name: 'from a slash' })] },
      { text: 'Done.' },
    ]);
    if (generation === 'v1')
      await server.call('POST', `/session/${session}/command`, {
        command: 'checkpoint',
        arguments: 'create from a slash',
      });
    else
      await server.call('POST', `/api/session/${session}/command`, { name: 'checkpoint', text: 'create from a slash' });
    await rig.eventually(session, (all) => all.some(({ name }) => name === 'from a slash'), 'the checkpoint');
    await server.idle(session);

    const offered = server.model.requests.at(-1)?.tools.filter((name) => name.startsWith('checkpoint_')) ?? [];
    expect(offered).toHaveLength(12);
    await writeFile(join(server.workspace, '.opencode', 'checkpoints.json'), JSON.stringify({ tools: 'core' }));
    await server.stop();
    await server.start();
    await server.turn(session, 'which tools now');
    const now = server.model.requests.at(-1)?.tools.filter((name) => name.startsWith('checkpoint_')) ?? [];
    expect(now.sort()).toEqual(['checkpoint_create', 'checkpoint_diff', 'checkpoint_list', 'checkpoint_restore']);
  });
});
