import { expect, test } from "vitest";
import { axisEndOf, formatTick, ticksOf } from "../src/parts/waterfall/axis.tsx";

test("ticks are round and within the requested number", () => {
  expect(ticksOf(20, 5)).toEqual([0, 5, 10, 15, 20]);
  expect(ticksOf(9_050, 5)).toEqual([0, 2_000, 4_000, 6_000, 8_000]);
  expect(ticksOf(240_000, 4)).toEqual([0, 60_000, 120_000, 180_000, 240_000]);
});

test.each([0.4, 1, 20, 37, 999, 9_050, 59_999, 240_000, 7_200_000])("%d ms has at most six ticks", (endMs) => {
  const ticks = ticksOf(endMs, 6);
  expect(ticks.length).toBeLessThanOrEqual(7);
  expect(ticks.at(-1)).toBeLessThanOrEqual(endMs);
});

test.each([
  [0, "0 ms"],
  [500, "500 ms"],
  [1_500, "1.5 s"],
  [60_000, "1 m"],
  [90_000, "1 m 30 s"],
])("%d ms is labelled %s", (ms, label) => {
  expect(formatTick(ms)).toBe(label);
});

test("the axis of an ended run ends with the run", () => {
  expect(axisEndOf(37, false)).toBe(37);
  expect(axisEndOf(0, false)).toBe(1);
});

test("the axis of a running run has space after now and changes rarely", () => {
  expect(axisEndOf(3, true)).toBe(20);
  const ends = new Set(Array.from({ length: 1_000 }, (_, i) => axisEndOf(i * 10, true)));
  expect(ends.size).toBeLessThan(30);
  for (const now of [19, 95, 960, 9_500, 239_000]) expect(axisEndOf(now, true)).toBeGreaterThan(now);
});
