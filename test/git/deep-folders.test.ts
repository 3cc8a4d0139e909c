import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { sandbox } from './rig';

/** Everything is real; how often a path is looked at is counted. */
const looks = vi.hoisted(() => ({ count: 0 }));
vi.mock(import('node:fs'), async (original) => {
  const fs = await original();
  const lstatSync = ((...args: Parameters<typeof fs.lstatSync>) => {
    looks.count++;
    return fs.lstatSync(...args);
  }) as typeof fs.lstatSync;
  return { ...fs, lstatSync };
});

const depth = 400;
const deep = `${'d/'.repeat(depth)}f`;

it('removes a file in many folders with all of them, without looking at every folder for each', async () => {
  const box = sandbox();
  box.write('a', 'a');
  const workspace = await box.open();
  await workspace.create({ name: 'before' });
  box.write(deep, 'deep');
  looks.count = 0;
  const { deleted } = await workspace.restore('before');
  expect(deleted).toEqual([deep]);
  expect(existsSync(join(box.root, 'd'))).toBe(false);
  expect(looks.count).toBeLessThan(depth * 50);
  await workspace.undo();
  expect(existsSync(join(box.root, deep))).toBe(true);
});

it('does so as well when the folders are gone already', async () => {
  const box = sandbox();
  box.write('a', 'a');
  box.write(`keep/${deep}`, 'deep');
  const workspace = await box.open();
  await workspace.create({ name: 'with' });
  rmSync(join(box.root, 'keep/d'), { recursive: true });
  await workspace.create({ name: 'without' });
  box.write(`keep/${'d/'.repeat(depth)}g`, 'other');
  looks.count = 0;
  await workspace.restore('with');
  expect(existsSync(join(box.root, `keep/${'d/'.repeat(depth)}g`))).toBe(false);
  expect(existsSync(join(box.root, `keep/${deep}`))).toBe(true);
  expect(looks.count).toBeLessThan(depth * 50);
});
