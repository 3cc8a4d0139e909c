import { readFileSync, existsSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Checkpoint, RestorePlan, RestoreResult, Trigger } from '../../src/core/model';
import type { Originals } from '../../src/core/originals';
import { openWorkspace } from '../../src/git/open';
import { useBuilt, Desk } from './cli-rig';

const program = useBuilt('cli');
let desk: Desk;
beforeEach(() => {
  desk = new Desk(program());
});
afterEach(() => desk.dispose());

const read = (name: string): string => readFileSync(path.join(desk.root, name), 'utf8');
const lines = (...changed: Array<[number, string]>): string =>
  Array.from({ length: 12 }, (_, i) => `${changed.find(([at]) => at === i)?.[1] ?? `line ${i}`}\n`).join('');

/** A point as the plugin makes it, by the same engine. */
async function point(trigger: Trigger, turn: number, paths?: string[], session = 'ses_a'): Promise<Checkpoint> {
  const workspace = await openWorkspace({
    directory: desk.root,
    home: path.join(desk.home, 'data/opencode-checkpoints'),
    env: desk.env,
  });
  try {
    return await workspace.create({
      trigger,
      session: { id: session, messageId: null, messageCount: 0, title: null, parent: null },
      turn: { number: turn, prompt: `prompt ${turn}`, model: null, agent: null, cost: null, tokens: null },
      cause: paths ? { tool: 'edit', callId: null, paths } : null,
      paths,
    });
  } finally {
    await workspace.close();
  }
}

