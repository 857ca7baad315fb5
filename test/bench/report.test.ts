import { expect, test } from "vitest";
import { medians } from "../../bench/figures.ts";
import { quantile } from "../../bench/jobs.ts";
import { guard } from "../../bench/report/guard.ts";
import { judge, MUSTS, short } from "../../bench/report/musts.ts";
import { replaceMeasured } from "../../bench/report/page.ts";
import { markdownTable, plainTable, tableRows } from "../../bench/report/table.ts";

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
    systems: { A: { at16CpuMs: 1.7, call200BPerSecond: 9_999 }, C: { at16CpuMs: 2 } },
    packages: 45,
    fsync: { single: 10, together: 100 },
  };

  const lines = judge(MUSTS, measured).map(({ line }) => line);

  expect(lines).toEqual([
    "MISSED  CPU per query, A / C: 0.85 (at most 0.8)",
    "MISSED  function calls of 200 B a second, not stored: 9,999 (at least 10,000)",
    "ok      packages installed for the control plane: 45 (at most 45)",
    "ok      queries a second with an fsync of 10 ms, 64 at a time / one: 10 (at least 10)",
  ]);
});

test("the guard accepts noise and fails a large loss with both ratios", () => {
  const baseline = { cpuPerQueryToFloor: 1.5 };

  expect(guard(baseline, { at16CpuMs: 3 }, { at16CpuMs: 1 })).toBeUndefined();
  expect(guard(baseline, { at16CpuMs: 3.1 }, { at16CpuMs: 1 })).toContain(
    "3.10 times the CPU time of the floor; recorded is 1.50",
  );
});

test("the guard fails without measurements", () => {
  expect(guard({ cpuPerQueryToFloor: 1.5 }, {}, { at16CpuMs: 1 })).toBeDefined();
});

test("a table has the measurements and the ratios to the floor and to the rival", () => {
  const rows = tableRows({ systems: { A: { at16CpuMs: 1.5 }, B: { at16CpuMs: 1 }, C: { at16CpuMs: 3 } }, packages: 1 });

  expect(rows).toEqual([
    ["", "A Patchbay", "B floor", "C AI SDK", "A / B", "A / C"],
    ["CPU ms per query, 16 at a time", "1.5", "1", "3", "1.50", "0.50"],
  ]);
  expect(plainTable(rows).split("\n")).toHaveLength(2);
  expect(markdownTable(rows)).toContain("| CPU ms per query, 16 at a time | 1.5 | 1 | 3 | 1.50 | 0.50 |");
});

test("numbers keep three significant digits", () => {
  expect([0.08123, 1.5, 12.345, 1234.5].map(short)).toEqual(["0.0812", "1.5", "12.3", "1,235"]);
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
