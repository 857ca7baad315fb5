import type { Span } from "@patchbay/protocol/console";
import { expect, test } from "vitest";
import { ancestorsOf, gapsIn, nextProblem, rowsOf, timeSpent } from "../src/parts/waterfall/rows.ts";

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

test("rows follow their parents, with level and position among siblings", () => {
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

test("descendants of a closed row are left out, and the row still shows their worst problem", () => {
  const rows = rowsOf(RUN, new Set(["turn1", "lost"]));
  expect(ids(rows)).toEqual(["run", "turn1", "turn2", "lost"]);
  expect(rows[1]).toMatchObject({ parent: true, open: false, below: "denied" });
});

test("a failed descendant outranks a denied one", () => {
  expect(rowsOf(RUN, new Set())[0]?.below).toBe("failed");
});

test("a failed attempt of a successful call is not a problem", () => {
  const rows = rowsOf([span("call", null), span("first", "call", { kind: "attempt", state: "failed" })], new Set());

  expect(rows.map(({ below }) => below)).toEqual([undefined, undefined]);
  expect(
    nextProblem(
      rows.map((row) => row.span),
      undefined,
    ),
  ).toBeUndefined();
});

test("a span with an unknown parent is at the top level", () => {
  expect(rowsOf([span("orphan", "gone")], new Set())[0]).toMatchObject({ level: 1, parent: false });
});

test("the next problem is searched after a span, then from the start, and is never the query span", () => {
  const spans = RUN.map((one) => (one.id === "run" ? { ...one, state: "failed" as const } : one));
  expect(nextProblem(spans, undefined)?.id).toBe("denied");
  expect(nextProblem(spans, "denied")?.id).toBe("lost");
  expect(nextProblem(spans, "lost")?.id).toBe("denied");
  expect(nextProblem([spans[0]!], undefined)).toBeUndefined();
});

test("ancestors are listed nearest first", () => {
  expect(ancestorsOf(RUN, "attempt")).toEqual(["lost", "turn2", "run"]);
});

test("gaps are the intervals without a span, except short ones", () => {
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

test("concurrent calls count once, and open spans count until now", () => {
  const spans = [
    span("q", null, { kind: "queue", startMs: 0, endMs: 5 }),
    span("a", null, { startMs: 5, endMs: 50 }),
    span("b", null, { startMs: 30, endMs: null }),
  ];
  expect(timeSpent(spans, 80)).toEqual({ modelMs: 0, functionsMs: 75, waitingMs: 5 });
});

test("time before a call is sent counts as waiting, unless another call works meanwhile", () => {
  const spans = [
    span("a", null, { startMs: 0, endMs: 50, waitMs: 10 }),
    span("b", null, { startMs: 0, endMs: 60, waitMs: 55 }),
    span("c", null, { startMs: 70, endMs: null, waitMs: 100 }),
  ];
  expect(timeSpent(spans, 80)).toEqual({ modelMs: 0, functionsMs: 45, waitingMs: 25 });
});
