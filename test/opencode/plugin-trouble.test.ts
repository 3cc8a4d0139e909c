import { existsSync } from 'node:fs';
import { copyFile, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { until } from '../rig/opencode';
import { call, edit, shell, write } from '../rig/script';
import { gatewayTo, generations } from './gateway-fixture';
import { PluginRig } from './plugin-fixture';

describe.each(generations)('trouble on OpenCode %s', (generation) => {
  it('goes on after the server was killed in the middle of a turn', async () => {
    const rig = await PluginRig.start({ generation, files: { 'a.txt': 'one\n' } });
    try {
      const { server } = rig;
      const session = await server.createSession('Killed');
      await server.prompt(session, 'long work', [
        { tools: [write('a.txt', 'two\n')] },
        { tools: [shell('echo half > b.txt; sleep 20')] },
        { text: 'Never said.' },
      ]);
      await rig.eventually(session, (all) => all.some(({ cause }) => cause !== null), 'the point before the shell');
      await until(
        () => readFile(join(server.workspace, 'b.txt'), 'utf8').catch(() => undefined),
        30_000,
        () => 'the shell never ran',
      );
      await server.kill();
      const before = await rig.list(session);
      expect(before.map(({ trigger }) => trigger)).toEqual(['turn', 'tool']);
      expect(await rig.at(before[0], 'a.txt')).toBe('one\n');
      expect(await rig.at(before[1], 'a.txt')).toBe('two\n');

      await server.start();
      const prompt = await server.turn(session, 'go on', [{ tools: [write('a.txt', 'three\n')] }, { text: 'Done.' }]);
      const points = await rig.eventually(session, (all) => all.at(-1)?.trigger === 'idle', 'the idle point');
      const turn = points.filter(({ trigger }) => trigger === 'turn').at(-1);
      expect(turn?.turn?.number).toBe(2);
      expect(await rig.at(turn, 'b.txt')).toBe('half\n');
      // Everything that is in the list before the prompt, the answer that was never finished with it.
      const counted = (await server.messages(session)).filter(({ type }) => type === 'user' || type === 'assistant');
      const ahead = counted.slice(
        0,
        counted.findIndex(({ id }) => id === prompt),
      );
      expect(turn?.session).toMatchObject({ messageId: ahead.at(-1)?.id, messageCount: ahead.length });
      const fork = await rig.open(
        (workspace) => workspace.restore(turn?.id ?? '', { scope: ['conversation'] }),
        await gatewayTo(server),
      );
      const copies = (await server.messages(fork.session?.id ?? '')).filter(
        ({ type, text }) => (type === 'user' || type === 'assistant') && !text.startsWith('[Checkpoints]'),
      );
      expect(copies.map(({ type, text }) => [type, text])).toEqual(ahead.map(({ type, text }) => [type, text]));
    } finally {
      await rig.dispose();
    }
  });

  it('never breaks a turn: no store, a store again, a broken store', async () => {
    const rig = await PluginRig.start({ generation, files: { 'a.txt': 'one\n' } });
    try {
      const { server } = rig;
      const session = await server.createSession('Broken store');
      const home = join(server.home, 'data', 'opencode-checkpoints');
      await writeFile(home, 'a file where the store should be');
      await server.turn(session, 'work without a store', [
        { tools: [write('a.txt', 'two\n'), shell('echo b > b.txt')] },
        { tools: [call('checkpoint_create', { name: 'impossible' })] },
        { text: 'Done.' },
      ]);
      expect(await readFile(join(server.workspace, 'a.txt'), 'utf8')).toBe('two\n');
      expect(await readFile(join(server.workspace, 'b.txt'), 'utf8')).toBe('b\n');
      expect(rig.answers().at(-1)).not.toContain('Checkpoint created');
      await rm(home);
      // The next attempt is made some seconds later, so that not every call waits for a failure.
      await until(
        async () => {
          await server.turn(session, 'try again', [
            { tools: [call('checkpoint_create', { name: 'possible again' })] },
            { text: 'Done.' },
          ]);
          return rig.answers().at(-1)?.includes('Checkpoint created') === true;
        },
        60_000,
        () => `it never worked again: ${rig.answers().at(-1)}`,
      );
      const { folder } = await rig.open((workspace) => Promise.resolve({ folder: workspace.folder }));
      await rm(join(folder, 'snapshots.git', 'objects'), { recursive: true, maxRetries: 5 });
      await writeFile(join(folder, 'snapshots.git', 'objects'), 'gone');
      await server.turn(session, 'work on a broken store', [{ tools: [write('a.txt', 'three\n')] }, { text: 'Done.' }]);
      expect(await readFile(join(server.workspace, 'a.txt'), 'utf8')).toBe('three\n');
    } finally {
      await rig.dispose();
    }
  });

  it('begins a store anew that somebody removed', async () => {
    const rig = await PluginRig.start({ generation, files: { 'a.txt': 'one\n' } });
    try {
      const { server } = rig;
      const session = await server.createSession('Removed store');
      await server.turn(session, 'work with a store', [{ tools: [write('a.txt', 'two\n')] }, { text: 'Done.' }]);
      await rig.eventually(session, (all) => all.at(-1)?.trigger === 'idle', 'the idle point');
      await rm(join(server.home, 'data', 'opencode-checkpoints'), { recursive: true, maxRetries: 5 });
      await server.turn(session, 'work on', [
        { tools: [shell('echo three > a.txt')] },
        { tools: [call('checkpoint_create', { name: 'anew' })] },
        { text: 'Done.' },
      ]);
      expect(rig.answers().at(-1)).toContain('Checkpoint created: anew');
      const points = await rig.list(session);
      expect(points.map(({ trigger }) => trigger)).toEqual(['turn', 'agent']);
      expect(await rig.at(points[0], 'a.txt')).toBe('two\n');
    } finally {
      await rig.dispose();
    }
  });

  it('says which settings it cannot take, and loads all the same', async () => {
    const files = { 'a.txt': 'one\n', '.opencode/checkpoints.json': '{"automatic": "off",}' };
    const rig = await PluginRig.start({ generation, files });
    try {
      const { server } = rig;
      const session = await server.createSession('Settings');
      await server.turn(session, 'how is it', [{ tools: [call('checkpoint_stats')] }, { text: 'Done.' }]);
      expect(rig.answers().at(-1)).toMatch(/Problem: Settings: .*checkpoints\.json is not valid JSON/);
      await server.stop();

      const config = join(server.home, 'config', 'opencode-checkpoints');
      await mkdir(config, { recursive: true });
      await writeFile(join(config, 'config.json'), JSON.stringify({ storeLocation: 'checkpoints' }));
      await server.start();
      await server.turn(session, 'and now', [
        { tools: [write('a.txt', 'two\n')] },
        { tools: [call('checkpoint_stats')] },
        { tools: [call('session_backup_status')] },
        { text: 'Done.' },
      ]);
      expect(await readFile(join(server.workspace, 'a.txt'), 'utf8')).toBe('two\n');
      for (const answer of rig.answers().slice(-2)) expect(answer).toContain('storeLocation must be an absolute path');
    } finally {
      await rig.dispose();
    }
  });

  it('goes on when one of two installed copies is removed', async () => {
    const rig = await PluginRig.start({ generation, files: { 'a.txt': 'one\n' }, stopped: true });
    try {
      const { server } = rig;
      const folder = join(server.home, 'config', 'opencode', 'plugins');
      await mkdir(folder, { recursive: true });
      const own = join(server.workspace, '.opencode', 'plugins', 'opencode-checkpoints.js');
      const global = join(folder, 'opencode-checkpoints.js');
      await copyFile(own, global);
      await server.start();
      const where = encodeURIComponent(server.workspace);
      const worksAfter = async (what: string): Promise<void> => {
        const session = await server.createSession(what);
        await server.turn(session, what, [
          { tools: [write('a.txt', `${what}\n`)] },
          { tools: [call('checkpoint_stats')] },
          { text: 'Done.' },
        ]);
        expect(rig.answers().at(-1)).toContain('Checkpoint Statistics');
        const points = await rig.eventually(session, (all) => all.at(-1)?.trigger === 'idle', 'the idle point');
        expect(points.map(({ trigger }) => trigger)).toEqual(['turn', 'idle']);
      };
      const loaded = async (): Promise<void> => {
        if (generation === 'v1') await server.call('POST', `/instance/dispose?directory=${where}`);
        await new Promise((next) => setTimeout(next, 5000));
      };
      await worksAfter('with both');
      await rm(own);
      await loaded();
      await worksAfter('without the copy of the project');
      await copyFile(global, own);
      await loaded();
      await rm(global);
      await loaded();
      await worksAfter('without the copy of the user');
    } finally {
      await rig.dispose();
    }
  });

  it('makes each point once though it is installed twice, and a budget that is too short holds up nobody', async () => {
    const rig = await PluginRig.start({ generation, files: { 'a.txt': 'one\n' }, stopped: true });
    try {
      const { server } = rig;
      const global = join(server.home, 'config', 'opencode', 'plugins');
      await mkdir(global, { recursive: true });
      const own = join(server.workspace, '.opencode', 'plugins', 'opencode-checkpoints.js');
      await copyFile(own, join(global, 'opencode-checkpoints.js'));
      await server.start();
      const session = await server.createSession('Twice');
      await server.turn(session, 'change it', [{ tools: [write('a.txt', 'two\n')] }, { text: 'Done.' }]);
      const once = await rig.eventually(session, (all) => all.at(-1)?.trigger === 'idle', 'the idle point');
      expect(once.map(({ trigger }) => trigger)).toEqual(['turn', 'idle']);

      await writeFile(
        join(server.workspace, '.opencode', 'checkpoints.json'),
        JSON.stringify({ captureBudget: '1 ms' }),
      );
      await server.turn(session, 'change it again', [{ tools: [write('a.txt', 'three\n')] }, { text: 'Done.' }]);
      expect(await readFile(join(server.workspace, 'a.txt'), 'utf8')).toBe('three\n');
      // Nobody waited, but what was begun is finished, and says that it may hold later content.
      const late = await rig.eventually(
        session,
        (all) => all.length > once.length && all.slice(once.length).some(({ metadata }) => metadata['late'] === true),
        'a point that came late',
      );
      expect(await rig.at(late[0], 'a.txt')).toBe('one\n');
    } finally {
      await rig.dispose();
    }
  });

  it('keeps what was named through sixty prompts', async () => {
    const rig = await PluginRig.start({
      generation,
      files: { 'a.txt': 'one\n', '.opencode/checkpoints.json': '{"maxCheckpoints":5}' },
    });
    try {
      const { server } = rig;
      const session = await server.createSession('Sixty');
      await server.turn(session, 'begin', [
        { tools: [call('checkpoint_save', { title: 'Long work', snapshotName: 'the plan' })] },
        { tools: [call('checkpoint_create', { name: 'the start' })] },
        { text: 'ok' },
      ]);
      for (let i = 1; i <= 60; i++) {
        const tools = i % 10 === 0 ? [{ tools: [write('a.txt', `${i}\n`)] }] : [];
        await server.turn(session, `prompt ${i}`, [...tools, { text: 'ok' }]);
      }
      await server.turn(session, 'look', [
        { tools: [call('checkpoint_load_snapshot', { name: 'the plan' })] },
        { text: 'ok' },
      ]);
      expect(JSON.parse(rig.answers()[0] ?? '')).toMatchObject({ task: { title: 'Long work' } });
      const { left, content } = await rig.open(async (workspace) => {
        const turns = (await workspace.list()).filter(({ trigger }) => trigger === 'turn').length;
        expect(turns).toBe(62);
        await workspace.prune();
        const start = await workspace.resolve('the start');
        return {
          left: await workspace.list(),
          content: Buffer.from(await workspace.cat(start.id, 'a.txt')).toString(),
        };
      });
      expect(content).toBe('one\n');
      const names = left.map(({ name }) => name);
      expect(names).toContain('the plan');
      expect(names).toContain('the start');
      expect(left.filter(({ trigger }) => trigger === 'turn').length).toBeLessThanOrEqual(5);
    } finally {
      await rig.dispose();
    }
  });
});

describe('the plugin that OpenCode v2 loads anew in the middle of a turn', () => {
  it('looks for what a command did meanwhile', async () => {
    const rig = await PluginRig.start({ generation: 'v2', files: { 'a.txt': 'one\n', 'b.txt': 'one\n' } });
    try {
      const { server } = rig;
      const at = (path: string): string => join(server.workspace, path);
      const file = at('.opencode/plugins/opencode-checkpoints.js');
      const content = await readFile(file, 'utf8');
      const isLoaded = async (): Promise<boolean> => {
        const path = `/api/plugin?location[directory]=${encodeURIComponent(server.workspace)}`;
        const { data } = await server.call<{ data: Array<{ id?: string; state?: { status: string } }> }>('GET', path);
        return data.some(({ id, state }) => id === 'opencode-checkpoints' && state?.status === 'active');
      };
      const session = await server.createSession('Updated meanwhile');
      await server.prompt(session, 'three steps', [
        { tools: [edit('a.txt', 'one', 'two')] },
        { tools: [shell('touch started; while [ ! -e go ]; do sleep 0.1; done; echo by shell > c.txt')] },
        { tools: [edit('b.txt', 'one', 'two')] },
        { text: 'Done.' },
      ]);
      await until(
        () => existsSync(at('started')),
        60_000,
        () => 'the command never began',
      );
      await rm(file);
      await until(
        async () => !(await isLoaded()),
        60_000,
        () => 'OpenCode did not let go of it',
      );
      await writeFile(file, content);
      await until(isLoaded, 60_000, () => 'OpenCode did not load it again');
      await writeFile(at('go'), '');
      await server.idle(session);
      const points = await rig.eventually(session, (all) => all.at(-1)?.trigger === 'idle', 'the idle point');
      const point = points.find(({ cause }) => cause?.paths.includes('b.txt'));
      expect(await rig.at(point, 'c.txt')).toBe('by shell\n');
      expect(await rig.at(point, 'b.txt')).toBe('one\n');
    } finally {
      await rig.dispose();
    }
  });
});
