import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TaskService } from '../../src/core/task-service';
import { TaskStore } from '../../src/core/task-store';
import { textOf } from '../rig/scripted-model';
import { call } from '../rig/script';
import { generations } from './gateway-fixture';
import { PluginRig } from './plugin-fixture';

describe.each(generations)('the memory of the task on OpenCode %s', (generation) => {
  let rig: PluginRig;
  beforeAll(async () => {
    rig = await PluginRig.start({ generation });
  });
  afterAll(() => rig.dispose());

  const lastSummary = (): string => {
    const asked = rig.server.model.requests.filter(({ kind }) => kind === 'summary').at(-1);
    return (asked?.messages ?? []).map(textOf).join('\n');
  };
  const state = async (): Promise<Record<string, unknown>> =>
    JSON.parse(await readFile(join(rig.server.workspace, '.opencode/state/checkpoint.json'), 'utf8')) as Record<
      string,
      unknown
    >;

  it('makes a state up when a session is compacted without one', async () => {
    const { server } = rig;
    const session = await server.createSession('Without state');
    await server.turn(session, 'just talk');
    await server.compact(session);
    const points = await rig.eventually(session, (all) => all.some((p) => p.trigger === 'compaction'), 'the save');
    const saved = points.find(({ trigger }) => trigger === 'compaction');
    expect(saved?.task?.title).toBe('Auto-synthesized checkpoint');
    expect(lastSummary()).not.toContain('CHECKPOINT STATE');
    expect(await state()).toMatchObject({ version: 2, task: { title: 'Auto-synthesized checkpoint' } });
  });

  it('names what it had to cut, though OpenCode cuts the end of a long answer off', async () => {
    const { server } = rig;
    const session = await server.createSession('Long');
    await server.turn(session, 'save a book', [
      {
        tools: [call('checkpoint_save', { title: 'Book', objective: 'o'.repeat(60_000), summary: 's'.repeat(20_000) })],
      },
      { text: 'ok' },
    ]);
    expect(rig.answers()[0]).toContain('truncated');
    expect(rig.answers()[0]).toContain('objective was cut from 60000 to 50000.');
    expect(rig.answers()[0]).toContain('summary was cut from 20000 to 10000.');
    await server.turn(session, 'forget the book', [{ tools: [call('checkpoint_clear')] }, { text: 'ok' }]);
  });

  it('puts the state into the summary, once as long as it does not change', async () => {
    const { server } = rig;
    const session = await server.createSession('With state');
    await server.turn(session, 'save the task', [
      {
        tools: [
          call('checkpoint_save', {
            title: 'Move the parser',
            status: 'in_progress',
            nextSteps: ['write ``` tests'],
            snapshotName: 'half way',
          }),
        ],
      },
      { text: 'Saved.' },
    ]);
    expect(JSON.parse(rig.answers()[0] ?? '')).toMatchObject({ version: 2, task: { title: 'Move the parser' } });
    await server.compact(session);
    expect(lastSummary()).toContain('## CHECKPOINT STATE');
    expect(lastSummary()).toContain('"title": "Move the parser"');
    const saves = (all: Awaited<ReturnType<typeof rig.list>>): number =>
      all.filter(({ trigger }) => trigger === 'compaction').length;
    await rig.eventually(session, (all) => saves(all) === 1, 'the save of the first compaction');

    await server.turn(session, 'go on a little');
    await server.compact(session);
    expect(lastSummary()).not.toContain('## CHECKPOINT STATE');
    await rig.eventually(session, (all) => saves(all) === 2, 'the save of the second compaction');

    await server.turn(session, 'change the task', [
      { tools: [call('checkpoint_save', { summary: 'Parser moved.' })] },
      { text: 'Saved.' },
    ]);
    await server.compact(session);
    expect(lastSummary()).toContain('"summary": "Parser moved."');
    const points = await rig.eventually(session, (all) => saves(all) === 3, 'the save of the third compaction');
    // Also behind compactions all messages are counted.
    const messages = (await server.messages(session)).filter(({ type }) => type === 'user' || type === 'assistant');
    expect(points.at(-1)?.session?.messageCount).toBe(messages.length);

    await server.turn(session, 'take the task back', [
      { tools: [call('checkpoint_restore_snapshot', { name: 'half way' })] },
      { tools: [call('checkpoint_load'), call('checkpoint_status')] },
      { text: 'Back.' },
    ]);
    const [restored, loaded, status] = rig.answers().map((answer) => JSON.parse(answer) as Record<string, unknown>);
    expect(restored).toMatchObject({ restored: true, name: 'half way' });
    expect(restored?.['undoSnapshot']).toMatch(/^pre-restore-\d+$/);
    // Exactly what it was then: neither the summary made up before it, nor the one of after.
    expect(loaded).toMatchObject({ task: { title: 'Move the parser' }, nextSteps: ['write ``` tests'] });
    expect(loaded).not.toHaveProperty('summary');
    expect(status).toMatchObject({ exists: true, title: 'Move the parser', nextSteps: 1 });
  });

  it('saves again at every fifth prompt of a session, counted anew after a save', async () => {
    const { server } = rig;
    const session = await server.createSession('Five prompts');
    const autosaves = (all: Awaited<ReturnType<typeof rig.list>>): number =>
      all.filter(({ trigger }) => trigger === 'interval').length;
    await server.turn(session, 'prompt a', [{ tools: [call('checkpoint_save', { title: 'Fives' })] }, { text: 'ok' }]);
    for (const name of ['b', 'c', 'd', 'e']) await server.turn(session, `prompt ${name}`);
    expect(autosaves(await rig.list(session))).toBe(0);
    await server.turn(session, 'prompt f');
    const points = await rig.eventually(session, (all) => autosaves(all) === 1, 'the save at the fifth prompt');
    const saved = points.find(({ trigger }) => trigger === 'interval');
    expect([saved?.task?.title, saved?.turn?.number, saved?.turn?.prompt]).toEqual(['Fives', 6, 'prompt f']);
    await server.turn(session, 'clear it', [{ tools: [call('checkpoint_clear')] }, { text: 'ok' }]);
    expect(JSON.parse(rig.answers()[0] ?? '')).toMatchObject({ cleared: true });
    await expect(state()).rejects.toThrow(/ENOENT/);
  });

  it('counts prompts anew after a save by hand, too', async () => {
    const { server } = rig;
    const settings = join(server.workspace, '.opencode', 'checkpoints.json');
    await writeFile(settings, JSON.stringify({ 'task.autosaveEvery': 2 }));
    const session = await server.createSession('By hand');
    await server.turn(session, 'hand a', [{ tools: [call('checkpoint_save', { title: 'Hands' })] }, { text: 'ok' }]);
    await server.turn(session, 'hand b');
    await rig.open((workspace) => {
      const { folder, root } = workspace;
      const task = new TaskService(new TaskStore({ folder, root, exportState: () => true }));
      return task.save(workspace, { title: 'By hand' });
    });
    for (const name of ['c', 'd']) await server.turn(session, `hand ${name}`);
    const isSave = ({ trigger }: { trigger: string }): boolean => trigger === 'interval';
    const points = await rig.eventually(session, (all) => all.some(isSave), 'the autosave');
    expect(points.filter(isSave).map(({ turn }) => turn?.prompt)).toEqual(['hand d']);
    await rm(settings);
  });
});
