import { expect, test } from "vitest";
import type { Call, CallOutcome } from "../../src/parts/conversation/exchange.ts";
import { callDifferences } from "../../src/parts/conversation/call-differences.ts";

let lastId = 0;
const ok = (result: unknown): CallOutcome => ({ ok: true, result });
const denied: CallOutcome = { ok: false, code: "denied", errorMessage: "No." };
const call = (name: string, parameters: unknown, outcome: CallOutcome = ok(1)): Call => ({
  id: `c${(lastId += 1)}`,
  name,
  parameters,
  progress: [],
  outcome,
});

const compare = (a: Call[], b: Call[]) => {
  const remarks = callDifferences({ calls: a, name: "as A" }, { calls: b, name: "as B" });
  return [a, b].map((calls) => calls.map(({ id }) => remarks.get(id)));
};

test("the order of calls and of properties makes no difference", () => {
  const a = [call("find", { id: 1, name: "x" }), call("count", {})];
  const b = [call("count", {}), call("find", { name: "x", id: 1 })];

  expect(compare(a, b)).toEqual([
    [undefined, undefined],
    [undefined, undefined],
  ]);
});

test("a call of only one side is marked", () => {
  expect(compare([call("find", {}), call("refund", {})], [call("find", {}), call("list", {})])).toEqual([
    [undefined, "only as A"],
    [undefined, "only as B"],
  ]);
});

test("a call that one side was denied has a different outcome", () => {
  expect(compare([call("find", {})], [call("find", {}, denied)])).toEqual([
    ["different outcome"],
    ["different outcome"],
  ]);
});

test("a result with removed fields is a different result", () => {
  expect(compare([call("find", {}, ok({ a: 1, b: 2 }))], [call("find", {}, ok({ a: 1 }))])).toEqual([
    ["different result"],
    ["different result"],
  ]);
});

test("calls with equal arguments are matched first", () => {
  const a = [call("find", { id: 1 }), call("find", { id: 2 })];
  const b = [call("find", { id: 2 }), call("find", { id: 3 })];

  expect(compare(a, b)).toEqual([
    ["different arguments", undefined],
    [undefined, "different arguments"],
  ]);
});
