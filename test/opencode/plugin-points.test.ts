import { existsSync } from 'node:fs';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Checkpoint, PlanEntry } from '../../src/core/model';
import { findOriginals } from '../../src/core/originals';
import { until } from '../rig/opencode';
import { call, edit, patch, shell, subagent, write } from '../rig/script';
import { gatewayTo, generations } from './gateway-fixture';
import { PluginRig } from './plugin-fixture';

describe.each(generations)('automatic checkpoints on OpenCode %s', (generation) => {
  let rig: PluginRig;
  beforeAll(async () => {
    rig = await PluginRig.start({
      generation,
      files: { 'a.txt': 'one\n', 'b.txt': 'bee\n', 'sub/c.txt': 'sea\n', '.gitignore': 'secret/\n*.log\n' },
    });
  });
  afterAll(() => rig.dispose());

  it('has the old content before each tool touches the file, and counts the messages that belong', async () => {
    const { server } = rig;
    const session = await server.createSession('Old content');
    const prompt = 'change four files in their own ways';
    const promptId = await server.turn(session, prompt, [
      { tools: [write('a.txt', 'two\n')] },
      { tools: [edit(join(server.workspace, 'sub/c.txt'), 'sea', 'ocean')] },
      { tools: [shell('echo shelled > b.txt; mkdir new; echo n > new/n.txt')] },
      { tools: [write('a.txt', 'three\n')] },
      { text: 'Done.' },
    ]);
    const points = await rig.eventually(session, (all) => all.at(-1)?.trigger === 'idle', 'the idle point');
    expect(points.map(({ trigger, cause }) => [trigger, cause?.tool ?? null])).toEqual([
      ['turn', null],
      // Before the first write nothing had changed since the prompt: that content is the turn's point's.
      ['tool', 'edit'],
      ['tool', generation === 'v1' ? 'bash' : 'shell'],
      ['tool', 'write'],
      ['idle', null],
    ]);
    const [turn, beforeEdit, beforeShell, beforeWrite, idle] = points;
    expect(turn?.title).toBe(prompt);
    expect(turn?.turn).toMatchObject({ number: 1, prompt });
    expect(points.map((point) => point.session?.messageCount)).toEqual([0, 2, 3, 4, 6]);
    expect(turn?.session?.messageId).toBeNull();
    const counted = (await server.messages(session)).filter(({ type }) => type === 'user' || type === 'assistant');
    expect(counted[0]?.id).toBe(promptId);
    expect(points.slice(1).map((point) => point.session?.messageId)).toEqual(
      [1, 2, 3, 5].map((index) => counted[index]?.id),
    );
    expect(await rig.at(turn, 'a.txt')).toBe('one\n');
    expect(await rig.at(beforeEdit, 'a.txt')).toBe('two\n');
    expect(await rig.at(beforeEdit, 'sub/c.txt')).toBe('sea\n');
    expect(beforeEdit?.cause?.paths).toEqual(['sub/c.txt']);
    expect(beforeEdit?.files.lane).toBe('paths');
    expect(await rig.at(beforeShell, 'sub/c.txt')).toBe('ocean\n');
    expect(await rig.at(beforeShell, 'b.txt')).toBe('bee\n');
    // After a shell command everything is looked at, also what nobody named.
    expect(beforeWrite?.files.lane).toBe('scan');
    expect(await rig.at(beforeWrite, 'b.txt')).toBe('shelled\n');
    expect(await rig.at(beforeWrite, 'new/n.txt')).toBe('n\n');
    expect(await rig.at(beforeWrite, 'a.txt')).toBe('two\n');
    expect(await rig.at(idle, 'a.txt')).toBe('three\n');
    expect(idle?.turn?.number).toBe(1);
    expect(idle?.turn?.cost ?? 0).toBeGreaterThan(0);
  });

  it('takes calls of one step one after the other, sub-agents for their parent, ignored files and files outside', async () => {
    const { server } = rig;
    const session = await server.createSession('Special paths');
    await writeFile(join(server.workspace, 'debug.log'), 'before\n');
    const outside = join(server.home, 'outside.txt');
    server.model.on('inner errand', [{ tools: [write('inner.txt', 'inner\n')] }, { text: 'Inner done.' }]);
    await server.turn(session, 'special paths', [
      { tools: [write('p1.txt', '1\n'), write('p2.txt', '2\n'), write('p3.txt', '3\n')] },
      { tools: [edit('debug.log', 'before', 'after')] },
      { tools: [write(outside, 'far away\n')] },
      { tools: [subagent('inner errand')] },
      { text: 'Done.' },
    ]);
    expect(existsSync(outside)).toBe(true);
    const points = await rig.eventually(session, (all) => all.at(-1)?.trigger === 'idle', 'the idle point');
    const turn = points[0];
    for (const path of ['p1.txt', 'p2.txt', 'p3.txt']) expect(await rig.at(turn, path)).toBeNull();
    const log = points.find(({ cause }) => cause?.paths.includes('debug.log'));
    expect(await rig.at(log, 'debug.log')).toBe('before\n');
    expect(await rig.at(log, 'p3.txt')).toBe('3\n');
    const far = points.find(({ cause }) => cause?.paths.includes(outside));
    expect(far?.files.skipped).toContainEqual({ path: outside, reason: 'outside the workspace' });
    expect(await rig.at(far, 'debug.log')).toBe('after\n');
    const idle = points.at(-1);
    expect(await rig.at(idle, 'inner.txt')).toBe('inner\n');
    expect(new Set((await rig.list()).map((point) => point.session?.id)).size).toBe(2);
    expect(points.filter(({ trigger }) => trigger === 'turn')).toHaveLength(1);
  });

  it('has what lies between two edits of one file in one step', async () => {
    const { server } = rig;
    const session = await server.createSession('Side by side');
    await writeFile(join(server.workspace, 'both.txt'), 'first\n');
    await server.turn(session, 'edit it twice at once', [
      { tools: [edit('both.txt', 'first', 'second'), edit(join(server.workspace, './both.txt'), 'second', 'third')] },
      // The first of these fails, and holds up nobody.
      { tools: [edit('both.txt', 'not there', 'x'), edit('both.txt', 'third', 'fourth')] },
      { text: 'Done.' },
    ]);
    const points = await rig.eventually(session, (all) => all.at(-1)?.trigger === 'idle', 'the idle point');
    const seen = await Promise.all(
      points.map(async (one) => [one.trigger, one.session?.messageCount, (await rig.at(one, 'both.txt'))?.trim()]),
    );
    expect(seen).toEqual([
      ['turn', 0, 'first'],
      ['tool', 1, 'second'],
      ['tool', 2, 'third'],
      ['idle', 4, 'fourth'],
    ]);
    expect(new Set(points.map(({ cause }) => cause?.callId ?? '')).size).toBe(3);
    expect(points.some(({ metadata }) => 'late' in metadata)).toBe(false);
  });

  it("counts a sub-agent's calls to its parent's turn", async () => {
    const { server } = rig;
    const session = await server.createSession('Delegated');
    server.model.on('two steps inside', [
      { tools: [write('d1.txt', 'first\n')] },
      { tools: [write('d1.txt', 'second\n')] },
      { text: 'Inner done.' },
    ]);
    await server.turn(session, 'delegate two steps', [{ tools: [subagent('two steps inside')] }, { text: 'Done.' }]);
    const points = await rig.eventually(session, (all) => all.at(-1)?.trigger === 'idle', 'the idle point');
    expect(points.map(({ trigger }) => trigger)).toEqual(['turn', 'tool', 'idle']);
    expect(points[1]).toMatchObject({
      turn: { number: 1, prompt: 'delegate two steps' },
      cause: { paths: ['d1.txt'] },
    });
    expect(points[1]?.session).toMatchObject({ id: session, messageCount: 1 });
    expect(points[1]?.metadata['subagent']).toMatch(/^ses_/);
    expect(await rig.at(points[1], 'd1.txt')).toBe('first\n');
  });

  it('keeps two sessions in one folder apart', async () => {
    const { server } = rig;
    const first = await server.createSession('Agent one');
    const second = await server.createSession('Agent two');
    await Promise.all([
      server.turn(first, 'agent one writes', [
        { tools: [write('one.txt', '1\n')] },
        { tools: [write('one.txt', '11\n')] },
        { text: 'Done.' },
      ]),
      server.turn(second, 'agent two writes', [
        { tools: [write('two.txt', '2\n')] },
        { tools: [write('two.txt', '22\n')] },
        { text: 'Done.' },
      ]),
    ]);
    for (const [session, own] of [
      [first, 'one.txt'],
      [second, 'two.txt'],
    ] as const) {
      const points = await rig.list(session);
      expect(points[0]?.trigger).toBe('turn');
      for (const point of points) {
        expect(point.session?.id).toBe(session);
        expect(point.turn?.number).toBe(1);
        if (point.cause) expect(point.cause.paths).toEqual([own]);
      }
      const again = points.find(({ session: anchor, cause }) => cause !== null && anchor?.messageCount === 2);
      expect(await rig.at(again, own)).toBe(own === 'one.txt' ? '1\n' : '2\n');
    }
    const over = (all: Checkpoint[]): boolean =>
      all.some(({ trigger, metadata }) => trigger === 'idle' || metadata['turnEnd']);
    const [turn] = await rig.eventually(first, over, 'the end of the first one');
    await rig.eventually(second, over, 'the end of the second one');
    await rig.open(async (workspace) => {
      const result = await workspace.revertTurn(turn?.id ?? '');
      expect(result).toMatchObject({ restored: [], deleted: ['one.txt'], conflicts: [] });
      await workspace.undo();
    });
  });

  it('counts further turns, and honours the setting at once', async () => {
    const { server } = rig;
    const session = await server.createSession('Settings');
    await server.turn(session, 'first of three', [{ tools: [write('s.txt', '1\n')] }, { text: 'Done.' }]);
    await rig.eventually(session, (all) => all.at(-1)?.trigger === 'idle', 'the idle point');
    const settings = join(server.workspace, '.opencode', 'checkpoints.json');
    await writeFile(settings, JSON.stringify({ automatic: 'turn' }));
    await server.turn(session, 'second of three', [
      { tools: [write('s.txt', '2\n')] },
      { tools: [write('s.txt', '3\n')] },
      { text: 'Done.' },
    ]);
    const two = await rig.eventually(session, (all) => all.length === 4, 'the second turn');
    expect(two.map(({ trigger, turn }) => [trigger, turn?.number])).toEqual([
      ['turn', 1],
      ['idle', 1],
      ['turn', 2],
      ['idle', 2],
    ]);
    expect(two.map((point) => point.session?.messageCount)).toEqual([0, 3, 3, 7]);
    await writeFile(settings, JSON.stringify({ automatic: 'off' }));
    await server.turn(session, 'third of three', [{ tools: [write('s.txt', '4\n')] }, { text: 'Done.' }]);
    expect(await readFile(join(server.workspace, 's.txt'), 'utf8')).toBe('4\n');
    await new Promise((next) => setTimeout(next, 1500));
    expect(await rig.list(session)).toHaveLength(4);
    await rm(settings);
  });

  it('tells what may be by hand while the agent is at work on another file', async () => {
    const { server } = rig;
    const gateway = await gatewayTo(server);
    const session = await server.createSession('At work');
    await server.prompt(session, 'write one, then think', [
      { tools: [write('agents.txt', 'agent\n')] },
      { text: 'Thinking.', hangMs: 60_000 },
      { text: 'Thought.' },
    ]);
    await until(
      () => Promise.resolve(existsSync(join(server.workspace, 'agents.txt'))),
      30_000,
      () => 'the agent wrote nothing',
    );
    await writeFile(join(server.workspace, 'mine.txt'), 'by hand\n');
    const [turn] = await rig.list(session);
    const planned = (): Promise<Record<string, PlanEntry>> =>
      rig.open(async (workspace) => {
        const { entries } = await workspace.plan(turn?.id ?? '');
        return Object.fromEntries(entries.map((entry) => [entry.path, entry]));
      }, gateway);
    const expected = {
      'agents.txt': { path: 'agents.txt', action: 'delete' },
      'mine.txt': { path: 'mine.txt', action: 'delete', unsure: true },
    };
    expect(await planned()).toEqual(expected);
    // Also when the turn is over: its last point says that nobody had named the file.
    await gateway.interrupt(session);
    await server.idle(session);
    await rig.eventually(session, (all) => all.at(-1)?.trigger === 'idle', 'the idle point');
    expect(await planned()).toEqual(expected);
  });

  it('knows where a turn ended that left no point at its end', async () => {
    const { server } = rig;
    const gateway = await gatewayTo(server);
    const session = await server.createSession('Saved by the agent');
    await server.turn(session, 'write, then save', [
      { tools: [write('saved.txt', 'agent\n')] },
      { tools: [call('checkpoint_create', { name: 'saved by the agent' })] },
      { text: 'Done.' },
    ]);
    const ended = (all: Checkpoint[]): boolean => all.at(-1)?.metadata['turnEnd'] === all.at(-1)?.id;
    const points = await rig.eventually(session, ended, 'the mark of the end');
    expect(points.map(({ trigger }) => trigger)).toEqual(['turn', 'agent']);
    await writeFile(join(server.workspace, 'by-hand.txt'), 'by hand\n');
    await server.turn(session, 'only talk', [{ text: 'Talked.' }]);
    const both = await rig.eventually(session, (all) => all.length === 3 && ended(all), 'the end of the talk');
    await writeFile(join(server.workspace, 'by-hand.txt'), 'again by hand\n');
    await rig.open(async (workspace) => {
      const { entries } = await workspace.plan(both[0]?.id ?? '');
      const found = Object.fromEntries(entries.map(({ path, yours }) => [path, yours === true]));
      expect(found).toEqual({ 'saved.txt': false, 'by-hand.txt': true });
      const { originals } = await findOriginals(workspace, session);
      expect(originals.map(({ path }) => path)).toEqual(['saved.txt']);
      // The talk changed nothing, so there is nothing to take back; the turn before it changed one file.
      const mine = async (): Promise<string> => readFile(join(server.workspace, 'by-hand.txt'), 'utf8');
      expect(await workspace.revertTurn(both[2]?.id ?? '')).toMatchObject({ restored: [], deleted: [], conflicts: [] });
      expect(await workspace.revertTurn(both[0]?.id ?? '')).toMatchObject({ restored: [], deleted: ['saved.txt'] });
      expect(await mine()).toBe('again by hand\n');
    }, gateway);
  });

  it('has the point of a compaction before what the next prompt does', async () => {
    const { server } = rig;
    const gateway = await gatewayTo(server);
    const session = await server.createSession('Compacted');
    await server.turn(session, 'something to sum up', [{ text: 'Said.' }]);
    await server.compact(session);
    await server.turn(session, 'and on at once', [{ tools: [write('after-it.txt', 'agent\n')] }, { text: 'Done.' }]);
    const points = await rig.eventually(session, (all) => all.at(-1)?.trigger === 'idle', 'the idle point');
    const triggers = points.map(({ trigger }) => trigger);
    expect(triggers).toEqual(['turn', 'compaction', 'turn', 'idle']);
    expect(points[1]?.files.paths).toEqual([]);
    const { entries } = await rig.open((workspace) => workspace.plan(points[2]?.id ?? ''), gateway);
    expect(entries).toEqual([{ path: 'after-it.txt', action: 'delete' }]);
  });

  it('has a point for a prompt that waited for the turn before it', async () => {
    const { server } = rig;
    const session = await server.createSession('Queued');
    await server.prompt(session, 'the first of two', [
      { text: 'Slowly.', hangMs: 1500, tools: [write('queued.txt', 'first\n')] },
      { text: 'First done.' },
    ]);
    await until(
      () => Promise.resolve(server.model.requests.some(({ prompt }) => prompt === 'the first of two')),
      30_000,
      () => 'the model was never asked',
    );
    await server.prompt(session, 'the second of two', [
      { tools: [edit('queued.txt', 'first', 'second')] },
      { text: 'Second done.' },
    ]);
    await until(
      async () => (await server.messages(session)).some(({ text }) => text === 'Second done.'),
      60_000,
      () => 'the second prompt never ran',
    );
    const points = await rig.eventually(session, (all) => all.at(-1)?.trigger === 'idle', 'the idle point');
    const turns = points.filter(({ trigger }) => trigger === 'turn');
    expect(turns.map(({ turn }) => turn?.prompt)).toEqual(['the first of two', 'the second of two']);
    expect(await rig.at(turns[0], 'queued.txt')).toBeNull();
    // The agent's second change has its own before, whatever the order of prompts and answers in the list.
    const before = points.find(({ cause }) => cause?.tool === 'edit') ?? turns[1];
    expect(await rig.at(before, 'queued.txt')).toBe('first\n');
    expect(await rig.at(points.at(-1), 'queued.txt')).toBe('second\n');
  });
});

