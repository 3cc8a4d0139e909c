import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { triggers, type Checkpoint } from '../../src/core/model';
import { overSize, thin, type RetentionPolicy } from '../../src/core/retention';
import { Records, type RecordInput } from './records';

const hour = 60 * 60 * 1000;
const day = 24 * hour;
const now = Date.UTC(2026, 5, 30);
const policy: RetentionPolicy = { maxCheckpoints: 100, maxAge: 30 * day };
const endless: RetentionPolicy = { maxCheckpoints: Infinity, maxAge: Infinity };

/** A turn as the plugin records it: before the prompt, before each call, at the end. */
function turn(records: Records, session: string, number: number, at: number, tools = 2): Checkpoint[] {
  const made = [records.next('turn', { session, turn: number, at })];
  for (let i = 1; i <= tools; i++) made.push(records.next('tool', { session, turn: number, at: at + i }));
  made.push(records.next('idle', { session, turn: number, at: at + tools + 1 }));
  return made;
}

const ids = (checkpoints: readonly Checkpoint[]): string[] => checkpoints.map((c) => c.id);
const why = (result: ReturnType<typeof thin>): Record<string, number> => {
  const counts: Record<string, number> = {};
  for (const drop of result.drop) counts[drop.why] = (counts[drop.why] ?? 0) + 1;
  return counts;
};

