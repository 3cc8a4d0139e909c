import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Calm } from '../../../src/host/calm';

describe('calm', () => {
  let runs: number[];
  let calm: Calm;

  beforeEach(() => {
    vi.useFakeTimers({ now: 0 });
    runs = [];
    calm = new Calm(() => runs.push(Date.now()), 200, 700);
  });
  afterEach(() => {
    calm.dispose();
    vi.useRealTimers();
  });

  it('does once what is asked for in a burst', () => {
    calm.ask();
    vi.advanceTimersByTime(150);
    calm.ask();
    vi.advanceTimersByTime(5000);
    expect(runs).toEqual([200]);
  });

  it('keeps a distance while there is no end of it, and does the last that was asked for', () => {
    for (let at = 0; at < 2000; at += 100) {
      calm.ask();
      vi.advanceTimersByTime(100);
    }
    vi.advanceTimersByTime(5000);
    expect(runs).toEqual([200, 900, 1600, 2300]);
  });

  it('does nothing any more when it was put away', () => {
    calm.ask();
    calm.dispose();
    vi.advanceTimersByTime(5000);
    expect(runs).toEqual([]);
  });
});
