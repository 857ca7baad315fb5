/** A number source that repeats itself for the same seed. */
export interface Random {
  /** A whole number below `count`. */
  below(count: number): number;
  pick<T>(list: readonly T[]): T | undefined;
}

/** The sequence mulberry32, whose 32-bit state is enough to choose calls. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  const below = (count: number): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * count);
  };
  return { below, pick: (list) => list[below(list.length)] };
}
