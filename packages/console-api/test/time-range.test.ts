import { expect, test } from "vitest";
import { bucketsOf, rangeOf } from "../src/analytics/time-range.ts";

const NOW = Date.UTC(2030, 5, 12, 13, 37, 11);
const MINUTE_MS = 60_000;
const DAY_MS = 1440 * MINUTE_MS;
const iso = (at: number): string => new Date(at).toISOString();

test("the default range is the last 24 hours, or the 24 hours before the end", () => {
  expect(rangeOf({}, NOW)).toEqual({ from: NOW - DAY_MS, to: NOW });
  expect(rangeOf({ to: iso(NOW - 5) }, NOW)).toEqual({ from: NOW - 5 - DAY_MS, to: NOW - 5 });
  expect(rangeOf({ from: iso(NOW - 5) }, NOW)).toEqual({ from: NOW - 5, to: NOW });
});

test("a range that is empty, reversed or longer than 400 days is rejected with the reason", () => {
  for (const [from, to] of [
    [NOW, NOW],
    [NOW + 1, NOW],
    [NOW - 400 * DAY_MS - 1, NOW],
  ] as const)
    expect(() => rangeOf({ from: iso(from), to: iso(to) }, NOW)).toThrow(
      expect.objectContaining({ code: "invalid_request", details: [expect.objectContaining({ path: "from" })] }),
    );
  expect(rangeOf({ from: iso(NOW - 400 * DAY_MS), to: iso(NOW) }, NOW).to).toBe(NOW);
});

test("any range from 24 minutes to 400 days has 24 to 90 buckets that cover it", () => {
  for (let minutes = 24; minutes <= 400 * 1440; minutes = Math.ceil(minutes * 1.013)) {
    const range = { from: NOW - minutes * MINUTE_MS, to: NOW };
    const { firstAt, widthMs, count } = bucketsOf(range);
    const division = `${minutes} min in ${count} of ${widthMs} ms`;

    expect(count, division).toBeGreaterThanOrEqual(24);
    expect(count, division).toBeLessThanOrEqual(90);
    expect(firstAt, division).toBeLessThanOrEqual(range.from);
    expect(firstAt + widthMs, division).toBeGreaterThan(range.from);
    expect(firstAt + count * widthMs, division).toBeGreaterThanOrEqual(range.to);
    expect(firstAt + (count - 1) * widthMs, division).toBeLessThan(range.to);
  }
});

test("buckets start at round times and days", () => {
  const beginning = (days: number): string => iso(bucketsOf({ from: NOW - days * DAY_MS, to: NOW }).firstAt);

  expect(beginning(1 / 24)).toBe("2030-06-12T12:37:00.000Z");
  expect(beginning(1)).toBe("2030-06-11T13:30:00.000Z");
  expect(beginning(30)).toBe("2030-05-13T12:00:00.000Z");
  // A Monday.
  expect(beginning(400)).toBe("2029-05-07T00:00:00.000Z");
});