describe('thinning', () => {
  it('keeps all of the last day, one per turn for a week, then one per session', () => {
    const records = new Records(0);
    const old1 = turn(records, 'a', 1, now - 20 * day);
    const old2 = turn(records, 'a', 2, now - 19 * day);
    const other = turn(records, 'b', 1, now - 18 * day);
    const week1 = turn(records, 'c', 1, now - 5 * day);
    const week2 = turn(records, 'c', 2, now - 4 * day);
    const today = turn(records, 'c', 3, now - 2 * hour);
    const all = [...old1, ...old2, ...other, ...week1, ...week2, ...today];
    const result = thin(all, policy, now);
    expect(result.keep).toEqual(ids([old2[0], other[0], week1[0], week2[0], ...today].filter((c) => c !== undefined)));
    expect(why(result)).toEqual({ 'one-per-session': 10, 'one-per-turn': 6 });
    expect(new Set([...result.keep, ...result.drop.map((d) => d.id)])).toEqual(new Set(ids(all)));
  });

  it("keeps one of each of two turns that share a number after OpenCode's undo", () => {
    const records = new Records(0);
    const made = ['msg_a', 'msg_b'].flatMap((messageId, i) => {
      const info = { number: 2, messageId, prompt: '', model: null, agent: null, cost: null, tokens: null };
      const at = now - (4 - i) * day;
      return [
        records.next('turn', { session: 'a', turn: info, at }),
        records.next('idle', { session: 'a', turn: info, at: at + 1 }),
      ];
    });
    expect(thin(made, policy, now).keep).toEqual(ids([made[0], made[2]].filter((c) => c !== undefined)));
  });

  it.each<[string, RecordInput & { trigger?: Checkpoint['trigger'] }]>([
    ['pinned', { pinned: true }],
    ['named', { name: 'mine' }],
    ['described', { description: 'worth keeping' }],
    ['fetched', { origin: { machine: 'm', user: 'u' } }],
    ['manual', { trigger: 'manual' }],
    ['agent', { trigger: 'agent' }],
    ['imported', { trigger: 'import' }],
  ])('never touches a %s one', (_, { trigger = 'tool', ...input }) => {
    const one = new Records(0).next(trigger, { at: now - 400 * day, session: 'a', turn: 1, ...input });
    const none = { maxCheckpoints: 0, maxAge: 0 };
    expect(thin([one], none, now)).toEqual({ keep: [one.id], drop: [] });
    expect(overSize([one], 100, 0)).toEqual([]);
  });

  it('keeps the newest 20 restore points, however old, and thins the others', () => {
    const records = new Records(0);
    const points = Array.from({ length: 25 }, (_, i) => records.next('restore', { at: now - 90 * day + i }));
    const result = thin(points, policy, now);
    expect(result.keep).toEqual(ids(points.slice(5)));
    expect(why(result)).toEqual({ 'max-age': 5 });
  });

  it('counts a turn with its tool points as one, and drops the oldest turns whole', () => {
    const records = new Records(0);
    const turns = Array.from({ length: 12 }, (_, i) => turn(records, i % 2 ? 'a' : 'b', i, now - hour + i * 60_000));
    const result = thin(turns.flat(), { maxCheckpoints: 5, maxAge: 30 * day }, now);
    expect(result.keep).toEqual(ids(turns.slice(7).flat()));
    expect(why(result)).toEqual({ 'max-checkpoints': 28 });
  });

  it('does not count turns of which only kept ones are left', () => {
    const records = new Records(0);
    const named = Array.from({ length: 50 }, (_, i) =>
      records.next('turn', { session: 'a', turn: i, at: now - hour + i, name: `n${i}` }),
    );
    const automatic = turn(records, 'a', 60, now - 60_000);
    const all = [...named, ...automatic];
    expect(thin(all, { maxCheckpoints: 1, maxAge: day }, now).drop).toEqual([]);
  });

  it('drops automatic ones over the age limit, the last of a session too', () => {
    const records = new Records(0);
    const old = turn(records, 'a', 1, now - 31 * day);
    const result = thin(old, policy, now);
    expect(result.keep).toEqual([]);
    expect(why(result)).toEqual({ 'max-age': 4 });
  });

  it('gives points without a turn to the turn their session is in', () => {
    const records = new Records(0);
    const point = records.next('turn', { session: 'a', turn: 1, at: now - 3 * day });
    const compaction = records.next('compaction', { session: 'a', at: now - 3 * day + 1 });
    const lone = records.next('task', { at: now - 3 * day + 2 });
    const lonelier = records.next('task', { at: now - 3 * day + 3 });
    const result = thin([point, compaction, lone, lonelier], policy, now);
    expect(result.keep).toEqual(ids([point, lone]));
  });

  it('keeps what a wrong clock dated in the future', () => {
    const records = new Records(0);
    expect(thin(turn(records, 'a', 1, now + 10 * day), policy, now).drop).toEqual([]);
  });

  it('sixty automatic saves never push out a named one', () => {
    const records = new Records(0);
    const named = records.next('task', { at: now - 40 * day, session: 'a', turn: 1, name: 'good' });
    const saves = Array.from({ length: 60 }, (_, i) =>
      records.next('interval', { at: now - i, session: 'a', turn: 2 }),
    );
    expect(thin([named, ...saves], { maxCheckpoints: 1, maxAge: day }, now).keep).toContain(named.id);
  });
});

const history = fc
  .array(
    fc.record({
      trigger: fc.constantFrom(...triggers),
      session: fc.option(fc.constantFrom('a', 'b')),
      gap: fc.nat(40 * hour),
      newTurn: fc.boolean(),
      name: fc.option(fc.constant('n'), { freq: 10 }),
      pinned: fc.nat(12).map((n) => n === 0),
    }),
    { maxLength: 60 },
  )
  .map((steps) => {
    const records = new Records(0);
    const turns = new Map<string, number>();
    let at = now - 60 * day;
    return steps.map(({ trigger, session, gap, newTurn, name, pinned }) => {
      at += gap;
      if (session !== null && (newTurn || !turns.has(session))) turns.set(session, (turns.get(session) ?? 0) + 1);
      const number = session === null ? undefined : turns.get(session);
      return records.next(trigger, { at, session: session ?? undefined, turn: number, name, pinned });
    });
  });