describe('turns', () => {
  it('revert-turn undoes one and keeps what came after, merged line by line', async () => {
    desk.write({ 'a.txt': lines(), 'b.txt': 'b\n' });
    const first = await point('turn', 1);
    desk.write({ 'a.txt': lines([1, 'by turn 1']), 'made.txt': 'new\n' });
    desk.remove('b.txt');
    await point('idle', 1);
    await point('turn', 2);
    desk.write({ 'a.txt': lines([1, 'by turn 1'], [10, 'by turn 2']) });
    await point('idle', 2);
    const { result } = await desk.answer<{ result: RestoreResult }>(['revert-turn', first.id]);
    expect(result).toMatchObject({ deleted: ['made.txt'], conflicts: [], session: null });
    expect([...result.restored].sort()).toEqual(['a.txt', 'b.txt']);
    expect(read('a.txt')).toBe(lines([10, 'by turn 2']));
    expect(read('b.txt')).toBe('b\n');
    await desk.answer(['undo']);
    expect(read('a.txt')).toBe(lines([1, 'by turn 1'], [10, 'by turn 2']));
  });

  it('revert-turn names conflicts, leaves those files, and exits 1 with its result', async () => {
    desk.write({ 'a.txt': lines(), 'b.txt': 'b\n' });
    const first = await point('turn', 1);
    desk.write({ 'a.txt': lines([5, 'by turn 1']), 'b.txt': 'changed\n' });
    await point('idle', 1);
    desk.write({ 'a.txt': lines([5, 'by me']) });
    const { result } = (await desk.document(['revert-turn', first.id], 1)) as unknown as { result: RestoreResult };
    expect(result.conflicts).toMatchObject([{ path: 'a.txt' }]);
    expect(result.restored).toEqual(['b.txt']);
    expect([read('a.txt'), read('b.txt')]).toEqual([lines([5, 'by me']), 'b\n']);
    const text = await desk.run(['revert-turn', first.id]);
    expect(text).toMatchObject({ code: 1 });
    expect(text.stdout).toMatch(/^conflict {2}a\.txt/m);
  });

  it('revert-turn is refused for what is no turn', async () => {
    desk.write({ 'a.txt': '1' });
    await desk.answer(['create', 'manual']);
    expect((await desk.refusal(['revert-turn', 'manual'])).reason).toBe('invalid-argument');
  });

  it('latest counts turns and manual points, not tools and idles', async () => {
    desk.write({ 'a.txt': '1' });
    const turn = await point('turn', 1);
    await point('tool', 1, ['a.txt']);
    desk.write({ 'a.txt': '2' });
    await point('idle', 1);
    const latest = async (reference: string): Promise<string> =>
      (await desk.answer<{ checkpoint: Checkpoint }>(['show', reference])).checkpoint.id;
    expect(await latest('latest')).toBe(turn.id);
    const manual = (await desk.answer<{ checkpoint: Checkpoint }>(['create'])).checkpoint;
    expect(await latest('latest')).toBe(manual.id);
    expect(await latest('latest~1')).toBe(turn.id);
    const turns = await desk.answer<{ checkpoints: Checkpoint[] }>(['list', '--trigger', 'turn']);
    expect(turns.checkpoints.map((one) => one.title)).toEqual(['prompt 1']);
  });

  it('--keep-user-edits leaves what was changed by hand, and says so', async () => {
    desk.write({ 'agent.txt': '1', 'mine.txt': '1' });
    const turn = await point('turn', 1);
    await point('tool', 1, ['agent.txt']);
    desk.write({ 'agent.txt': '2' });
    await point('idle', 1);
    desk.write({ 'mine.txt': 'by hand' });
    const { plan } = await desk.answer<{ plan: RestorePlan }>(['restore', turn.id, '--dry-run']);
    expect(plan.entries).toEqual([
      { path: 'agent.txt', action: 'write' },
      expect.objectContaining({ path: 'mine.txt', action: 'write', yours: true }),
    ]);
    const kept = await desk.answer<{ plan: RestorePlan }>(['restore', turn.id, '--keep-user-edits', '--dry-run']);
    expect(kept.plan.entries).toContainEqual(
      expect.objectContaining({ path: 'mine.txt', action: 'keep', reason: 'yours' }),
    );
    const { result } = await desk.answer<{ result: RestoreResult }>(['restore', turn.id, '--keep-user-edits']);
    expect(result).toMatchObject({ restored: ['agent.txt'], kept: [{ path: 'mine.txt', reason: 'yours' }] });
    expect([read('agent.txt'), read('mine.txt')]).toEqual(['1', 'by hand']);
  });

  it('clear --session and list --session keep to one session', async () => {
    desk.write({ 'a.txt': '1' });
    const a = await point('turn', 1, undefined, 'ses_a');
    desk.write({ 'a.txt': '2' });
    const b = await point('turn', 1, undefined, 'ses_b');
    const ids = async (...args: string[]): Promise<string[]> =>
      (await desk.answer<{ checkpoints: Checkpoint[] }>(['list', ...args])).checkpoints.map((one) => one.id);
    expect(await ids('--session', 'ses_a')).toEqual([a.id]);
    expect(await desk.answer(['clear', '--session', 'ses_a'])).toEqual({ deleted: [a.id] });
    expect(await ids()).toEqual([b.id]);
    const stats = await desk.answer<{ sessions: number; perSession: unknown[] }>(['stats']);
    expect(stats).toMatchObject({ sessions: 1, perSession: [{ session: 'ses_b', checkpoints: 1 }] });
  });

  it('originals are the first versions of what a session changed, not of what I did', async () => {
    desk.write({ 'a.txt': 'first\n', 'mine.txt': '1\n' });
    await point('turn', 1);
    await point('tool', 1, ['a.txt']);
    desk.write({ 'a.txt': 'second\n' });
    await point('tool', 1, ['a.txt', 'made.txt']);
    desk.write({ 'a.txt': 'third\n', 'made.txt': 'm\n' });
    await point('idle', 1);
    desk.write({ 'mine.txt': '2\n' });
    const { session, originals } = await desk.answer<Originals>(['originals']);
    expect(session).toBe('ses_a');
    expect(originals.map(({ path: name, existed }) => [name, existed])).toEqual([
      ['a.txt', true],
      ['made.txt', false],
    ]);
    expect((await desk.answer<Originals>(['originals', '--session', 'ses_a'])).originals).toEqual(originals);
    await desk.answer(['originals', 'restore', 'a.txt']);
    await desk.answer(['originals', 'restore', 'made.txt']);
    expect([read('a.txt'), existsSync(path.join(desk.root, 'made.txt')), read('mine.txt')]).toEqual([
      'first\n',
      false,
      '2\n',
    ]);
  });
});
