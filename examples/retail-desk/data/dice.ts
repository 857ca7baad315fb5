export type Dice = ReturnType<typeof createDice>;

/** A deterministic random source: the same seed gives the same sequence everywhere. */
export function createDice(seed: number) {
  const given = new Set<string>();
  let state = seed;

  /** A number from 0 up to, but not including, 1, of the mulberry32 sequence: 32 bits of state are enough for sample data. */
  function fraction(): number {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** A whole number from `low` to `high`, both included. */
  function between(low: number, high: number): number {
    return low + Math.floor(fraction() * (high - low + 1));
  }

  function pick<T>(list: readonly T[]): T {
    const chosen = list[between(0, list.length - 1)];
    if (chosen === undefined) throw new RangeError("Cannot pick from an empty list");
    return chosen;
  }

  /** A string of digits, unique for this source; does not begin with 0. */
  function digits(length: number): string {
    const text = String(between(10 ** (length - 1), 10 ** length - 1));
    if (given.has(text)) return digits(length);
    given.add(text);
    return text;
  }

  return { fraction, between, pick, chance: (probability: number) => fraction() < probability, digits };
}
