import type { Span } from "@patchbay/protocol/console";
import { expect, test } from "vitest";
import { ancestorsOf, gapsIn, nextTrouble, rowsOf, timeSpent } from "../src/waterfall/rows.ts";

const span = (id: string, parentId: string | null, more: Partial<Span> = {}): Span => ({
  id,
  parentId,
  kind: "call",
  name: id,
  startMs: 0,
  endMs: 10,
  waitMs: null,
  state: "ok",
  rule: null,
  why: null,
  code: null,
  errorMessage: null,
  attributes: {},
  ...more,
});

const RUN = [
  span("run", null, { kind: "query", endMs: 100 }),
  span("turn1", "run", { kind: "turn" }),
  span("denied", "turn1", { state: "denied" }),
  span("fine", "turn1"),
  span("turn2", "run", { kind: "turn" }),
  span("lost", "turn2", { state: "unknown" }),
  span("attempt", "lost", { kind: "attempt" }),
];

const ids = (rows: { span: Span }[]) => rows.map((row) => row.span.id);

test("rows stand below their parents, with their level and place among their siblings", () => {
  const rows = rowsOf(RUN, new Set());
  expect(ids(rows)).toEqual(["run", "turn1", "denied", "fine", "turn2", "lost", "attempt"]);
  expect(rows.map(({ level, position, siblings }) => [level, position, siblings])).toEqual([
    [1, 1, 1],
    [2, 1, 2],
    [3, 1, 2],
    [3, 2, 2],
    [2, 2, 2],
    [3, 1, 1],
    [4, 1, 1],
  ]);
});

test("what stands under a closed row is left out, and the row still says what went wrong below", () => {
  const rows = rowsOf(RUN, new Set(["turn1", "lost"]));
  expect(ids(rows)).toEqual(["run", "turn1", "turn2", "lost"]);
  expect(rows[1]).toMatchObject({ parent: true, open: false, below: "denied" });
});

test("a failure below counts for more than a denial", () => {
  expect(rowsOf(RUN, new Set())[0]?.below).toBe("failed");
});

test("an attempt that failed is no trouble of a call that went well in the end", () => {
  const rows = rowsOf([span("call", null), span("first", "call", { kind: "attempt", state: "failed" })], new Set());

  expect(rows.map(({ below }) => below)).toEqual([undefined, undefined]);
  expect(
    nextTrouble(
      rows.map((row) => row.span),
      undefined,
    ),
  ).toBeUndefined();
});

test("a span whose parent is not there stands at the top", () => {
  expect(rowsOf([span("alone", "gone")], new Set())[0]).toMatchObject({ level: 1, parent: false });
});

test("the next failure is looked for behind a span, then from the beginning, and is never the whole run", () => {
  const spans = RUN.map((one) => (one.id === "run" ? { ...one, state: "failed" as const } : one));
  expect(nextTrouble(spans, undefined)?.id).toBe("denied");
  expect(nextTrouble(spans, "denied")?.id).toBe("lost");
  expect(nextTrouble(spans, "lost")?.id).toBe("denied");
  expect(nextTrouble([spans[0]!], undefined)).toBeUndefined();
});

test("ancestors are told nearest first", () => {
  expect(ancestorsOf(RUN, "attempt")).toEqual(["lost", "turn2", "run"]);
});

test("gaps are what no part accounts for, but for short ones", () => {
  const parts = [
    { startMs: 10, endMs: 40 },
    { startMs: 20, endMs: 30 },
    { startMs: 42, endMs: 60 },
  ];
  expect(gapsIn({ startMs: 0, endMs: 100 }, parts, 5)).toEqual([
    { startMs: 0, endMs: 10 },
    { startMs: 60, endMs: 100 },
  ]);
});

test("calls that run side by side count once, and open spans up to now", () => {
  const spans = [
    span("q", null, { kind: "queue", startMs: 0, endMs: 5 }),
    span("a", null, { startMs: 5, endMs: 50 }),
    span("b", null, { startMs: 30, endMs: null }),
  ];
  expect(timeSpent(spans, 80)).toEqual({ modelMs: 0, functionsMs: 75, waitingMs: 5 });
});

test("what a call waits to be sent is waiting, but where another call is at work", () => {
  const spans = [
    span("a", null, { startMs: 0, endMs: 50, waitMs: 10 }),
    span("b", null, { startMs: 0, endMs: 60, waitMs: 55 }),
    span("c", null, { startMs: 70, endMs: null, waitMs: 100 }),
  ];
  expect(timeSpent(spans, 80)).toEqual({ modelMs: 0, functionsMs: 45, waitingMs: 25 });
});
