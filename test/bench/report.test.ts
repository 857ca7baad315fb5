import { expect, test } from "vitest";
import { medians } from "../../bench/figures.ts";
import { quantile } from "../../bench/jobs.ts";
import { guard, guardCounts } from "../../bench/report/guard.ts";
import { judge, MUSTS, short } from "../../bench/report/musts.ts";
import { pageReport, replaceMeasured } from "../../bench/report/page.ts";
import { markdownTable, plainTable, tablesOf } from "../../bench/report/table.ts";

test("the median of an even number of rounds lies between the middle two, and a round without a figure does not count", () => {
  const rounds = [{ at16CpuMs: 4, startMs: 900 }, { at16CpuMs: 1 }, { at16CpuMs: 2 }, { at16CpuMs: 3 }];

  expect(medians(rounds)).toEqual({ at16CpuMs: 2.5, startMs: 900 });
});

test("a quantile is one of the values, in any order of them", () => {
  const values = Array.from({ length: 100 }, (_, i) => 100 - i);

  expect(quantile(values, 0.5)).toBe(51);
  expect(quantile(values, 0.99)).toBe(100);
  expect(quantile([], 0.5)).toBeNaN();
});

test("a bound is missed only on its wrong side", () => {
  const measured = {
    systems: { A: { at16CpuMs: 2.2, at1CpuMs: 3.3, call200BPerSecond: 9_999 }, C: { at16CpuMs: 2 } },
    packages: 80,
    fsync: { single: 10, together: 100 },
  };

  const lines = judge(MUSTS, measured).map(({ line }) => line);

  expect(lines).toEqual([
    "MISSED  CPU per query, A / C: 1.1 (at most 1)",
    "ok      CPU per query one at a time / 16 at a time, A: 1.5 (at most 1.6)",
    "MISSED  function calls of 200 B a second, not stored: 9,999 (at least 10,000)",
    "ok      packages installed for the control plane: 80 (at most 80)",
    "ok      queries a second with an fsync of 10 ms, 64 at a time / one: 10 (at least 10)",
  ]);
});

test("a second replica may add 30 %, or 2 ms of CPU per query", () => {
  const judged = (one: number, two: number) =>
    judge(MUSTS, { systems: { P: { at16CpuMs: one }, N: { at16CpuMs: two } }, packages: 1 })
      .map(({ line }) => line)
      .filter((line) => line.includes("two replicas"));

  expect(judged(4, 6)).toEqual(["ok      CPU ms per query of two replicas, N: 6 (at most 6)"]);
  expect(judged(4, 6.1)).toEqual(["MISSED  CPU ms per query of two replicas, N: 6.1 (at most 6)"]);
  expect(judged(10, 13)).toEqual(["ok      CPU ms per query of two replicas, N: 13 (at most 13)"]);
  expect(judge(MUSTS, { systems: { N: { at16CpuMs: 5 } }, packages: 1 })).toHaveLength(1);
});

const ALL = ["A", "B", "P", "F"] as const;

test("the guard accepts noise and fails a large loss of either engine with both ratios", () => {
  const baseline = { cpuPerQueryToFloor: { embedded: 1.5, postgres: 3 }, counts: {} };
  const cpu = (at16CpuMs: number) => ({ at16CpuMs });

  expect(guard(baseline, { A: cpu(3), B: cpu(1), P: cpu(12), F: cpu(2) }, ALL)).toEqual([]);
  expect(guard(baseline, { A: cpu(3.1), B: cpu(1), P: cpu(12), F: cpu(2) }, ALL)).toEqual([
    expect.stringContaining("3.10 times the CPU time of the floor (embedded); recorded is 1.50, the limit 3.00"),
  ]);
  expect(guard(baseline, { A: cpu(3), B: cpu(1), P: cpu(12.2), F: cpu(2) }, ALL)).toEqual([
    expect.stringContaining("6.10 times the CPU time of the floor (postgres); recorded is 3.00, the limit 6.00"),
  ]);
});

