import { existsSync, lstatSync, mkdirSync, readFileSync, statSync, symlinkSync, chmodSync, utimesSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Checkpoint, RestorePlan, RestoreResult } from '../../src/core/model';
import { useBuilt, Desk } from './cli-rig';

const program = useBuilt('cli');
let desk: Desk;
beforeEach(() => {
  desk = new Desk(program());
});
afterEach(() => desk.dispose());

const create = async (...args: string[]): Promise<Checkpoint> =>
  (await desk.answer<{ checkpoint: Checkpoint }>(['create', ...args])).checkpoint;
const result = async (...args: string[]): Promise<RestoreResult> =>
  (await desk.answer<{ result: RestoreResult }>(args)).result;
const plan = async (...args: string[]): Promise<RestorePlan> =>
  (await desk.answer<{ plan: RestorePlan }>(['restore', ...args, '--dry-run'])).plan;
const read = (name: string): string => readFileSync(path.join(desk.root, name), 'utf8');
const has = (name: string): boolean => existsSync(path.join(desk.root, name));
const many = (count: number): Record<string, string> =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`many/f${i}.txt`, `${i}\n`]));

describe('restore', () => {
  it('writes, deletes and leaves the rest alone', async () => {
    desk.write({ 'mod.txt': 'old\n', 'del.txt': 'back\n', 'same.txt': 'same\n', 'exe.sh': 'x' });
    chmodSync(path.join(desk.root, 'exe.sh'), 0o755);
    symlinkSync('same.txt', path.join(desk.root, 'link'));
    const target = await create('good');
    const past = new Date('2020-01-02T03:04:05Z');
    utimesSync(path.join(desk.root, 'same.txt'), past, past);
    desk.write({ 'mod.txt': 'new\n', 'added/deep.txt': 'extra\n' });
    for (const name of ['del.txt', 'link', 'exe.sh']) desk.remove(name);
    const done = await result('restore', 'good');
    expect({ ...done, restored: [...done.restored].sort() }).toEqual({
      restored: ['del.txt', 'exe.sh', 'link', 'mod.txt'],
      deleted: ['added/deep.txt'],
      kept: [],
      skipped: [],
      session: null,
      undo: expect.stringMatching(/^cp_\w{26}$/) as string,
    });
    expect([read('mod.txt'), read('del.txt'), has('added')]).toEqual(['old\n', 'back\n', false]);
    expect(lstatSync(path.join(desk.root, 'link')).isSymbolicLink()).toBe(true);
    expect(statSync(path.join(desk.root, 'exe.sh')).mode & 0o111).toBe(0o111);
    expect(statSync(path.join(desk.root, 'same.txt')).mtime).toEqual(past);
    expect((await desk.answer<{ changes: unknown[] }>(['diff', target.id])).changes).toEqual([]);
    const safety = (await desk.answer<{ checkpoint: Checkpoint }>(['show', done.undo ?? ''])).checkpoint;
    expect(safety).toMatchObject({
      trigger: 'restore',
      restore: { target: target.id, scope: ['files'], restored: 4, deleted: 1 },
    });
  });

  it('only plans with --dry-run', async () => {
    desk.write({ 'a.txt': 'old\n' });
    await create('good');
    desk.write({ 'a.txt': 'new\n', 'b.txt': 'b\n' });
    const planned = await plan('good');
    expect(planned.entries).toEqual([
      expect.objectContaining({ path: 'a.txt', action: 'write' }),
      expect.objectContaining({ path: 'b.txt', action: 'delete' }),
    ]);
    expect([read('a.txt'), has('b.txt')]).toEqual(['new\n', true]);
    expect((await desk.answer<{ checkpoints: unknown[] }>(['list'])).checkpoints).toHaveLength(1);
    const text = (await desk.run(['restore', 'good', '--dry-run'])).stdout;
    expect(text).toMatch(/^write {3}a\.txt/m);
    expect(text).toMatch(/^delete {2}b\.txt/m);
    expect(text).toContain('1 to write, 1 to delete.');
  });

  it('keeps to --path: files, folders, what was not there then', async () => {
    desk.write({ 'a.txt': '1', 'src/b.txt': '1', 'src/c.txt': '1' });
    await create('good');
    desk.write({ 'a.txt': '2', 'src/b.txt': '2', 'src/c.txt': '2', 'src/new.txt': '2', 'other.txt': '2' });
    expect((await plan('good', '--path', 'src/b.txt')).entries.map((entry) => entry.path)).toEqual(['src/b.txt']);
    const one = await result('restore', 'good', '--path', 'src/b.txt');
    expect([one.restored, one.deleted]).toEqual([['src/b.txt'], []]);
    const two = await result('restore', 'good', '--path', 'src', '--path', 'other.txt');
    expect([two.restored, [...two.deleted].sort()]).toEqual([['src/c.txt'], ['other.txt', 'src/new.txt']]);
    expect([read('a.txt'), read('src/b.txt'), has('other.txt')]).toEqual(['2', '1', false]);
    expect((await desk.refusal(['restore', 'good', '--path', '../x'])).reason).toBe('invalid-argument');
    expect((await desk.refusal(['restore', 'good', '--path', 'nowhere'])).reason).toBe('not-in-checkpoint');
    desk.write({ '.env': 'SECRET=1\n' });
    expect(await desk.refusal(['restore', 'good', '--path', '.env'])).toMatchObject({
      reason: 'not-in-checkpoint',
      message: expect.stringMatching(/^\.env is not in the checkpoint; it is left out/) as string,
    });
  });

  it('takes an empty folder as --path', async () => {
    desk.write({ 'a.txt': '1' });
    mkdirSync(path.join(desk.root, 'hollow'));
    await create('good');
    desk.remove('hollow');
    const { stdout } = await desk.run(['restore', 'good', '--dry-run']);
    expect(stdout).toContain('make    hollow/');
    expect(stdout).not.toContain('Nothing to do');
    await result('restore', 'good', '--path', 'hollow');
    expect(has('hollow')).toBe(true);
  });

  it('brings a file back whose folder is gone, from a folder that is still there', async () => {
    desk.write({ 'src/deep/a.txt': 'x', 'doc/b.txt': 'y' });
    await create('good');
    desk.remove('src');
    const done = await desk.answer<{ result: RestoreResult }>(['restore', 'good', '--path', '../src/deep/a.txt'], {
      cwd: path.join(desk.root, 'doc'),
    });
    expect(done.result.restored).toEqual(['src/deep/a.txt']);
    expect(read('src/deep/a.txt')).toBe('x');
  });

  it('changes nothing for an unknown reference or a bad scope', async () => {
    desk.write({ 'a.txt': '1' });
    await create('good');
    desk.write({ 'a.txt': '2', 'b.txt': '2' });
    expect((await desk.refusal(['restore', 'deadbeef'])).reason).toBe('unknown-reference');
    expect((await desk.refusal(['restore', 'good', '--scope', 'everything'])).reason).toBe('invalid-argument');
    expect([read('a.txt'), has('b.txt')]).toEqual(['2', true]);
    expect((await desk.answer<{ checkpoints: unknown[] }>(['list'])).checkpoints).toHaveLength(1);
  });

  it('refuses the conversation of a checkpoint that has none', async () => {
    desk.write({ 'a.txt': '1' });
    await create('good');
    desk.write({ 'a.txt': '2' });
    const error = await desk.refusal(['restore', 'good', '--scope', 'files,conversation']);
    expect(error.reason).toBe('no-conversation');
    expect(read('a.txt')).toBe('2');
  });

  it('does not delete in masses without its own flag, --yes or not', async () => {
    desk.write({ 'a.txt': '1' });
    await create('few');
    desk.write(many(30));
    expect((await plan('few')).massDelete).toBe(true);
    for (const flags of [[], ['--yes'], ['--yes', '--force']])
      expect((await desk.refusal(['restore', 'few', ...flags])).reason).toBe('mass-delete');
    expect(has('many/f29.txt')).toBe(true);
    const done = await result('restore', 'few', '--allow-mass-delete');
    expect(done.deleted).toHaveLength(30);
    expect(has('many')).toBe(false);
    expect((await result('undo')).restored).toHaveLength(30);
  });

  it('deletes 20 files without the flag', async () => {
    await create('none');
    desk.write(many(20));
    expect((await result('restore', 'none')).deleted).toHaveLength(20);
  });

  it('leaves secrets and ignored files alone', async () => {
    desk.write({ '.gitignore': 'ignored.txt\n', 'a.txt': '1' });
    await create('good');
    desk.write({ '.env': 'S=1', 'ignored.txt': 'mine', 'a.txt': '2' });
    const done = await result('restore', 'good');
    expect(done.deleted).toEqual([]);
    expect([read('.env'), read('ignored.txt')]).toEqual(['S=1', 'mine']);
  });

  it('needs no --yes where nobody could answer, and says how to undo', async () => {
    desk.write({ 'a.txt': '1' });
    await create('good');
    desk.write({ 'a.txt': '2' });
    const ran = await desk.run(['restore', 'good']);
    expect(ran).toMatchObject({ code: 0, stderr: '' });
    expect(ran.stdout).toMatch(
      /^restored {2}a\.txt\n1 file restored, 0 deleted\. To take it back: opencode-checkpoints undo \(cp_\w+\)\n$/,
    );
    expect((await desk.run(['restore', 'good'])).stdout).toMatch(/^No file was changed\. To take it back: /);
  });
});

