import { LIMITS } from "@patchbay/protocol";
import { expect, test } from "vitest";
import { createBackoff } from "../../src/runtime/backoff.ts";

const MINUTE = 60_000;

/** A back-off whose time and chance the test decides. */
function backoffAt(random = 1) {
  const time = { now: 0 };
  const chance = { random };
  return { time, chance, backoff: createBackoff({}, { random: () => chance.random, now: () => time.now }) };
}

test("the pauses double from a tenth of a second to 2.5 s while the control plane was there a moment ago", () => {
  const { backoff } = backoffAt();

  const pauses = Array.from({ length: 10 }, () => backoff.nextMs());

  expect(pauses).toEqual([100, 200, 400, 800, 1_600, 2_500, 2_500, 2_500, 2_500, 2_500]);
  expect(LIMITS.runtimeReturnMs).toBe(2_500);
});

test("each pause is drawn from the whole span above its floor", () => {
  const { backoff, chance } = backoffAt();
  for (let i = 0; i < 10; i++) backoff.nextMs();

  const drawn = [0, 0.5, 1].map((random) => {
    chance.random = random;
    return backoff.nextMs();
  });

  expect(drawn).toEqual([40, 1_270, 2_500]);
});

test("the pauses grow to 30 s when the control plane has been away for five minutes", () => {
  const { backoff, time } = backoffAt();
  for (let i = 0; i < 10; i++) backoff.nextMs();
  time.now = 5 * MINUTE;
  expect(backoff.nextMs()).toBe(2_500);

  time.now = 5 * MINUTE + 1;

  expect(backoff.nextMs()).toBe(30_000);
});

test("a welcome begins the quick pauses again, and the five minutes", () => {
  const { backoff, time } = backoffAt();
  time.now = 60 * MINUTE;
  for (let i = 0; i < 10; i++) backoff.nextMs();

  backoff.reset();

  expect(Array.from({ length: 6 }, () => backoff.nextMs())).toEqual([100, 200, 400, 800, 1_600, 2_500]);
});

test("after a refusal that only the owner can resolve the pauses grow to 30 s at once", () => {
  const { backoff } = backoffAt();

  const pauses = Array.from({ length: 10 }, () => backoff.nextMs({ lasting: true }));

  expect(pauses).toEqual([100, 200, 400, 800, 1_600, 3_200, 6_400, 12_800, 25_600, 30_000]);
});

test("a longest pause that the owner sets holds from the beginning", () => {
  const backoff = createBackoff({ firstMs: 10, baseMs: 10, maxMs: 50 }, { random: () => 1 });

  expect(Array.from({ length: 5 }, () => backoff.nextMs())).toEqual([10, 10, 20, 40, 50]);
});