test("the guard fails without measurements of a wanted system, and skips an engine that is not wanted", () => {
  const baseline = { cpuPerQueryToFloor: { embedded: 1.5, postgres: 3 }, counts: {} };
  const embedded = { A: { at16CpuMs: 1 }, B: { at16CpuMs: 1 } };

  expect(guard(baseline, { A: {}, B: { at16CpuMs: 1 } }, ["A", "B"])).toHaveLength(1);
  expect(guard(baseline, embedded, ["A", "B", "P"])).toEqual([]);
  expect(guard(baseline, embedded, ALL)).toEqual([
    expect.stringContaining("The cost of a query (postgres) was not measured"),
  ]);
});

test("a count that differs from the recorded one is named with both, in either direction", () => {
  const recorded = { statements: 14, commits: 5, rows: 20, writtenBytes: 8_000, frames: 3 };
  const { rows: _rows, ...onPostgres } = recorded;
  const baseline = { counts: { A: recorded, P: onPostgres } };

  expect(guardCounts(baseline, { A: recorded, P: onPostgres })).toEqual([]);
  expect(
    guardCounts(baseline, { A: { ...recorded, commits: 4, frames: 4 }, P: { ...onPostgres, statements: 15 } }),
  ).toEqual([
    expect.stringContaining("A query of A has 4 commits; recorded are 5."),
    expect.stringContaining("A query of A has 4 frames; recorded are 3."),
    expect.stringContaining("A query of P has 15 statements; recorded are 14."),
  ]);
  expect(guardCounts(baseline, undefined)).toEqual([]);
});

test("a table has the measurements and the ratios to the floor and to the rival", () => {
  const tables = tablesOf({
    systems: { A: { at16CpuMs: 1.5 }, B: { at16CpuMs: 1 }, C: { at16CpuMs: 3 }, P: { at16DatabaseCpuMs: 2 } },
    packages: 1,
  });
  const rows = tables[0]!;

  expect(rows).toEqual([
    ["embedded database", "A Patchbay", "B floor", "C AI SDK", "A / B", "A / C"],
    ["CPU ms per query, 16 at a time", "1.5", "1", "3", "1.50", "0.50"],
  ]);
  expect(tables[1]).toEqual([
    ["on Postgres", "P Patchbay", "N two replicas", "F floor", "L LangGraph", "P / F", "P / L", "N / P"],
    ["of it Postgres", "2", "", "", "", "", "", ""],
  ]);
  expect(plainTable(rows).split("\n")).toHaveLength(2);
  expect(markdownTable(rows)).toContain("| CPU ms per query, 16 at a time | 1.5 | 1 | 3 | 1.50 | 0.50 |");
});

test("the page names the limits whose figures are absent", () => {
  const page = pageReport({ systems: { A: { at16CpuMs: 1 }, C: { at16CpuMs: 2 } }, packages: 1 });

  expect(page).toContain("ok      CPU per query, A / C: 0.5 (at most 1)");
  expect(page).toContain("absent  CPU ms per query of two replicas, N: not measured");
});

test("numbers keep three significant digits", () => {
  expect([0.08123, 1.5, 12.345, 1234.5].map(short)).toEqual(["0.0812", "1.5", "12.3", "1,235"]);
});

test("the page names the rounds that were measured, and has a table for each engine", () => {
  const page = pageReport({ systems: { A: { at16CpuMs: 1 }, P: { at16CpuMs: 4 } }, rounds: 1, packages: 1 });

  expect(page).toContain("Medians of 1 round on");
  expect(page.split("\n").filter((line) => line.startsWith("| CPU ms per query"))).toEqual([
    "| CPU ms per query, 16 at a time | 1 |  |  |  |  |",
    "| CPU ms per query, 16 at a time | 4 |  |  |  |  |  |  |",
  ]);
  expect(page).toContain("ok      CPU ms per query on Postgres, P: 4 (at most 5)");
});

test("only the text between the page's markers is replaced, and a page without them is refused", () => {
  const page = "before\n<!-- measured: written by `pnpm bench --write` -->\nold\n<!-- end of measured -->\nafter\n";

  const replaced = replaceMeasured(page, "new");

  expect(replaced).toBe(
    "before\n<!-- measured: written by `pnpm bench --write` -->\n\nnew\n\n<!-- end of measured -->\nafter\n",
  );
  expect(replaceMeasured(replaced, "new")).toBe(replaced);
  expect(() => replaceMeasured("nothing", "new")).toThrow("The page needs the markers");
});
