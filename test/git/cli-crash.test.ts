import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Problem } from '../../src/core/api';
import { useBuilt, Desk } from './cli-rig';
import { killPoints } from './kill-points';

const count = 12;

const program = useBuilt('cli');
let desk: Desk;
beforeEach(async () => {
  desk = new Desk(program());
  fill('old');
  await desk.answer(['create', 'good']);
  fill('new');
});
afterEach(() => desk.dispose());

const fill = (text: string): void =>
  desk.write(Object.fromEntries(Array.from({ length: count }, (_, i) => [`f${i}.txt`, `${text} ${i}\n`])));
const contents = (): Set<string> =>
  new Set(
    Array.from(
      { length: count },
      (_, i) => readFileSync(path.join(desk.root, `f${i}.txt`), 'utf8').split(' ')[0] ?? '',
    ),
  );

/** Loaded before the program: sends it a signal when it renames the n-th file into the workspace. */
function signalAt(n: number, signal: 'SIGKILL' | 'SIGINT', when: 'apply' | 'stage' = 'apply'): NodeJS.ProcessEnv {
  const file = path.join(desk.top, 'signal.cjs');
  const method = when === 'apply' ? 'renameSync' : 'openSync';
  const hit =
    when === 'apply'
      ? `String(args[1]).startsWith(${JSON.stringify(`${desk.root}/`)})`
      : `/stage-[0-9a-f]+.\\d+.\\d+$/.test(String(args[0]))`;
  writeFileSync(
    file,
    `const fs = require('node:fs');
     const real = fs.${method};
     let left = ${n};
     fs.${method} = (...args) => {
       if (${hit} && --left === 0) process.kill(process.pid, ${JSON.stringify(signal)});
       return real(...args);
     };`,
  );
  return { NODE_OPTIONS: `--require ${file}` };
}

describe('a restore that dies', () => {
  it.each(killPoints(count, 3))(
    'at file %i is finished or rolled back by the next command, whatever it is',
    async (n) => {
      const died = await desk.run(['restore', 'good', '--json'], { env: signalAt(n, 'SIGKILL') });
      expect(died.stdout).toBe('');
      const next = await desk.run(['list']);
      expect(next.code).toBe(0);
      expect(next.stderr).toMatch(/^A restore that had been interrupted was (finished|rolled back): .*\.\n$/);
      expect(contents().size).toBe(1);
      expect(await desk.answer(['doctor'])).toEqual({ problems: [] });
    },
  );

  it('is told by doctor, as repaired', async () => {
    await desk.run(['restore', 'good'], { env: signalAt(5, 'SIGKILL') });
    const { problems } = await desk.answer<{ problems: Problem[] }>(['doctor']);
    expect(problems).toEqual([
      { reason: 'restore-interrupted', message: expect.any(String) as string, repaired: true },
    ]);
    expect(contents().size).toBe(1);
  });

  it.each([
    ['an answer', ['list'], 0],
    ['an error', ['show', 'nothing-of-that-name'], 1],
  ])('is told to programs, too, beside %s', async (_, command, code) => {
    await desk.run(['restore', 'good'], { env: signalAt(5, 'SIGKILL') });
    const next = await desk.run([...command, '--json']);
    expect([next.code, next.stderr]).toEqual([code, '']);
    expect(next.stdout.trimEnd()).not.toContain('\n');
    const { recovered, ...said } = JSON.parse(next.stdout) as { recovered: unknown };
    expect(Object.keys(said)).toEqual([code === 0 ? 'checkpoints' : 'error']);
    expect(recovered).toMatchObject({ outcome: 'finished', kept: [], safety: expect.stringMatching(/^cp_/) as string });
    expect(await desk.answer(command.slice(0, 1).concat(code === 0 ? [] : ['good']))).not.toHaveProperty('recovered');
  });

  it('keeps what was edited after the crash', async () => {
    await desk.run(['restore', 'good'], { env: signalAt(5, 'SIGKILL') });
    desk.write({ 'f0.txt': 'mine\n', 'f11.txt': 'mine\n' });
    await desk.answer(['list']);
    const left = Array.from({ length: count }, (_, i) => readFileSync(path.join(desk.root, `f${i}.txt`), 'utf8'));
    expect([left[0], left[11]]).toEqual(['mine\n', 'mine\n']);
    expect(new Set(left.slice(1, 11).map((text) => text.split(' ')[0])).size).toBe(1);
  });
});

describe('Ctrl+C', () => {
  it('while a restore prepares changes nothing and says so', async () => {
    // Contents are read ahead in portions, and only between two of them a signal is heard: so there are many.
    const many = (text: string): Record<string, string> =>
      Object.fromEntries(Array.from({ length: 600 }, (_, i) => [`many/${i}.txt`, `${text} ${i}\n`]));
    desk.write(many('old'));
    await desk.answer(['create', 'many']);
    desk.write(many('new'));
    const ran = await desk.run(['restore', 'many', '--json'], { env: signalAt(3, 'SIGINT', 'stage') });
    expect(ran.code).toBe(130);
    expect(JSON.parse(ran.stdout)).toMatchObject({ error: { reason: 'cancelled' } });
    for (const i of [0, 1, 300, 599])
      expect(readFileSync(path.join(desk.root, `many/${i}.txt`), 'utf8')).toBe(`new ${i}\n`);
    expect(await desk.answer(['doctor'])).toEqual({ problems: [] });
    expect((await desk.answer<{ result: { restored: string[] } }>(['restore', 'many'])).result.restored).toHaveLength(
      600,
    );
  });
});
