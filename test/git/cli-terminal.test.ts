import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Checkpoint } from '../../src/core/model';
import { useBuilt, Desk } from './cli-rig';

const program = useBuilt('cli');
let desk: Desk;
beforeEach(async () => {
  desk = new Desk(program());
  desk.write({ 'a.txt': 'old\n' });
  await desk.answer(['create', 'good']);
  desk.write({ 'a.txt': 'new\n', 'b.txt': 'b\n' });
});
afterEach(() => desk.dispose());

const read = (name: string): string => readFileSync(path.join(desk.root, name), 'utf8');
const ids = async (): Promise<Checkpoint[]> => (await desk.answer<{ checkpoints: Checkpoint[] }>(['list'])).checkpoints;
const colour = '\u001b[3';

describe('at a terminal', () => {
  it('has colours, unless NO_COLOR says no', async () => {
    expect((await desk.atTerminal(['list'])).stdout).toContain(colour);
    expect((await desk.atTerminal(['diff', '--patch'])).stdout).toContain(`\u001b[31m-old`);
    expect((await desk.atTerminal(['list'], [], { NO_COLOR: '1' })).stdout).not.toContain(colour);
    expect((await desk.atTerminal(['list'], [], { TERM: 'dumb' })).stdout).not.toContain(colour);
    const json = await desk.atTerminal(['list', '--json']);
    expect(json.stdout).not.toContain(colour);
    expect(JSON.parse(json.stdout)).toHaveProperty('checkpoints');
  });

  it('restore shows its plan and asks', async () => {
    const no = await desk.atTerminal(['restore', 'good'], [['Restore "good"? [y/N] ', 'n\r']]);
    expect(no.code).toBe(1);
    expect(no.stdout).toContain('a.txt');
    expect(no.stdout).toContain('1 to write, 1 to delete.');
    expect([read('a.txt'), existsSync(path.join(desk.root, 'b.txt'))]).toEqual(['new\n', true]);
    expect(await ids()).toHaveLength(1);
    const nothing = await desk.atTerminal(['restore', 'good'], [['[y/N] ', '\r']]);
    expect([nothing.code, read('a.txt')]).toEqual([1, 'new\n']);
    const yes = await desk.atTerminal(['restore', 'good'], [['[y/N] ', 'y\r']]);
    expect([yes.code, read('a.txt')]).toEqual([0, 'old\n']);
  });

  it.each(['\u0003', '\u0004'])('a question that %j ends is followed by a line of its own', async (key) => {
    const ended = await desk.atTerminal(['delete', 'good'], [['[y/N] ', key]], { NO_COLOR: '1' });
    expect(ended.code).toBe(1);
    expect(ended.stdout).toContain('\nerror: Nothing was changed.');
    expect(await ids()).toHaveLength(1);
  });

  it('asks again about what changed while the question stood there', async () => {
    const change = (files: Record<string, string>) => (): string => {
      desk.write(files);
      return 'y\r';
    };
    const no = await desk.atTerminal(
      ['restore', 'good'],
      [
        ['[y/N] ', change({ 'mine.txt': 'just written\n' })],
        ['2 to delete.', ''],
        ['[y/N] ', 'n\r'],
      ],
    );
    expect([no.code, read('mine.txt'), read('a.txt')]).toEqual([1, 'just written\n', 'new\n']);
    expect(no.stdout).toContain('Changed since it was shown what would be restored: mine.txt. Nothing was restored.');
    const yes = await desk.atTerminal(
      ['restore', 'good'],
      [
        ['[y/N] ', change({ 'a.txt': 'newer\n' })],
        ['[y/N] ', 'y\r'],
      ],
    );
    expect([yes.code, read('a.txt'), existsSync(path.join(desk.root, 'mine.txt'))]).toEqual([0, 'old\n', false]);
    expect((await desk.answer<{ result: { restored: string[] } }>(['undo'])).result.restored).toContain('a.txt');
    expect(read('a.txt')).toBe('newer\n');
    const first = await desk.atTerminal(
      ['originals', 'restore', 'a.txt'],
      [
        ['[y/N] ', change({ 'a.txt': 'newest\n' })],
        ['[y/N] ', 'n\r'],
      ],
    );
    expect([first.code, read('a.txt')]).toEqual([1, 'newest\n']);
  });

  it('originals restore does so, too', async () => {
    const line = ['originals', 'restore', 'a.txt'];
    const no = await desk.atTerminal(line, [['Restore the first version of a.txt? [y/N] ', 'n\r']]);
    expect([no.code, read('a.txt')]).toEqual([1, 'new\n']);
    expect(no.stdout).toContain('1 to write');
    expect((await desk.atTerminal([...line, '--yes'])).code).toBe(0);
    expect(read('a.txt')).toBe('old\n');
  });

  it('Ctrl+C at the question changes nothing', async () => {
    const ran = await desk.atTerminal(['restore', 'good'], [['[y/N] ', '\u0003']]);
    expect(ran.code).not.toBe(0);
    expect(read('a.txt')).toBe('new\n');
    expect(await ids()).toHaveLength(1);
  });

  it('--yes and --json are not asked', async () => {
    expect((await desk.atTerminal(['restore', 'good', '--yes'])).code).toBe(0);
    expect(read('a.txt')).toBe('old\n');
    const undone = await desk.atTerminal(['undo', '--json']);
    expect(undone.code).toBe(0);
    expect(JSON.parse(undone.stdout)).toHaveProperty('result');
    expect(read('a.txt')).toBe('new\n');
  });

  it('a mass deletion is its own question, which --yes does not answer', async () => {
    desk.write(Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`many/${i}`, 'x'])));
    const no = await desk.atTerminal(['restore', 'good', '--yes'], [['Type "delete" to go on: ', 'yes\r']]);
    expect([no.code, existsSync(path.join(desk.root, 'many/1'))]).toEqual([1, true]);
    const yes = await desk.atTerminal(['restore', 'good'], [['Type "delete" to go on: ', 'delete\r']]);
    expect([yes.code, existsSync(path.join(desk.root, 'many'))]).toEqual([0, false]);
  });

  it('delete and clear ask', async () => {
    expect((await desk.atTerminal(['delete', 'good'], [['[y/N] ', 'n\r']])).code).toBe(1);
    expect((await desk.atTerminal(['clear'], [['[y/N] ', 'no\r']])).code).toBe(1);
    expect(await ids()).toHaveLength(1);
    expect((await desk.atTerminal(['delete', 'good'], [['[y/N] ', 'yes\r']])).code).toBe(0);
    expect(await ids()).toHaveLength(0);
  });
});
