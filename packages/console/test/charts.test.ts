import { describe, expect, test } from "vitest";
import { csvOf } from "../src/charts/chart-table.tsx";
import { segmentsOf, stackTotals, topOf, type Series } from "../src/charts/series.tsx";
import { stepLabel, timeTicks, type TimeSteps } from "../src/charts/time-steps.ts";
import { formatTick, valueTicks } from "../src/charts/units.ts";
import { rangeBefore } from "../src/format/time-range.ts";
import type { Analytics } from "@patchbay/protocol/console";
import { wideFirst } from "../src/charts/marks.tsx";
import { sparklinePaths } from "../src/charts/small-charts.tsx";
import { costSeries, latencySeries } from "../src/pages/analytics/series.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

const steps = (from: string, widthMs: number, count: number): TimeSteps => {
  const at = Array.from({ length: count }, (_, i) => new Date(Date.parse(from) + i * widthMs).toISOString());
  return { at, widthMs, to: new Date(Date.parse(from) + count * widthMs).toISOString() };
};

const series = (key: string, values: (number | null)[]): Series => ({
  key,
  label: key,
  look: { color: "series-1" },
  values,
});

describe("ticks of values", () => {
  test.each([
    [0, "count", [0, 1]],
    [3, "count", [0, 1, 2, 3]],
    [537, "count", [0, 200, 400, 600]],
    [4_090, "ms", [0, 2_000, 4_000, 6_000]],
    [100_000, "ms", [0, 30_000, 60_000, 90_000, 120_000]],
    [0, "usd", [0, 0.01]],
    [0.029, "usd", [0, 0.01, 0.02, 0.03]],
  ] as const)("up to %d %s are round", (max, unit, values) => {
    expect(valueTicks(max, unit).values).toEqual(values);
  });

  test("reach the largest value", () => {
    for (let max = 1; max < 1e9; max *= 1.7)
      for (const unit of ["count", "ms", "usd"] as const) expect(valueTicks(max, unit).top).toBeGreaterThanOrEqual(max);
  });

  test("of one axis have the same number of digits", () => {
    expect([0, 0.005, 0.01].map((usd) => formatTick(usd, "usd", 0.005))).toEqual(["$0.000", "$0.005", "$0.010"]);
    expect([0, 30_000, 60_000].map((ms) => formatTick(ms, "ms", 30_000))).toEqual(["0", "30 s", "1 min"]);
  });
});

describe("ticks of time", () => {
  test("are at round hours, with the date at the start of a day", () => {
    const ticks = timeTicks(steps("2026-11-20T09:30:00Z", HOUR_MS / 2, 48), 6, "utc");
    expect(ticks.map(({ label }) => label)).toEqual(["12:00", "18:00", "21 Nov", "06:00"]);
    expect(ticks.map(({ strong }) => strong)).toEqual([false, false, true, false]);
  });

  test("are at Mondays for a month", () => {
    const ticks = timeTicks(steps("2026-10-23T00:00:00Z", DAY_MS, 30), 6, "local");
    expect(ticks.map(({ label }) => label)).toEqual(["26 Oct", "2 Nov", "9 Nov", "16 Nov"]);
  });

  test("never exceed the requested number", () => {
    for (const widthMs of [60_000, HOUR_MS, DAY_MS, 7 * DAY_MS])
      for (const most of [2, 5, 10])
        expect(timeTicks(steps("2026-01-03T00:00:00Z", widthMs, 90), most, "utc").length).toBeLessThanOrEqual(most);
  });
});

describe("a step's label", () => {
  test("contains start and end", () => {
    expect(stepLabel(steps("2026-11-21T14:00:00Z", HOUR_MS / 2, 2), 1, "utc")).toBe("21 Nov, 14:30 – 15:00");
    expect(stepLabel(steps("2026-11-16T00:00:00Z", 7 * DAY_MS, 1), 0, "local")).toBe("16 Nov 2026 – 22 Nov 2026");
  });

  test("marks a step that has not ended", () => {
    const day = { ...steps("2026-11-21T00:00:00Z", DAY_MS, 1), to: "2026-11-21T10:00:00Z" };
    expect(stepLabel(day, 0, "utc")).toBe("21 Nov 2026, so far");
  });
});

describe("series", () => {
  test("are summed per step when stacked", () => {
    const both = [series("a", [1, null, 3]), series("b", [4, 5, null])];
    expect(stackTotals(both)).toEqual([5, 5, 3]);
    expect(topOf(both, "bars")).toBe(5);
    expect(topOf([series("a", [1, null, 3])], "lines")).toBe(3);
  });

  test("are split at missing values", () => {
    expect(segmentsOf([null, 1, 2, null, 3])).toEqual([
      { from: 1, to: 2 },
      { from: 4, to: 4 },
    ]);
  });

  test("are exported as CSV with exact values", () => {
    const csv = csvOf(steps("2026-11-21T00:00:00Z", DAY_MS, 2), [series('of "x", y', [0.123456, null])]);
    expect(csv).toBe('from,"of ""x"", y"\n2026-11-21T00:00:00.000Z,0.123456\n2026-11-22T00:00:00.000Z,');
  });
});

test("models after the five most expensive are combined, and free models are left out", () => {
  const models = [3, 9, 0, 1, 7, 5, 2, 8].map((costUsd) => ({
    provider: "p",
    model: `m${costUsd}`,
    turns: 1,
    inputTokens: 0,
    cachedInputTokens: 0,
    cacheWriteInputTokens: 0,
    outputTokens: 0,
    costUsd,
    costs: [costUsd, 0],
  }));
  const shown = costSeries({ models });
  expect(shown.map(({ label }) => label)).toEqual(["m9", "m8", "m7", "m5", "m3", "2 others"]);
  expect(shown.at(-1)?.values).toEqual([3, 0]);
});

describe("the previous range", () => {
  const NOW = Date.parse("2026-11-21T12:00:30Z");

  test("ends where a preset starts, and has the same length", () => {
    expect(rangeBefore({ range: "1h" }, { now: NOW })).toEqual({
      from: "2026-11-21T10:00:00.000Z",
      to: "2026-11-21T11:00:00.000Z",
    });
  });

  test("ends where a custom range starts, with and without an end", () => {
    const from = "2026-11-21T06:00:00.000Z";
    expect(rangeBefore({ from }, { now: NOW })).toEqual({ from: "2026-11-21T00:00:00.000Z", to: from });
    expect(rangeBefore({ from, to: "2026-11-21T07:00:00Z" }, { now: NOW })).toEqual({
      from: "2026-11-21T05:00:00.000Z",
      to: from,
    });
  });
});

test("a sparkline is interrupted where values are missing", () => {
  const paths = sparklinePaths([1, 2, null, null, 4], 4);

  expect(paths.map(({ line }) => line)).toEqual(["M0.00,17.75L25.00,12.50", "M100.00,2.00h1.5"]);
});

test("p99 is a wide line below p95, so that equal values show both", () => {
  const figures = {
    buckets: [{ p50Ms: 1, p95Ms: 3, p99Ms: 3 }],
    totals: { p50Ms: 1, p95Ms: 3, p99Ms: 3 },
  } as unknown as Analytics;

  expect(wideFirst(latencySeries(figures)).map(({ key }) => key)).toEqual(["p99Ms", "p50Ms", "p95Ms"]);
});
