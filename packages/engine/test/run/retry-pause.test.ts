import { expect, test } from "vitest";
import type { CallRecord, EarlierAttempt } from "../../src/ports/records.ts";
import { pauseLeftMs } from "../../src/run/calls/attempts.ts";

const failed: EarlierAttempt = { attempt: 1, instanceId: "one", endedAt: 10_000, ended: "failed", retryAfterMs: 4_000 };
const { retryAfterMs: _, ...atOnce } = failed;

test.each([
  { when: "the attempt has just failed", earlier: [failed], now: 10_000, leftMs: 4_000 },
  { when: "a second has passed", earlier: [failed], now: 11_000, leftMs: 3_000 },
  { when: "the pause is over", earlier: [failed], now: 20_000, leftMs: 0 },
  { when: "the clock was set back by an hour", earlier: [failed], now: 10_000 - 3_600_000, leftMs: 4_000 },
  { when: "the attempt asked for no pause", earlier: [atOnce], now: 10_000, leftMs: 0 },
  { when: "no attempt was made", earlier: [], now: 10_000, leftMs: 0 },
])("the next attempt waits $leftMs ms when $when", ({ earlier, now, leftMs }) => {
  expect(pauseLeftMs({ earlier } as unknown as CallRecord, now)).toBe(leftMs);
});
