import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CheckpointsError } from '../../src/core/errors';
import { withShortLock } from '../../src/core/short-lock';
import { program } from './child';

const holder = program('task-worker.ts');
let folder: string;
let lock: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'lock-'));
  lock = join(folder, 'task.lock');
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

const owner = (more: object): string =>
  JSON.stringify({ pid: process.pid, host: hostname(), token: 'somebody else', ...more });

describe('a short lock', () => {
  it('lets one in at a time and is gone afterwards', async () => {
    let inside = 0;
    let most = 0;
    const results = await Promise.all(
      Array.from({ length: 12 }, (_, i) =>
        withShortLock(lock, async () => {
          most = Math.max(most, ++inside);
          await pause(1);
          inside--;
          return i;
        }),
      ),
    );
    expect(most).toBe(1);
    expect(results).toEqual(Array.from({ length: 12 }, (_, i) => i));
    expect(readdirSync(folder)).toEqual([]);
  });

  it('is released when the work fails', async () => {
    await expect(withShortLock(lock, () => Promise.reject(new Error('no')))).rejects.toThrow('no');
    expect(readdirSync(folder)).toEqual([]);
  });

  it('is waited for, but not for ever', async () => {
    writeFileSync(lock, owner({}));
    const busy = withShortLock(lock, async () => 1, { waitMs: 50 });
    await expect(busy).rejects.toSatisfy((error) => CheckpointsError.is(error, 'busy'));
    expect(existsSync(lock)).toBe(true);
  });

  it('is taken over at once from a process that was killed', async () => {
    const child = holder.start(['hold', lock]);
    await once(child.stdout as NodeJS.ReadableStream, 'data');
    const gone = once(child, 'close');
    child.kill('SIGKILL');
    await gone;
    expect(existsSync(lock)).toBe(true);
    const taken = await Promise.all(
      [1, 2, 3, 4].map((n) => withShortLock(lock, async () => n, { waitMs: 20_000, staleMs: 600_000 })),
    );
    expect(taken).toEqual([1, 2, 3, 4]);
    expect(readdirSync(folder)).toEqual([]);
  });

  it.each([
    ['of another machine', owner({ host: 'elsewhere' })],
    ['that was never written to', ''],
    ['of a process that hangs', owner({})],
  ])('is taken over when it is old: one %s', async (_, content) => {
    writeFileSync(lock, content);
    utimesSync(lock, 1, 1);
    expect(await withShortLock(lock, async () => 'mine')).toBe('mine');
    expect(readdirSync(folder)).toEqual([]);
  });

  it('is taken over although another one died while taking over', async () => {
    writeFileSync(lock, owner({ host: 'elsewhere' }));
    writeFileSync(`${lock}.takeover`, '');
    for (const file of [lock, `${lock}.takeover`]) utimesSync(file, 1, 1);
    expect(await withShortLock(lock, async () => 'mine')).toBe('mine');
  });

  it('that was lost makes the work begin anew, and is not removed from its new owner', async () => {
    let runs = 0;
    const work = withShortLock(lock, async (confirm) => {
      if (++runs === 1) writeFileSync(lock, owner({}));
      if (runs === 1) setTimeout(() => rmSync(lock), 30);
      await confirm();
      return runs;
    });
    expect(await work).toBe(2);
    expect(readdirSync(folder)).toEqual([]);
  });
});
