import { expect, test } from "vitest";
import { simulate } from "./simulate.ts";

const SEEDS = 300;
const PART = 20;
const parts = Array.from({ length: SEEDS / PART }, (_, part) => 1 + part * PART);

test.each(parts)("20 seeds from %i leave no violation", async (first) => {
  for (let seed = first; seed < first + PART; seed++) {
    const { violations } = await simulate(seed);
    expect(violations, `repeat with: pnpm simulate --seeds 1 --from ${seed}`).toEqual([]);
  }
});

test("two runs of a seed take the same steps", async () => {
  for (const seed of [1, 2]) {
    const [first, second] = [await simulate(seed, { traced: true }), await simulate(seed, { traced: true })];
    expect(second.hash).toBe(first.hash);
    expect(second.steps).toBe(first.steps);
  }
});
