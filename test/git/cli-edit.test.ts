import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Checkpoint } from '../../src/core/model';
import { useBuilt, Desk } from './cli-rig';

const program = useBuilt('cli');
let desk: Desk;
beforeEach(() => {
  desk = new Desk(program());
  desk.write({ 'a.txt': '1' });
});
afterEach(() => desk.dispose());

const one = async (...args: string[]): Promise<Checkpoint> =>
  (await desk.answer<{ checkpoint: Checkpoint }>(args)).checkpoint;
const ids = async (): Promise<string[]> =>
  (await desk.answer<{ checkpoints: Checkpoint[] }>(['list'])).checkpoints.map((checkpoint) => checkpoint.id);

describe('changing a record', () => {
  it('renames, describes, pins, unpins under the same id', async () => {
    const made = await one('create', 'old');
    expect(await one('rename', 'old', 'new | "name" 🎉')).toMatchObject({
      id: made.id,
      name: 'new | "name" 🎉',
      title: 'new | "name" 🎉',
    });
    expect((await desk.refusal(['show', 'old'])).reason).toBe('unknown-reference');
    expect(await one('describe', made.id, 'two\nlines')).toMatchObject({ id: made.id, description: 'two\nlines' });
    expect((await one('pin', 'latest')).pinned).toBe(true);
    expect((await one('unpin', 'latest')).pinned).toBe(false);
    const { files: before, ...unchanged } = made;
    const now = await one('show', made.id);
    expect(now).toMatchObject({
      ...unchanged,
      name: 'new | "name" 🎉',
      title: 'new | "name" 🎉',
      description: 'two\nlines',
    });
    expect(now.files.tree).toBe(before.tree);
    expect(await ids()).toEqual([made.id]);
  });

  it('takes leading dashes after --', async () => {
    await one('create', 'x');
    expect((await one('rename', '--', 'x', '--yes')).name).toBe('--yes');
    expect((await one('describe', '--', '--yes', '-')).description).toBe('-');
  });

  it.each([
    ['rename', 'x', 'y'.repeat(201)],
    ['rename', 'x', 'a\nb'],
  ])('refuses %s %s %s', async (...args) => {
    await one('create', 'x');
    expect((await desk.refusal(args)).reason).toBe('invalid-argument');
    expect((await one('show', 'x')).name).toBe('x');
  });

  it.each([
    ['rename', 'nope', 'y'],
    ['describe', 'nope', 'y'],
    ['pin', 'nope'],
    ['unpin', 'nope'],
    ['delete', 'nope'],
    ['revert-turn', 'nope'],
  ])('%s of an unknown reference is refused', async (...args) => {
    expect((await desk.refusal(args)).reason).toBe('unknown-reference');
  });
});

describe('delete and clear', () => {
  it('delete one or more, named in any way, once each', async () => {
    const a = await one('create', 'a');
    const b = await one('create', 'b');
    const c = await one('create', 'c');
    expect(await desk.answer(['delete', 'b'])).toEqual({ deleted: [b.id] });
    expect(await desk.answer(['delete', 'a', a.id, 'latest'])).toEqual({ deleted: [a.id, c.id] });
    expect(await ids()).toEqual([]);
  });

  it('delete nothing when one of the references is unknown', async () => {
    const a = await one('create', 'a');
    expect((await desk.refusal(['delete', 'a', 'nope'])).reason).toBe('unknown-reference');
    expect(await ids()).toEqual([a.id]);
  });

  it('clear deletes all, or those of one session', async () => {
    const made = [await one('create'), await one('create', '--pin', 'named')];
    expect(await desk.answer(['clear', '--session', 'ses_other'])).toEqual({ deleted: [] });
    const { deleted } = await desk.answer<{ deleted: string[] }>(['clear']);
    expect([...deleted].sort()).toEqual(made.map((checkpoint) => checkpoint.id).sort());
    expect(await ids()).toEqual([]);
    expect(await desk.answer(['clear'])).toEqual({ deleted: [] });
  });

  it('need a yes where nobody is asked and nothing brings them back', async () => {
    const a = await one('create', 'a');
    for (const args of [['delete', 'a'], ['clear']]) {
      const ran = await desk.run(args);
      expect(ran).toMatchObject({ code: 1, stdout: '' });
      expect(ran.stderr).toContain('--yes');
    }
    expect(await ids()).toEqual([a.id]);
    const ran = await desk.run(['delete', 'a', '--yes']);
    expect(ran).toMatchObject({ code: 0, stdout: `deleted  ${a.id}\n`, stderr: '' });
    expect(await desk.run(['clear', '-y'])).toMatchObject({ code: 0, stdout: 'Nothing to delete.\n' });
  });
});
