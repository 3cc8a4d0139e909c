import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Checkpoint, RestoreResult, TaskState } from '../../src/core/model';
import type { TaskSnapshot } from '../../src/core/task-service';
import { useBuilt, Desk } from './cli-rig';

interface Answer {
  task: TaskState | null;
  checkpoint: Checkpoint;
  history: TaskSnapshot[];
  handoff: string;
  clamped: Array<{ field: string }>;
  result: RestoreResult;
}

const program = useBuilt('cli');
let desk: Desk;
beforeEach(() => {
  desk = new Desk(program());
  desk.write({ 'a.txt': 'one\n' });
});
afterEach(() => desk.dispose());

const task = (...args: string[]): Promise<Answer> => desk.answer<Answer>(['task', ...args]);
const state = (name: string): string => path.join(desk.root, '.opencode/state', name);

describe('task', () => {
  it('is null before it is set', async () => {
    expect(await task('show')).toEqual({ task: null });
    expect(await task('history')).toEqual({ task: null, history: [] });
    expect((await task('handoff')).handoff).toContain('Untitled Task');
    expect((await desk.run(['task', 'show'])).stdout).toBe('No task.\n');
  });

  it('is set field by field; what is not named stays, lists are replaced, nothing clears', async () => {
    const first = await task(
      ...['set', '--title', 'T', '--objective', 'O', '--status', 'blocked', '--summary', 'S'],
      ...[
        '--plan',
        'p1',
        '--plan',
        'p2',
        '--done',
        'd',
        '--next',
        'n',
        '--blocker',
        'b',
        '--file',
        'f',
        '--note',
        '-dash',
      ],
    );
    expect(first.task).toEqual({
      title: 'T',
      objective: 'O',
      status: 'blocked',
      summary: 'S',
      currentPlan: ['p1', 'p2'],
      completedSteps: ['d'],
      nextSteps: ['n'],
      blockers: ['b'],
      filesTouched: ['f'],
      notes: ['-dash'],
    });
    expect(first.checkpoint).toMatchObject({ trigger: 'task', name: null, task: first.task });
    const second = (await task('set', '--status', 'done', '--plan', 'p3', '--summary', '', '--blocker', '')).task ?? {};
    expect(second).toMatchObject({ title: 'T', objective: 'O', status: 'done', currentPlan: ['p3'], notes: ['-dash'] });
    expect(second.summary ?? '').toBe('');
    expect(second.blockers ?? []).toEqual([]);
    expect((await task('show')).task).toEqual(second);
  });

  it('takes JSON from stdin or a file; options count before it', async () => {
    const input = JSON.stringify({ title: 'from input', nextSteps: ['a', 'b'], status: 'in_progress' });
    const set = await desk.answer<Answer>(['task', 'set', '--input', '-', '--title', 'from option'], { input });
    expect(set.task).toMatchObject({ title: 'from option', nextSteps: ['a', 'b'] });
    const file = path.join(desk.top, 'state.json');
    writeFileSync(file, JSON.stringify({ version: 2, task: { title: 'nested' }, summary: 's', snapshotName: 'named' }));
    const nested = await desk.answer<Answer>(['task', 'set', '--input', file]);
    expect(nested.task).toMatchObject({ title: 'nested', summary: 's', nextSteps: ['a', 'b'] });
    expect(nested.checkpoint.name).toBe('named');
    // A path is read from where the command works.
    desk.write({ 'here.json': '{"title": "here"}' });
    const there = ['task', 'set', '--input', 'here.json', '--cwd', desk.root];
    expect((await desk.answer<Answer>(there, { cwd: desk.top })).task).toMatchObject({ title: 'here' });
  });

  it.each([
    [['--status', 'bogus'], ''],
    [['--input', '-'], '{"status": "bogus"}'],
    [['--input', '-'], '{"title": 1}'],
    [['--input', '-'], '{"__proto__": {}}'],
    [['--input', '-'], '{"title": "x", "snapshotName": 5}'],
    [['--input', '-'], '[1]'],
    [['--input', '-'], 'not json'],
    [['--input', '-'], ''],
    [['--input', '/nowhere/file'], ''],
    [[], ''],
  ])('refuses set %j %s', async (args, input) => {
    await task('set', '--title', 'kept');
    expect((await desk.refusal(['task', 'set', ...args], 1, { input })).reason).toBe('invalid-argument');
    expect((await task('show')).task).toMatchObject({ title: 'kept' });
    expect((await task('history')).history).toHaveLength(1);
  });

  it('names what it had to cut', async () => {
    const input = JSON.stringify({ summary: 'x'.repeat(10_001) });
    const set = await desk.answer<Answer>(['task', 'set', '--input', '-'], { input });
    expect(set.task?.summary).toHaveLength(10_000);
    expect(set.clamped).toMatchObject([{ field: 'summary' }]);
  });

  it('has a history, newest first, and goes back to any of it exactly', async () => {
    await task('set', '--title', 'one', '--summary', 'early', '--name', 'first');
    const unnamed = await task('set', '--title', 'two', '--summary', '', '--note', 'n');
    const { history } = await task('history');
    expect(history).toEqual([
      expect.objectContaining({ id: unnamed.checkpoint.id, title: 'two', status: 'in_progress' }),
      expect.objectContaining({ name: 'first', title: 'one' }),
    ]);
    expect(history[0]?.name).toBe(`auto-${Date.parse(unnamed.checkpoint.createdAt)}`);
    const back = await task('restore', 'first');
    expect(back.task).toEqual({ title: 'one', summary: 'early', status: 'in_progress' });
    expect(back.result.undo).toMatch(/^cp_/);
    expect((await task('restore', history[0]?.name ?? '')).task).toEqual(unnamed.task);
    await desk.answer(['undo']);
    expect((await task('show')).task).toEqual(back.task);
    expect((await desk.refusal(['task', 'restore', 'nope'])).reason).toBe('unknown-reference');
    expect((await desk.refusal(['task', 'restore', 'auto-1'])).reason).toBe('unknown-reference');
    expect((await desk.run(['task', 'history'])).stdout).toMatch(/ first +in_progress +one$/m);
  });

  it('is in every checkpoint, and comes back with its files or without', async () => {
    await desk.answer(['create', 'before']);
    await task('set', '--title', 'one');
    await desk.answer(['create', 'with']);
    await task('set', '--title', 'two');
    desk.write({ 'a.txt': 'two\n' });
    const shown = await desk.answer<{ checkpoint: Checkpoint }>(['show', 'with']);
    expect(shown.checkpoint.task).toMatchObject({ title: 'one' });
    await desk.answer(['restore', 'with', '--scope', 'files,task']);
    expect((await task('show')).task).toMatchObject({ title: 'one' });
    expect(readFileSync(path.join(desk.root, 'a.txt'), 'utf8')).toBe('one\n');
    const { result } = await desk.answer<Answer>(['undo']);
    expect(result).toMatchObject({ restored: ['a.txt'], task: true });
    expect((await task('show')).task).toMatchObject({ title: 'two' });
    expect((await desk.refusal(['restore', 'before', '--scope', 'task'])).reason).toBe('no-task');
  });

  it('is told when it comes back, also where no file does', async () => {
    await task('set', '--title', 'one', '--name', 'first');
    await task('set', '--title', 'two');
    const plan = (await desk.run(['restore', 'first', '--scope', 'task', '--dry-run'])).stdout;
    expect(plan).toBe('task: one\nFiles are left as they are.\n');
    const both = (await desk.run(['restore', 'first', '--scope', 'files,task', '--dry-run'])).stdout;
    expect(both).toBe('task: one\nNo file to write or delete: they are as they were then.\n');
    for (const args of [['restore', 'first', '--scope', 'task'], ['undo'], ['redo']])
      expect((await desk.run(args)).stdout).toMatch(
        /^restored {2}the task state\nNo file was changed\. To take it back: /,
      );
    expect((await desk.run(['restore', 'first'])).stdout).toMatch(/^No file was changed\./);
  });

  it('is exported for other tools, and their edits are read', async () => {
    await task('set', '--title', 'one', '--next', 'n');
    const file = JSON.parse(readFileSync(state('checkpoint.json'), 'utf8')) as { task: { title: string } };
    expect(file).toMatchObject({ version: 2, task: { title: 'one', status: 'in_progress' }, nextSteps: ['n'] });
    expect(readFileSync(state('handoff.md'), 'utf8')).toBe((await task('handoff')).handoff);
    expect((await desk.run(['task', 'handoff'])).stdout).toContain('- [ ] n\n');
    expect(desk.git('status', '--porcelain', '-uall')).not.toContain('.opencode');
    file.task.title = 'by hand';
    writeFileSync(state('checkpoint.json'), JSON.stringify(file));
    expect((await task('show')).task).toMatchObject({ title: 'by hand' });
    expect((await task('set', '--note', 'x')).task).toMatchObject({ title: 'by hand', notes: ['x'] });
  });

  it.each([
    ['{bad', 'cannot be read', null],
    ['{"version": 1, "task": {"title": "old"}}', 'of version 1, older than 2', 'old'],
  ])('warns of %s with and without --json', async (text, warning, title) => {
    desk.write({ '.opencode/state/checkpoint.json': text });
    for (const command of ['show', 'history', 'handoff', 'clear']) {
      const told = await desk.answer<{ task: { title: string } | null; warnings: string[] }>(['task', command]);
      expect(told.warnings[0]).toContain(warning);
      if (command !== 'clear') expect(told.task?.title ?? null).toBe(title);
      desk.write({ '.opencode/state/checkpoint.json': text });
      expect((await desk.run(['task', command])).stderr).toContain(warning);
      desk.write({ '.opencode/state/checkpoint.json': text });
    }
  });

  it('is cleared, and can be had back', async () => {
    await task('set', '--title', 'one', '--name', 'kept');
    expect(await task('clear')).toEqual({ task: null });
    expect((await task('show')).task).toBeNull();
    expect(existsSync(state('checkpoint.json'))).toBe(false);
    expect((await task('restore', 'kept')).task).toMatchObject({ title: 'one' });
  });

  it('needs one of its subcommands', async () => {
    expect((await desk.refusal(['task'], 2)).reason).toBe('usage');
    expect((await desk.refusal(['task', 'bogus'], 2)).reason).toBe('usage');
    expect((await desk.run(['task', '--help'])).stdout).toMatch(/^ {2}handoff /m);
  });
});
