import { mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { CheckpointsError } from '../../src/core/errors';
import type { Workspace } from '../../src/core/workspace';
import { TaskService } from '../../src/core/task-service';
import { TaskStore } from '../../src/core/task-store';
import { sandbox, type Sandbox } from './rig';

interface Opened {
  box: Sandbox;
  workspace: Workspace;
  task: TaskService;
  state: (name: string) => string;
}

async function open(prepare: (box: Sandbox) => void = () => undefined): Promise<Opened> {
  const box = sandbox();
  box.write('a.txt', 'a');
  prepare(box);
  let service: TaskService | undefined;
  const workspace = await box.open({
    task: (folder, root) => (service = new TaskService(new TaskStore({ folder, root, exportState: () => true }))),
  });
  const state = (name: string): string => readFileSync(join(box.root, '.opencode', 'state', name), 'utf8');
  return { box, workspace, task: service as TaskService, state };
}

const history = (text: string): string[] =>
  (JSON.parse(text) as { snapshots: Array<{ name: string }> }).snapshots.map((one) => one.name);

describe('a save of the task', () => {
  it('is a checkpoint, and is exported', async () => {
    const { workspace, task, state } = await open();
    const first = await task.save(workspace, { title: 'Port the parser', nextSteps: ['tests'] }, { name: 'begun' });
    expect(first.checkpoint).toMatchObject({ trigger: 'task', name: 'begun', task: first.task });
    const second = await task.save(workspace, { status: 'done', title: null });
    expect(second.checkpoint).toMatchObject({ trigger: 'task', name: null, title: 'Task: Port the parser' });
    expect(await task.read()).toEqual({ title: 'Port the parser', status: 'done', nextSteps: ['tests'] });
    expect(history(state('checkpoint-history.json'))).toEqual([
      'begun',
      `auto-${Date.parse(second.checkpoint.createdAt)}`,
    ]);
    expect(state('handoff.md')).toContain('# Handoff — Port the parser');
    expect(await task.overview()).toMatchObject({ exists: true, status: 'done', nextSteps: 1 });
    expect((await task.history(workspace)).map((one) => one.id)).toEqual([second.checkpoint.id, first.checkpoint.id]);
  });

  it('is in the exported history after a restore, with what was there before it', async () => {
    const { workspace, task, state } = await open();
    const first = await task.save(workspace, { title: 'First' }, { name: 'begun' });
    await task.save(workspace, { title: 'Second' }, { name: 'later' });
    const { undo } = await workspace.restore(first.checkpoint.id, { scope: ['task'] });
    const before = `pre-restore-${Date.parse((await workspace.resolve(undo ?? '')).createdAt)}`;
    expect(history(state('checkpoint-history.json'))).toEqual(['begun', 'later', before]);
    await workspace.undo();
    expect(history(state('checkpoint-history.json'))).toHaveLength(4);
  });

  it('that is refused changes nothing', async () => {
    const { workspace, task } = await open();
    await task.save(workspace, { title: 'T' });
    await expect(task.save(workspace, { status: 'bogus' })).rejects.toThrow(/status is one of/);
    await expect(task.save(workspace, { title: 'U' }, { name: 'two\nlines' })).rejects.toThrow(/one line/);
    expect(await task.read()).toMatchObject({ title: 'T' });
    expect(await workspace.list()).toHaveLength(1);
  });

  it('names what it clamped', async () => {
    const { workspace, task } = await open();
    const { clamped } = await task.save(workspace, { summary: 'x'.repeat(10_001) });
    expect(clamped).toEqual([{ field: 'summary', given: 10_001, kept: 10_000 }]);
  });

  it('is not in the snapshots: .opencode/state stays out', async () => {
    const { workspace, task } = await open();
    await task.save(workspace, { title: 'T' });
    const { checkpoint } = await task.save(workspace, { title: 'U' });
    expect(checkpoint.files.paths).toEqual([]);
  });

  it('fifty at once: all land, none is lost', async () => {
    const { workspace, task } = await open();
    await Promise.all(Array.from({ length: 50 }, (_, i) => task.save(workspace, { [`field${i}`]: i })));
    const state = await task.read();
    for (let i = 0; i < 50; i++) expect(state?.[`field${i}`]).toBe(i);
    expect(await task.history(workspace)).toHaveLength(50);
  });
});

describe('a change of what is there', () => {
  it('is made to what is there when it is saved, not to what was there when it was looked at', async () => {
    const { workspace, task } = await open();
    await task.save(workspace, { nextSteps: ['mine', 'other'] });
    // The agent saves right behind each look.
    const agent: Array<Promise<unknown>> = [];
    const saved = await task.edit(workspace, (now) => {
      if (agent.length === 0) agent.push(task.save(workspace, { nextSteps: ['mine', 'other', 'new of the agent'] }));
      return { nextSteps: now?.nextSteps?.filter((step) => step !== 'mine'), completedSteps: ['mine'] };
    });
    await Promise.all(agent);
    expect(saved?.task.nextSteps).toEqual(['other', 'new of the agent']);
    expect(await task.read()).toMatchObject({ nextSteps: ['other', 'new of the agent'], completedSteps: ['mine'] });
  });

  it('that finds nothing to change makes no checkpoint', async () => {
    const { workspace, task } = await open();
    await task.save(workspace, { nextSteps: ['a'] });
    expect(await task.edit(workspace, () => null)).toBeNull();
    expect(await task.history(workspace)).toHaveLength(1);
  });
});

describe('a restore of the task', () => {
  it('is exact, and can be undone', async () => {
    const { workspace, task, state } = await open();
    const { checkpoint } = await task.save(workspace, { title: 'One', notes: ['a'] }, { name: 'one' });
    await task.save(workspace, { summary: 'third', status: 'blocked', notes: [] });
    await workspace.restore(checkpoint.id, { scope: ['task'] });
    expect(await task.read()).toEqual({ title: 'One', status: 'in_progress', notes: ['a'] });
    expect(state('handoff.md')).toContain('No summary recorded.');
    await workspace.undo();
    expect(await task.read()).toEqual({ title: 'One', status: 'blocked', summary: 'third' });
  });

  it('finds a save by the name it is listed with, the newest first', async () => {
    const { workspace, task } = await open();
    await task.save(workspace, { title: 'One' }, { name: 'same' });
    const second = await task.save(workspace, { title: 'Two' }, { name: 'same' });
    const auto = await task.save(workspace, { title: 'Three' });
    expect((await task.findSave(workspace, 'same')).id).toBe(second.checkpoint.id);
    const listed = (await task.history(workspace))[0]?.name as string;
    expect((await task.findSave(workspace, listed)).id).toBe(auto.checkpoint.id);
    const missing = await task.findSave(workspace, 'none').catch((error: unknown) => error);
    expect(CheckpointsError.is(missing, 'unknown-reference') && missing.details).toMatchObject({
      available: [listed, 'same', 'same'],
    });
  });
});

describe('automatic saves', () => {
  it('on compaction make one up when there is none, and save again what there is', async () => {
    const { workspace, task } = await open();
    expect(await task.autosave(workspace, 'interval')).toBeNull();
    const made = await task.autosave(workspace, 'compaction');
    expect(made?.checkpoint).toMatchObject({ trigger: 'compaction', task: { title: 'Auto-synthesized checkpoint' } });
    await task.save(workspace, { title: 'Mine', summary: '', notes: [] });
    const again = await task.autosave(workspace, 'interval');
    expect(again?.checkpoint).toMatchObject({ trigger: 'interval', task: { title: 'Mine', status: 'in_progress' } });
  });

  it('make nothing up where somebody saves at the same moment', async () => {
    const { workspace, task } = await open();
    const mine = { title: 'Mine', summary: 'half way', notes: ['a note'] };
    await Promise.all([task.save(workspace, mine), task.autosave(workspace, 'compaction')]);
    expect(await task.read()).toEqual({ ...mine, status: 'in_progress' });
  });

  it('say that nobody had saved anything only until somebody does', async () => {
    const { workspace, task } = await open();
    await task.autosave(workspace, 'compaction');
    const made = await task.read();
    expect((await task.autosave(workspace, 'compaction'))?.task).toEqual(made);
    const { task: saved } = await task.save(workspace, { title: 'Mine' });
    expect(saved).toEqual({ title: 'Mine', status: 'in_progress' });
    await task.save(workspace, { summary: 'half way', notes: ['a note'] });
    expect((await task.save(workspace, { status: 'blocked' })).task).toMatchObject({
      summary: 'half way',
      notes: ['a note'],
    });
  });

  it('any number of them never push out a named one', async () => {
    const { workspace, task, state } = await open();
    await task.save(workspace, { title: 'T' }, { name: 'good' });
    for (let i = 0; i < 12; i++) await task.autosave(workspace, 'interval');
    expect(history(state('checkpoint-history.json'))).toContain('good');
    expect((await task.findSave(workspace, 'good')).name).toBe('good');
    await workspace.prune();
    expect((await workspace.resolve('good')).task).toMatchObject({ title: 'T' });
  });
});

describe('clearing the task', () => {
  it('takes the state and its files, and leaves its checkpoints', async () => {
    const { box, workspace, task } = await open();
    await task.save(workspace, { title: 'T' });
    const { details } = await task.clear(workspace);
    expect(details).toHaveLength(3);
    expect(await task.read()).toBeNull();
    expect(await task.overview()).toEqual({ exists: false });
    expect(readdirSync(join(box.root, '.opencode', 'state'))).toEqual(['.gitignore']);
    expect(await workspace.list()).toHaveLength(1);
    expect((await task.clear(workspace)).details).toEqual([]);
  });

  it('keeps a hand edit that was in no checkpoint yet', async () => {
    const { box, workspace, task } = await open();
    await task.save(workspace, { title: 'T' });
    box.write('.opencode/state/checkpoint.json', JSON.stringify({ version: 2, task: { title: 'By hand' } }));
    await task.clear(workspace);
    expect((await task.history(workspace))[0]).toMatchObject({ title: 'By hand' });
  });
});

describe("an older plugin's files", () => {
  it('become the state, and its history checkpoints of their own, once', async () => {
    const snapshot = (name: string, title: string): object => ({
      name,
      savedAt: '2025-01-01T00:00:00.000Z',
      data: { version: 2, updatedAt: '2025-01-01T00:00:00.000Z', task: { title }, notes: [] },
    });
    const { box, workspace, task, state } = await open((fresh) => {
      const folder = join(fresh.root, '.opencode', 'state');
      mkdirSync(folder, { recursive: true });
      writeFileSync(join(folder, 'checkpoint.json'), JSON.stringify({ version: 2, task: { title: 'Older' } }));
      const snapshots = [snapshot('auto-1735689600000', 'A'), snapshot('mile\nstone', 'B')];
      writeFileSync(join(folder, 'checkpoint-history.json'), JSON.stringify({ snapshots }));
    });
    expect(await task.read()).toEqual({ title: 'Older' });
    await task.save(workspace, { summary: 's' });
    const imported = (await workspace.list()).filter((one) => one.trigger === 'import');
    expect(imported.map((one) => [one.name, one.task?.title])).toEqual([
      ['mile stone', 'B'],
      [null, 'A'],
    ]);
    expect(history(state('checkpoint-history.json')).slice(0, 2)).toEqual(['auto-1735689600000', 'mile stone']);
    await task.save(workspace, { summary: 't' });
    expect((await workspace.list()).filter((one) => one.trigger === 'import')).toHaveLength(2);
    expect(readdirSync(join(box.root, '.opencode', 'state')).filter((name) => name.includes('imported'))).toHaveLength(
      1,
    );
  });
});
