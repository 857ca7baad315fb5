import { describe, expect, test } from "vitest";
import { csvOf } from "../src/charts/chart-table.tsx";
import { stackTotals, topOf, type Series, wideFirst } from "../src/charts/series.tsx";
import { stepLabel, timeTicks, type TimeSteps } from "../src/charts/time-steps.ts";
import { valueTicks } from "../src/charts/units.ts";
import { rangeBefore } from "../src/format/time-range.ts";
import type { Analytics } from "@patchbay/protocol/console";
import { costSeries, percentileSeries } from "../src/parts/figures/series.ts";

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
    [4_090, "ms", [0, 1_000, 2_000, 3_000, 4_000, 5_000]],
    [200_000, "ms", [0, 60_000, 120_000, 180_000, 240_000]],
    [0, "usd", [0, 0.002, 0.004, 0.006, 0.008, 0.01]],
    [0.029, "usd", [0, 0.01, 0.02, 0.03]],
  ] as const)("up to %d %s are round", (max, unit, values) => {
    expect(valueTicks(max, unit).values).toEqual(values);
  });

  test("reach the largest value", () => {
    for (let max = 1; max < 1e9; max *= 1.7)
      for (const unit of ["count", "ms", "usd"] as const)
        expect(valueTicks(max, unit).values.at(-1)).toBeGreaterThanOrEqual(max * (1 - 1e-9));
  });

  test.each([
    [0.02, "usd", ["$0.000", "$0.005", "$0.010", "$0.015", "$0.020"]],
    [120_000, "ms", ["0", "0.5 min", "1 min", "1.5 min", "2 min"]],
    [4_000, "ms", ["0", "1 s", "2 s", "3 s", "4 s"]],
  ] as const)("up to %d %s have one unit, and as many digits as they need", (max, unit, labels) => {
    const { values, label } = valueTicks(max, unit);
    expect(values.map(label)).toEqual(labels);
  });
});

describe("ticks of time", () => {
  test("are at round hours, with the date at the start of a day", () => {
    const ticks = timeTicks(steps("2026-11-20T09:30:00Z", HOUR_MS / 2, 48), 5, "utc");
    expect(ticks.map(({ label }) => label)).toEqual(["12:00", "18:00", "21 Nov", "06:00"]);
    expect(ticks.map(({ strong }) => strong)).toEqual([false, false, true, false]);
  });

  test("are at the starts of weeks for a month", () => {
    const ticks = timeTicks(steps("2026-10-23T00:00:00Z", DAY_MS, 30), 5, "local");
    expect(ticks.map(({ label }) => label)).toEqual(["25 Oct", "1 Nov", "8 Nov", "15 Nov"]);
  });

  test("are at different steps, and not many more than requested", () => {
    for (const widthMs of [60_000, HOUR_MS, DAY_MS, 7 * DAY_MS])
      for (const count of [2, 5, 10]) {
        const at = timeTicks(steps("2026-01-03T00:00:00Z", widthMs, 90), count, "utc").map(({ index }) => index);
        expect(new Set(at).size).toBe(at.length);
        expect(at.length).toBeLessThanOrEqual(2 * count);
      }
  });

  test("are absent without steps", () => {
    expect(timeTicks(steps("2026-01-03T00:00:00Z", HOUR_MS, 0), 5, "utc")).toEqual([]);
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
    firstTokenP50Ms: null,
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

test("p99 is a wide line below p95, so that equal values show both", () => {
  const figures = {
    buckets: [{ p50Ms: 1, p95Ms: 3, p99Ms: 3 }],
    totals: { p50Ms: 1, p95Ms: 3, p99Ms: 3 },
  } as unknown as Analytics;

  expect(
    wideFirst(percentileSeries(figures.buckets, ["p50Ms", "p95Ms", "p99Ms"], figures.totals)).map(({ key }) => key),
  ).toEqual(["p99Ms", "p50Ms", "p95Ms"]);
});