describe('thinning, whatever the history', () => {
  it('splits it into what stays and what goes, and is done after one run', () => {
    fc.assert(
      fc.property(history, fc.nat(30), fc.nat(90), (checkpoints, maxCheckpoints, days) => {
        const limits = { maxCheckpoints, maxAge: days * day };
        const { keep, drop } = thin(checkpoints, limits, now);
        expect([...keep, ...drop.map((d) => d.id)].sort()).toEqual(ids(checkpoints));
        const kept = checkpoints.filter((c) => keep.includes(c.id));
        expect(thin(kept, limits, now).drop).toEqual([]);
      }),
    );
  });

  it('leaves one of every turn of the week and of every session, without limits', () => {
    fc.assert(
      fc.property(history, (checkpoints) => {
        const keep = new Set(thin(checkpoints, endless, now).keep);
        const key = (c: Checkpoint): string => `${c.session?.id}/${c.turn?.number}`;
        for (const c of checkpoints) {
          if (!c.session) continue;
          const age = now - Date.parse(c.createdAt);
          const same = checkpoints.filter(
            (o) => o.session?.id === c.session?.id && (age > 7 * day || key(o) === key(c)),
          );
          expect(same.some((o) => keep.has(o.id))).toBe(true);
        }
      }),
    );
  });

  it('comes to the same whether it is done daily or once', () => {
    fc.assert(
      fc.property(history, (checkpoints) => {
        const aged = { maxCheckpoints: Infinity, maxAge: 30 * day };
        const once = thin(checkpoints, aged, now + 20 * day).keep;
        let left = checkpoints;
        for (let at = now; at <= now + 20 * day; at += day) {
          const keep = new Set(thin(left, aged, at).keep);
          left = left.filter((c) => keep.has(c.id));
        }
        expect(ids(left)).toEqual(once);
      }),
    );
  });

  it('never names the same one twice, nor a kept one, when the store is too large', () => {
    fc.assert(
      fc.property(history, fc.integer({ min: 1, max: 1000 }), fc.nat(1000), (checkpoints, bytes, limit) => {
        const drop = overSize(checkpoints, bytes, limit);
        if (bytes <= limit) expect(drop).toEqual([]);
        expect(new Set(drop.map((d) => d.id)).size).toBe(drop.length);
        for (const { id } of drop) {
          const gone = checkpoints.find((c) => c.id === id) as Checkpoint;
          expect(gone.name).toBeNull();
          expect(gone.pinned).toBe(false);
          expect(['manual', 'agent', 'import']).not.toContain(gone.trigger);
        }
      }),
    );
  });
});

describe('a store over its size', () => {
  it('gives up the oldest turns first, about the share that is over, never the newest turn', () => {
    const records = new Records(0);
    const turns = Array.from({ length: 10 }, (_, i) => turn(records, 'a', i, now - hour + i * 60_000, 0));
    expect(overSize(turns.flat(), 100, 100)).toEqual([]);
    expect(overSize(turns.flat(), 100, 70).map((d) => d.id)).toEqual(ids(turns.slice(0, 3).flat()));
    expect(overSize(turns.flat(), 1000, 999)).toHaveLength(2);
    expect(overSize(turns.flat(), 100, 0).map((d) => d.id)).toEqual(ids(turns.slice(0, 9).flat()));
    expect(overSize(turns.slice(9).flat(), 100, 0)).toEqual([]);
  });

  it('comes to an end when the caller prunes and asks again', () => {
    const records = new Records(0);
    let left = Array.from({ length: 40 }, (_, i) => turn(records, 'a', i, now - hour + i * 60_000)).flat();
    let rounds = 0;
    for (;;) {
      const drop = new Set(overSize(left, left.length, 10).map((d) => d.id));
      if (drop.size === 0) break;
      left = left.filter((c) => !drop.has(c.id));
      rounds++;
    }
    expect(left.length).toBeLessThanOrEqual(10);
    expect(rounds).toBeLessThan(5);
  });
});
