import { describe, expect, test } from "vitest";
import { formatShare, formatShortUsd, formatUsd } from "../src/format/numbers.ts";
import { formatDuration, formatInstant, formatRelative } from "../src/format/times.ts";
import { rangeOf } from "../src/format/time-range.ts";
import { parseSearch, searchOf, oneOf, stringifySearch, text } from "../src/state/page-search.ts";

const NOW = Date.parse("2026-11-21T12:00:00Z");
const ago = (ms: number) => new Date(NOW - ms).toISOString();

test.each([
  [0, "0 ms"],
  [0.4, "<1 ms"],
  [8.4, "8 ms"],
  [999.6, "1.00 s"],
  [1_240, "1.24 s"],
  [9_996, "10.0 s"],
  [59_960, "1 m 00 s"],
  [185_000, "3 m 05 s"],
  [7_800_000, "2 h 10 m"],
  [356_400_000, "4 d 3 h"],
])("%d ms is shown as %s", (ms, shown) => {
  expect(formatDuration(ms)).toBe(shown);
});

test.each([
  [ago(2_000), "now"],
  [ago(12_000), "12 s ago"],
  [ago(3_599_000), "59 min ago"],
  [ago(3 * 86_400_000), "3 d ago"],
  [ago(-90_000), "in 1 min"],
  [ago(60 * 86_400_000), "22 Sept 2026"],
])("%s is shown as %s", (at, shown) => {
  expect(formatRelative(at, NOW, "utc")).toBe(shown);
});

test("an exact time contains its time zone", () => {
  expect(formatInstant("2026-11-21T10:17:52.123Z", "utc")).toBe("21 Nov 2026, 10:17:52.123 UTC");
});

test.each([
  [0, "$0.00"],
  [12.5, "$12.50"],
  [1234.567, "$1,234.57"],
  [0.0423, "$0.042"],
  [0.000042, "$0.000042"],
  [-3, "−$3.00"],
])("%d dollars are shown as %s", (usd, shown) => {
  expect(formatUsd(usd)).toBe(shown);
});

test.each([
  [0, "$0.00"],
  [0.002334, "$0.0023"],
  [0.009876, "$0.0099"],
  [0.0423, "$0.042"],
  [1.5, "$1.50"],
])("%d dollars are shown in a tile as %s", (usd, shown) => {
  expect(formatShortUsd(usd)).toBe(shown);
});

test("a share of nothing is a dash", () => {
  expect([formatShare(1, 8), formatShare(0, 0)]).toEqual(["12.5%", "–"]);
});

describe("a time range", () => {
  test("of a preset ends now and stays the same for a minute", () => {
    const first = rangeOf({ range: "1h" }, { now: NOW + 1_000 });
    expect(first).toEqual({ from: "2026-11-21T11:00:00.000Z" });
    expect(rangeOf({ range: "1h" }, { now: NOW + 59_000 })).toEqual(first);
  });

  test("can have both ends", () => {
    const search = { from: "2026-11-01T00:00:00Z", to: "2026-11-02T00:00:00Z" };
    expect(rangeOf(search, { now: NOW })).toEqual({ from: "2026-11-01T00:00:00.000Z", to: "2026-11-02T00:00:00.000Z" });
  });

  test("defaults to that of the page", () => {
    expect(rangeOf({}, { now: NOW, preset: "7d" })).toEqual({ from: "2026-11-14T12:00:00.000Z" });
  });
});

describe("search parameters", () => {
  const read = searchOf({ q: text, status: oneOf("failed", "running") });

  test("survive the URL", () => {
    const search = { q: "10 & 1e5", status: "failed" };
    expect(read(parseSearch(stringifySearch(search)))).toEqual(search);
  });

  test("are dropped if they are invalid", () => {
    expect(read(parseSearch("?q=&status=nonsense&other=1"))).toEqual({});
  });

  test("leave the URL without a query string if none is set", () => {
    expect(stringifySearch({ q: undefined, status: "" })).toBe("");
  });
});
