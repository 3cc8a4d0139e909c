import { cpSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { killPoints } from './kill-points';
import type { Sandbox } from './rig';
import type { Worker } from './worker';

/** Copies workspace and store as they are now; the answer puts them back. */
export function copied(box: Sandbox): () => void {
  const copy = join(box.home, '..', 'copy');
  cpSync(box.home, join(copy, 'store'), { recursive: true, preserveTimestamps: true });
  cpSync(box.root, join(copy, 'work'), { recursive: true, preserveTimestamps: true, verbatimSymlinks: true });
  return () => {
    rmSync(box.home, { recursive: true, force: true });
    rmSync(box.root, { recursive: true, force: true });
    cpSync(join(copy, 'store'), box.home, { recursive: true, preserveTimestamps: true });
    cpSync(join(copy, 'work'), box.root, { recursive: true, preserveTimestamps: true, verbatimSymlinks: true });
  };
}

/** Runs an operation once whole to learn how many calls it makes, then again and again, dying at another call each time. */
export const crashing =
  (processes: Worker) =>
  async (
    box: Sandbox,
    args: string[],
    reset: () => void,
    check: (at: number) => Promise<void>,
    kind = 'kill',
  ): Promise<number> => {
    const log = join(box.home, '..', 'calls');
    reset();
    await processes.run(box, args, { FAULT_AT: '999999', FAULT_UNDER: join(box.home, '..'), FAULT_LOG: log });
    const calls = Number(readFileSync(log, 'utf8').trim().split('\n').at(-1));
    expect(calls).toBeGreaterThan(5);
    let killed = 0;
    const points = killPoints(calls, 14);
    for (const at of points) {
      reset();
      const ended = await processes.run(box, args, {
        FAULT_AT: String(at),
        FAULT_KIND: kind,
        FAULT_UNDER: join(box.home, '..'),
      });
      if (ended.signal === 'SIGKILL') killed += 1;
      // How often a busy lock is looked at varies: the very last calls may not be reached, and then it ended well.
      else if (kind === 'kill') expect([at, ended.code]).toEqual([at, 0]);
      await check(at);
    }
    if (kind === 'kill') expect(killed).toBeGreaterThan(points.length * 0.8);
    return calls;
  };
