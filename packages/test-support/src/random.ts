/** Numbers that a seed determines. */
export interface Random {
  /** From 0 to below 1. */
  fraction(): number;
  /** A whole number from 0 to below `count`. */
  below(count: number): number;
  between(least: number, most: number): number;
  chance(probability: number): boolean;
  pick<T>(items: readonly T[]): T;
}

/** The generator "mulberry32". `stream` separates numbers that should not shift when others are drawn more often. */
export function createRandom(seed: number, stream = 0): Random {
  let state = Math.imul(seed, 0x9e3779b1) ^ Math.imul(stream + 1, 0x85ebca6b);
  function fraction(): number {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  }
  const below = (count: number): number => Math.floor(fraction() * count);
  return {
    fraction,
    below,
    between: (least, most) => least + fraction() * (most - least),
    chance: (probability) => fraction() < probability,
    pick: (items) => items[below(items.length)]!,
  };
}