describe.each(generations)('patches in a folder without git on OpenCode %s', (generation) => {
  it('has every file of a patch as it was', async () => {
    const files = { 'sub/a.txt': 'one\n', 'sub/b.txt': 'bee\n', 'move.txt': 'move\n' };
    const rig = await PluginRig.start({ generation, git: false, modelId: 'gpt-5-scripted', files });
    try {
      const { server } = rig;
      const session = await server.createSession('Patches');
      const lines = (...body: string[]): string => ['*** Begin Patch', ...body, '*** End Patch'].join('\n');
      await server.turn(session, 'patch twice', [
        { tools: [patch(lines('*** Add File: new.txt', '+fresh'))] },
        {
          tools: [
            patch(
              lines(
                '*** Update File: sub/a.txt',
                '@@',
                '-one',
                '+two',
                '*** Delete File: sub/b.txt',
                '*** Update File: move.txt',
                '*** Move to: moved.txt',
                '@@',
                '-move',
                '+moved',
              ),
            ),
          ],
        },
        { text: 'Done.' },
      ]);
      const points = await rig.eventually(session, (all) => all.at(-1)?.trigger === 'idle', 'the idle point');
      const before = points.find(({ cause }) => cause?.paths.includes('sub/b.txt'));
      expect(before?.cause?.paths).toEqual(['sub/a.txt', 'sub/b.txt', 'move.txt', 'moved.txt']);
      expect(before?.files.lane).toBe('paths');
      expect(await rig.at(before, 'new.txt')).toBe('fresh\n');
      expect(await rig.at(before, 'sub/a.txt')).toBe('one\n');
      expect(await rig.at(before, 'sub/b.txt')).toBe('bee\n');
      expect(await rig.at(before, 'move.txt')).toBe('move\n');
      const idle = points.at(-1);
      expect(await rig.at(idle, 'sub/b.txt')).toBeNull();
      expect(await rig.at(idle, 'moved.txt')).toBe('moved\n');
    } finally {
      await rig.dispose();
    }
  });
});
