import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Noticed } from '../../src/backup/noticed';
import { Scheduler, usualTiming, type RunOutcome } from '../../src/backup/scheduler';
import type { SessionEvent } from '../../src/core/sessions';

/** Seconds since the test began, at which runs were made. */
class Clock {
  readonly runs: number[] = [];
  outcome: RunOutcome = 'done';
  elsewhere = -Infinity;
  private readonly start = Date.now();
  private last = -Infinity;
  readonly scheduler = new Scheduler(
    async () => {
      this.last = Date.now();
      this.runs.push((this.last - this.start) / 1000);
      await this.work();
      return this.outcome;
    },
    () => Promise.resolve(Math.max(this.last, this.elsewhere)),
    usualTiming,
  );
  work: () => Promise<void> = () => Promise.resolve();

  async pass(seconds: number): Promise<void> {
    await vi.advanceTimersByTimeAsync(seconds * 1000);
  }
}

describe('when a backup runs', () => {
  let clock: Clock;
  beforeEach(() => {
    vi.useFakeTimers();
    clock = new Clock();
  });
  afterEach(() => vi.useRealTimers());

  it('waits until it is quiet', async () => {
    for (let i = 0; i < 3; i++) {
      clock.scheduler.touch();
      await clock.pass(3);
    }
    expect(clock.runs).toEqual([]);
    await clock.pass(2);
    expect(clock.runs).toEqual([11]);
    expect(clock.scheduler.pending).toBe(false);
    await clock.pass(300);
    expect(clock.runs).toEqual([11]);
  });

  it('does not wait for ever for an agent that is never quiet', async () => {
    for (let i = 0; i < 100; i++) {
      clock.scheduler.touch();
      await clock.pass(1);
    }
    expect(clock.runs).toEqual([30, 60, 90]);
    await clock.pass(60);
    expect(clock.runs).toEqual([30, 60, 90, 120]);
  });

  it('runs once more for what came within 30 seconds after a run', async () => {
    clock.scheduler.touch();
    await clock.pass(6);
    clock.scheduler.touch();
    await clock.pass(10);
    expect(clock.runs).toEqual([5]);
    expect(clock.scheduler.pending).toBe(true);
    await clock.pass(30);
    expect(clock.runs).toEqual([5, 35]);
    expect(clock.scheduler.pending).toBe(false);
  });

  it('runs once more for what came during a run', async () => {
    let finish = (): void => undefined;
    clock.work = () => new Promise((done) => (finish = done));
    clock.scheduler.touch();
    await clock.pass(5);
    clock.scheduler.touch();
    await clock.pass(50);
    expect(clock.runs).toEqual([5]);
    clock.work = () => Promise.resolve();
    finish();
    await clock.pass(1);
    expect(clock.runs).toEqual([5, 55]);
  });

  it('keeps its distance to runs of other processes', async () => {
    clock.elsewhere = Date.now() + 4000;
    clock.scheduler.touch();
    await clock.pass(33);
    expect(clock.runs).toEqual([]);
    await clock.pass(2);
    expect(clock.runs).toEqual([34]);
  });

  it('tries again after a failure, less and less often, until it succeeds', async () => {
    clock.outcome = 'again';
    clock.scheduler.touch();
    await clock.pass(5000);
    const gaps = clock.runs.slice(1).map((at, index) => at - (clock.runs[index] ?? 0));
    expect(gaps).toEqual([30, 60, 120, 240, 480, 600, 600, 600, 600, 600, 600].slice(0, gaps.length));
    expect(gaps.length).toBeGreaterThan(8);
    expect(clock.scheduler.pending).toBe(true);
    clock.outcome = 'done';
    await clock.pass(601);
    const count = clock.runs.length;
    expect(clock.scheduler.pending).toBe(false);
    await clock.pass(5000);
    expect(clock.runs).toHaveLength(count);
  });

  it('has nothing to do when a run was asked for in between', async () => {
    clock.scheduler.touch();
    await clock.pass(1);
    clock.scheduler.settled(Date.now());
    expect(clock.scheduler.pending).toBe(false);
    await clock.pass(100);
    expect(clock.runs).toEqual([]);
    clock.scheduler.touch();
    clock.scheduler.settled(Date.now() - 1);
    expect(clock.scheduler.pending).toBe(true);
  });

  it('ends with its host', async () => {
    clock.scheduler.touch();
    await clock.scheduler.close();
    clock.scheduler.touch();
    await clock.pass(100);
    expect(clock.runs).toEqual([]);
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe('what events say', () => {
  const events: Array<[SessionEvent, boolean, string[], string[]]> = [
    [{ type: 'connected' }, true, [], []],
    [{ type: 'gap' }, true, [], []],
    [{ type: 'lost', reason: 'x' }, false, [], []],
    [{ type: 'busy', session: 'a' }, false, [], []],
    [{ type: 'message', session: 'a' }, true, ['a'], []],
    [{ type: 'idle', session: 'a' }, true, ['a'], []],
    [{ type: 'todos', session: 'a' }, true, ['a'], []],
    [{ type: 'session', change: 'updated', session: 'a', directory: null }, true, ['a'], []],
    [{ type: 'session', change: 'deleted', session: 'a', directory: null }, true, [], ['a']],
  ];
  it.each(events)('%j', (event, matters, touched, deleted) => {
    const noticed = new Noticed();
    expect(noticed.add(event)).toBe(matters);
    const taken = noticed.take();
    expect([[...taken.touched.keys()], [...taken.deleted]]).toEqual([touched, deleted]);
    expect(noticed.take().touched.size).toBe(0);
    taken.giveBack();
    const again = noticed.take();
    expect([[...again.touched.keys()], [...again.deleted]]).toEqual([touched, deleted]);
  });
});
