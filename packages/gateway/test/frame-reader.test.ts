import { expect, test } from "vitest";
import { createFrameBudget } from "../src/local/frame-reader.ts";

function budgetAt(limits: { framesPerSecond: number; frameBurst: number }) {
  const time = { now: 0 };
  const budget = createFrameBudget(limits, () => time.now);
  /** How many of `count` frames pass. */
  const passed = (count: number) => Array.from({ length: count }, () => budget()).filter((over) => !over).length;
  return { time, budget, passed };
}

test("a burst passes immediately, then the frames of each second", () => {
  const { time, passed } = budgetAt({ framesPerSecond: 200, frameBurst: 1_000 });

  expect(passed(1_500)).toBe(1_000);
  time.now = 500;
  expect(passed(500)).toBe(100);
  time.now = 60_000;
  expect(passed(1_500)).toBe(1_000);
});

test("an excess lasts until no frame was dropped for three seconds", () => {
  const { time, budget, passed } = budgetAt({ framesPerSecond: 10, frameBurst: 20 });
  passed(20);
  expect(budget()).toEqual({ dropped: 1, forMs: 0 });

  time.now = 2_000;
  expect(passed(21)).toBe(20);
  time.now = 5_000;
  passed(20);
  expect(budget()).toEqual({ dropped: 3, forMs: 5_000 });
  time.now = 8_001;
  passed(20);

  expect(budget()).toEqual({ dropped: 1, forMs: 0 });
});