describe('undo and redo', () => {
  it('walk back and forth, across processes', async () => {
    desk.write({ 'a.txt': 'one' });
    await create('one');
    desk.write({ 'a.txt': 'two', 'b.txt': 'b' });
    await create('two');
    desk.write({ 'a.txt': 'three' });
    await result('restore', 'two');
    expect(read('a.txt')).toBe('two');
    await result('restore', 'one');
    expect([read('a.txt'), has('b.txt')]).toEqual(['one', false]);
    await result('undo');
    expect([read('a.txt'), has('b.txt')]).toEqual(['two', true]);
    await result('undo');
    expect(read('a.txt')).toBe('three');
    expect((await desk.refusal(['undo'])).reason).toBe('nothing-to-undo');
    await result('redo');
    expect(read('a.txt')).toBe('two');
    await result('redo');
    expect([read('a.txt'), has('b.txt')]).toEqual(['one', false]);
    expect((await desk.refusal(['redo'])).reason).toBe('nothing-to-redo');
    await result('undo');
    expect(read('a.txt')).toBe('two');
  });

  it('have the shape of a restore', async () => {
    desk.write({ 'a.txt': 'one' });
    await create('one');
    desk.write({ 'a.txt': 'two' });
    await result('restore', 'one');
    const undone = await desk.answer<{ result: RestoreResult }>(['undo']);
    expect(undone).toEqual({
      result: {
        restored: ['a.txt'],
        deleted: [],
        kept: [],
        skipped: [],
        session: null,
        undo: expect.stringMatching(/^cp_/) as string,
      },
    });
  });

  it('say how they are taken back', async () => {
    desk.write({ 'a.txt': 'one' });
    await create('one');
    desk.write({ 'a.txt': 'two' });
    await result('restore', 'one');
    expect((await desk.run(['undo'])).stdout).toContain('opencode-checkpoints redo (cp_');
    expect((await desk.run(['redo'])).stdout).toContain('opencode-checkpoints undo (cp_');
  });

  it('are refused when there is nothing', async () => {
    expect((await desk.refusal(['undo'])).reason).toBe('nothing-to-undo');
    expect((await desk.refusal(['redo'])).reason).toBe('nothing-to-redo');
  });

  it('a new restore ends the redo', async () => {
    desk.write({ 'a.txt': 'one' });
    await create('one');
    desk.write({ 'a.txt': 'two' });
    await result('restore', 'one');
    await result('undo');
    await result('restore', 'one');
    expect((await desk.refusal(['redo'])).reason).toBe('nothing-to-redo');
  });

  it('undo keeps what was made after the restore', async () => {
    desk.write({ 'a.txt': 'one' });
    await create('one');
    desk.write({ 'a.txt': 'two' });
    await result('restore', 'one');
    desk.write({ 'later.txt': 'mine' });
    await result('undo');
    expect(read('a.txt')).toBe('two');
    // Whatever undo does with it, it can be had back.
    if (!has('later.txt')) {
      await result('redo');
      expect(read('later.txt')).toBe('mine');
    }
  });
});
