import { LIMITS } from "@patchbay/protocol";
import { expect, test } from "vitest";
import { createBackoff } from "../../src/connection/backoff.ts";

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

/** A back-off with the test's clock and random numbers. */
function backoffAt(random = 1) {
  const time = { now: 0 };
  const chance = { random };
  return { time, chance, backoff: createBackoff({}, { random: () => chance.random, now: () => time.now }) };
}

test("waits double from 0.1 s to 2.5 s in the first five minutes without a connection", () => {
  const { backoff } = backoffAt();

  const waits = Array.from({ length: 10 }, () => backoff.nextMs());

  expect(waits).toEqual([100, 200, 400, 800, 1_600, 2_500, 2_500, 2_500, 2_500, 2_500]);
  expect(LIMITS.runtimeReturnMs).toBe(2_500);
});

test("each wait is random between its floor and its upper end", () => {
  const { backoff, chance } = backoffAt();
  for (let i = 0; i < 10; i++) backoff.nextMs();

  const drawn = [0, 0.5, 1].map((random) => {
    chance.random = random;
    return backoff.nextMs();
  });

  expect(drawn).toEqual([40, 1_270, 2_500]);
});

test("waits grow to 10 s after five minutes without a connection, and to 30 s after a day", () => {
  const { backoff, time } = backoffAt();
  for (let i = 0; i < 10; i++) backoff.nextMs();
  time.now = 5 * MINUTE;
  expect(backoff.nextMs()).toBe(2_500);

  time.now = 5 * MINUTE + 1;
  expect(backoff.nextMs()).toBe(10_000);
  time.now = DAY;
  expect(backoff.nextMs()).toBe(10_000);
  time.now = DAY + 1;

  expect(backoff.nextMs()).toBe(30_000);
});

test("the waits of 300 runtimes that lost their control plane hours ago are spread over 10 s", () => {
  const random = (i: number) => (i + 0.5) / 300;
  const waits = Array.from({ length: 300 }, (_, i) => {
    const time = { now: 0 };
    const backoff = createBackoff({}, { random: () => random(i), now: () => time.now });
    for (let attempt = 0; attempt < 10; attempt++) backoff.nextMs();
    time.now = 6 * 60 * MINUTE;
    return backoff.nextMs();
  });

  const inSecond = (second: number) => waits.filter((ms) => Math.floor(ms / 1_000) === second).length;
  expect(Array.from({ length: 10 }, (_, second) => inSecond(second)).every((count) => count <= 31)).toBe(true);
  expect(Math.max(...waits)).toBeLessThanOrEqual(10_000);
});

test("a reset restarts the series and the five minutes", () => {
  const { backoff, time } = backoffAt();
  time.now = 60 * MINUTE;
  for (let i = 0; i < 10; i++) backoff.nextMs();

  backoff.reset();

  expect(Array.from({ length: 6 }, () => backoff.nextMs())).toEqual([100, 200, 400, 800, 1_600, 2_500]);
});

test("after a refusal that only the owner can resolve, waits grow to 10 s within the first five minutes", () => {
  const { backoff } = backoffAt();

  const waits = Array.from({ length: 10 }, () => backoff.nextMs({ lasting: true }));

  expect(waits).toEqual([100, 200, 400, 800, 1_600, 3_200, 6_400, 10_000, 10_000, 10_000]);
});

test("an upper end that the owner sets applies from the first wait", () => {
  const backoff = createBackoff({ firstMs: 10, baseMs: 10, maxMs: 50 }, { random: () => 1 });

  expect(Array.from({ length: 5 }, () => backoff.nextMs())).toEqual([10, 10, 20, 40, 50]);
});

test("refusals are retried for 60 s, the last time at their end", () => {
  const { backoff, time } = backoffAt();

  expect(backoff.nextMs({ lasting: true, refused: true })).toBe(100);
  time.now = 59_990;
  expect(backoff.nextMs({ lasting: true, refused: true })).toBe(10);
  time.now = MINUTE;
  expect(backoff.nextMs({ lasting: true, refused: true })).toBeUndefined();
});

test("another end of a connection, or a welcome, starts a new period of 60 s", () => {
  const { backoff, time } = backoffAt();
  for (const between of [() => backoff.nextMs(), () => backoff.reset()]) {
    expect(backoff.nextMs({ refused: true })).toBeDefined();
    between();
    time.now += MINUTE;
    expect(backoff.nextMs({ refused: true })).toBeDefined();
    backoff.reset();
  }
});
