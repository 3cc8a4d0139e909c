import { existsSync } from 'node:fs';
import { copyFile, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { until } from '../rig/opencode';
import { call, shell, write, type Script } from '../rig/script';
import { gatewayTo, generations } from './gateway-fixture';
import { PluginRig } from './plugin-fixture';

describe.each(generations)('going back by the agent on OpenCode %s', (generation) => {
  let rig: PluginRig;
  beforeAll(async () => {
    rig = await PluginRig.start({ generation, files: { 'a.txt': 'one\n' } });
  });
  afterAll(() => rig.dispose());

  const file = (path: string): Promise<string> => readFile(join(rig.server.workspace, path), 'utf8');
  const restore = (args: Record<string, unknown>): Script => [
    { tools: [call('checkpoint_restore', args)] },
    { text: 'Stopped.' },
  ];
  /** The question the user is asked, or null when the turn ended without one. */
  const asked = async (session: string): Promise<{ id: string; title: string } | null> => {
    const seen = await until(
      async () => {
        const [question] = await rig.server.permissions(session);
        if (question) return question;
        const spoken = (await rig.server.messages(session)).filter(
          ({ type }) => type === 'user' || type === 'assistant',
        );
        return spoken.at(-1)?.text === 'Stopped.' && 'none';
      },
      60_000,
      () => 'neither asked nor answered',
    );
    if (seen === 'none') return null;
    return { id: seen.id, title: seen.metadata?.title ?? '' };
  };

  it('leaves alone what another session is at work on', async () => {
    const { server } = rig;
    const mine = await server.createSession('Mine');
    const other = await server.createSession('Other');
    await server.turn(mine, 'my work', [{ tools: [write('a.txt', 'mine\n')] }, { text: 'Done.' }]);
    await server.prompt(other, 'long work', [
      { tools: [write('b.txt', 'theirs\n')] },
      { tools: [shell('sleep 120')] },
      { text: 'Done.' },
    ]);
    await until(
      async () => (await rig.list(other)).some(({ cause }) => cause?.tool === (generation === 'v1' ? 'bash' : 'shell')),
      30_000,
      () => 'the other session never came to its shell',
    );
    const [theirs] = await rig.list(other);
    const [own] = await rig.list(mine);
    for (const [prompt, args] of [
      ['rewind them', { checkpoint: theirs?.id }],
      ['rewind their files', { checkpoint: theirs?.id, scope: 'files' }],
      ['rewind myself', { checkpoint: own?.id }],
    ] as const) {
      await server.prompt(mine, prompt, restore(args));
      expect(await asked(mine)).toBeNull();
      await server.idle(mine);
      expect(rig.answers().at(-1)).toMatch(
        new RegExp(`Restore failed: Session ${other} is at work\\. Wait until that work has ended`),
      );
    }
    expect(await file('b.txt')).toBe('theirs\n');
    await server.interrupt(other);
    await server.prompt(mine, 'rewind when they are done', restore({ checkpoint: own?.id, scope: 'files' }));
    const question = await asked(mine);
    await server.answer(mine, question?.id ?? '', 'once');
    await server.idle(mine);
    expect(await file('a.txt')).toBe('one\n');
    expect(existsSync(join(server.workspace, 'b.txt'))).toBe(false);
  });

  it('asks again about what the user changed while the question stood there', async () => {
    const { server } = rig;
    const session = await server.createSession('Slow answer');
    await writeFile(join(server.workspace, 'slow.txt'), 'before\n');
    await server.turn(session, 'change it', [{ tools: [write('slow.txt', 'agent\n')] }, { text: 'Done.' }]);
    const point = (await rig.list(session)).find(({ trigger }) => trigger === 'turn');
    await server.prompt(session, 'rewind', restore({ checkpoint: point?.id, scope: 'files' }));
    const first = await asked(session);
    expect(first?.title).toMatch(/^Restore before "change it": write 1 and delete 0 files/);
    await writeFile(join(server.workspace, 'mine.txt'), 'written while the question stood there\n');
    await server.answer(session, first?.id ?? '', 'once');
    const second = await until(
      async () => (await server.permissions(session)).find(({ id }) => id !== first?.id),
      60_000,
      () => 'not asked again',
    );
    expect(second.metadata?.title).toContain('mine.txt. Nothing was restored. Asked anew: Restore ');
    expect([await file('slow.txt'), await file('mine.txt')]).toEqual([
      'agent\n',
      'written while the question stood there\n',
    ]);
    await server.answer(session, second.id, 'once');
    await server.idle(session);
    expect(await file('slow.txt')).toBe('before\n');
    expect(existsSync(join(server.workspace, 'mine.txt'))).toBe(false);
  });

  it('takes paths as it prints them, as the session knows them, and through links', async () => {
    const { server } = rig;
    const link = join(server.home, 'linked');
    const sub = join(server.workspace, 'sub');
    await mkdir(join(sub, 'sub'), { recursive: true });
    await writeFile(join(sub, 'c.txt'), 'outer\n');
    await symlink(server.workspace, link);
    for (const path of ['sub/d.txt', 'sub/sub/d.txt']) await writeFile(join(server.workspace, path), 'first\n');

    const below = await server.createSession('Below', sub);
    await server.turn(below, 'change all', [
      { tools: [write('c.txt', 'changed\n')] },
      { tools: [write('d.txt', 'changed\n')] },
      { tools: [write('sub/d.txt', 'changed\n')] },
      { text: 'Done.' },
    ]);
    await server.turn(below, 'compare', [
      { tools: [call('checkpoint_diff', { path: 'sub/c.txt' }), call('checkpoint_diff', { path: 'c.txt' })] },
      { tools: [call('checkpoint_diff', { from: 'latest~1', path: 'sub/c.txt' })] },
      { tools: [call('checkpoint_diff', { from: 'latest~1', path: 'nowhere.txt' })] },
      { tools: [call('checkpoint_restore', { path: 'sub/d.txt' })] },
      { tools: [call('checkpoint_diff', { path: './d.txt' })] },
      { text: 'Done.' },
    ]);
    const [printed, near, named, nowhere, both, dotted] = rig.answers();
    for (const answer of [printed, near, named]) expect(answer).toContain('M sub/c.txt +1 -1');
    expect(nowhere).toContain('nowhere.txt is neither in the checkpoint nor in the workspace.');
    expect(both).toContain(
      `sub/d.txt can be ${join(sub, 'd.txt')} or ${join(sub, 'sub/d.txt')}: name the one you mean by its whole path.`,
    );
    expect(dotted).toContain('M sub/d.txt +1 -1');

    const linked = await server.createSession('Linked', link);
    await server.turn(linked, 'change by link', [{ tools: [write('a.txt', 'by link\n')] }, { text: 'Done.' }]);
    await server.turn(linked, 'compare by link', [
      { tools: [call('checkpoint_diff', { path: 'a.txt' })] },
      { tools: [call('checkpoint_diff', { path: join(link, 'a.txt') })] },
      { tools: [call('checkpoint_diff', { path: join(server.workspace, 'a.txt') })] },
      { text: 'Done.' },
    ]);
    for (const answer of rig.answers()) expect(answer).toContain('M a.txt +1 -1');
  });

  it('does not ask for what only the user can confirm', async () => {
    const { server } = rig;
    const session = await server.createSession('Many');
    await server.turn(session, 'make many', [
      { tools: [call('checkpoint_create', { name: 'few' })] },
      { tools: [shell('for i in $(seq 60); do echo $i > m$i.txt; done')] },
      { text: 'Done.' },
    ]);
    const few = (await rig.list(session)).find(({ name }) => name === 'few');
    await server.prompt(session, 'back to few', restore({ checkpoint: 'few', scope: 'files' }));
    expect(await asked(session)).toBeNull();
    await server.idle(session);
    expect(rig.answers().at(-1)).toContain(`opencode-checkpoints restore ${few?.id} --scope files --allow-mass-delete`);
    expect(await file('m60.txt')).toBe('60\n');
  });

  it('counts latest in its own conversation, and gives the prompt back', async () => {
    const { server } = rig;
    const mine = await server.createSession('Counting');
    const other = await server.createSession('In between');
    const prompt = `write something\n${'and more '.repeat(80)}`.trim();
    await server.turn(mine, prompt, [{ tools: [write('count.txt', 'mine\n')] }, { text: 'Done.' }]);
    await server.turn(other, 'in between', [{ tools: [write('between.txt', 'x\n')] }, { text: 'Done.' }]);
    server.model.on('/checkpoint diff', [
      { tools: [call('checkpoint_diff', { from: 'latest~1' })] },
      { text: 'Shown.' },
    ]);
    if (generation === 'v1')
      await server.call('POST', `/session/${mine}/command`, { command: 'checkpoint', arguments: 'diff' });
    else await server.call('POST', `/api/session/${mine}/command`, { name: 'checkpoint', text: 'diff' });
    await until(
      async () => (await server.messages(mine)).some(({ text }) => text === 'Shown.'),
      60_000,
      () => 'the command was never carried out',
    );
    await server.idle(mine);
    expect(rig.answers().at(-1)).toContain('A count.txt +1 -0');
    const turns = (await rig.list(mine)).filter(({ trigger }) => trigger === 'turn');
    expect(turns.map(({ title }) => title)).toEqual(['write something', '/checkpoint diff']);

    await server.prompt(mine, 'rewind two', restore({ checkpoint: 'latest~2' }));
    const question = await asked(mine);
    await server.answer(mine, question?.id ?? '', 'once');
    await server.idle(mine);
    const answer = rig.answers().at(-1) ?? '';
    expect(answer).toContain('Session restored to checkpoint: write something');
    expect(answer).toContain(`for the user to edit and send again:\n${prompt}`);
    expect(existsSync(join(server.workspace, 'count.txt'))).toBe(false);
  });

  it('leaves no question behind when it is interrupted', async () => {
    const { server } = rig;
    const session = await server.createSession('Interrupted');
    await server.turn(session, 'make one', [{ tools: [call('checkpoint_create', { name: 'kept' })] }, { text: 'Ok.' }]);
    await server.prompt(session, 'ask and be stopped', restore({ checkpoint: 'kept', scope: 'files' }));
    expect(await asked(session)).not.toBeNull();
    await server.interrupt(session);
    await until(
      async () => (await server.permissions(session)).length === 0,
      20_000,
      () => 'the question still stands',
    );
  });
});

describe.each(generations)('a session below a root without git on OpenCode %s', (generation) => {
  it('knows the checkpoints of what it was forked from', async () => {
    const files = { 'a.txt': 'one\n', 'project/c.txt': 'sea\n' };
    const rig = await PluginRig.start({ generation, git: false, files });
    try {
      const { server } = rig;
      const project = join(server.workspace, 'project');
      const plugin = '.opencode/plugins/opencode-checkpoints.js';
      await mkdir(join(project, '.opencode/plugins'), { recursive: true });
      await copyFile(join(server.workspace, plugin), join(project, plugin));
      // The root gets its store by the first turn in it.
      await server.turn(await server.createSession('Root'), 'at the root');
      const session = await server.createSession('Project', project);
      await server.turn(session, 'in the project', [
        { tools: [call('checkpoint_create', { name: 'middle' })] },
        { text: 'Done.' },
      ]);
      const made = (await rig.list(session)).find(({ name }) => name === 'middle');
      const fork = await (await gatewayTo(server)).fork(session, null);
      await server.turn(fork.session.id, 'what is there', [{ tools: [call('checkpoint_list')] }, { text: 'This.' }]);
      expect(rig.answers()[0]).toContain(made?.id);
    } finally {
      await rig.dispose();
    }
  });
});
