import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CheckpointsError } from '../../src/core/errors';
import { importedId, isId, nextId, timeOf } from '../../src/core/ulid';

const last = `cp_7${'z'.repeat(25)}`;

describe('ids', () => {
  it('have the form of the contract', () => {
    expect(nextId(null)).toMatch(/^cp_[0-9a-hjkmnp-tv-z]{26}$/);
    expect(timeOf(nextId(null, 1_700_000_000_123))).toBe(1_700_000_000_123);
  });

  it.each([
    ['', false],
    ['3', false],
    ['cp_', false],
    [nextId(null).toUpperCase(), false],
    [`${nextId(null)}0`, false],
    [`cp_8${'0'.repeat(25)}`, false],
    [`cp_0${'u'.repeat(25)}`, false],
    [last, true],
    [nextId(null), true],
  ])('isId(%j) is %s', (text, expected) => expect(isId(text)).toBe(expected));

  it('are later than the newest one, whatever the clock says', () => {
    fc.assert(
      fc.property(
        fc.array(fc.oneof(fc.nat({ max: 2 ** 40 }), fc.integer(), fc.double(), fc.constant(5)), { minLength: 2 }),
        (clock) => {
          let newest: string | null = null;
          for (const now of clock) {
            const id: string = nextId(newest, now);
            expect(isId(id)).toBe(true);
            if (newest !== null) expect(id > newest).toBe(true);
            newest = id;
          }
        },
      ),
    );
  });

  it('take the time of the clock when it went on', () => {
    expect(timeOf(nextId(nextId(null, 1000), 1001))).toBe(1001);
    expect(timeOf(nextId(nextId(null, 5000), 1001))).toBe(5000);
  });

  it('carry over into the next millisecond when the random part is used up', () => {
    const full = nextId(null, 1000).slice(0, 13) + 'z'.repeat(16);
    const next = nextId(full, 1000);
    expect(next > full).toBe(true);
    expect(timeOf(next)).toBe(1001);
  });

  it('reach the very last one, and say so instead of going round', () => {
    const before = last.slice(0, -1) + 'y';
    expect(nextId(before)).toBe(last);
    expect(() => nextId(last)).toThrow(CheckpointsError);
  });

  it('do not coincide for two processes that saw the same newest one', () => {
    const newest = nextId(null, 1000);
    expect(nextId(newest, 1000)).not.toBe(nextId(newest, 1000));
  });

  it('refuse to count on from something that is no id', () => {
    expect(() => nextId('latest')).toThrow(/Not an id/);
    expect(() => timeOf('cp_1')).toThrow(CheckpointsError);
  });
});

describe('the id of something imported', () => {
  it('is the same for the same thing, lies at its own time, and differs for another', () => {
    const time = Date.UTC(2025, 9, 9);
    const id = importedId('s1/one', time);
    expect(importedId('s1/one', time)).toBe(id);
    expect(isId(id)).toBe(true);
    expect(timeOf(id)).toBe(time);
    expect(importedId('s1/two', time)).not.toBe(id);
    expect(importedId('s1/one', time + 1) > id).toBe(true);
    expect(nextId(null, time + 1) > id).toBe(true);
  });
});
