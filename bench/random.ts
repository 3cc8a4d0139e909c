/** A small seeded generator (mulberry32): the same seed makes the same repository and the same edits everywhere. */
export interface Random {
  /** In [0, 1). */
  next(): number;
  /** An integer in [0, below). */
  below(below: number): number;
  pick<T>(list: readonly T[]): T;
  /** Standard normal, by Box and Muller. */
  normal(): number;
}

export function seeded(seed: number): Random {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
  const below = (limit: number): number => Math.floor(next() * limit);
  return {
    next,
    below,
    pick: <T>(list: readonly T[]): T => {
      const item = list[below(list.length)];
      if (item === undefined) throw new RangeError('pick from an empty list');
      return item;
    },
    normal: () => Math.sqrt(-2 * Math.log(1 - next())) * Math.cos(2 * Math.PI * next()),
  };
}

/** `count` different items, in a random order. */
export function sample<T>(random: Random, list: readonly T[], count: number): T[] {
  const pool = [...list];
  const taken: T[] = [];
  while (taken.length < count && pool.length > 0) {
    const at = random.below(pool.length);
    const item = pool[at] as T;
    const last = pool.pop() as T;
    if (at < pool.length) pool[at] = last;
    taken.push(item);
  }
  return taken;
}
