import type { JsonObject } from "@patchbay/kit";
import type { ConsoleFunction, FunctionSet } from "@patchbay/protocol/console";
import { expect, test } from "vitest";
import { exampleQueries, examplesOf } from "../../src/pages/playground/empty-playground.tsx";

const fn = (name: string, given: Partial<ConsoleFunction> = {}): ConsoleFunction => ({
  name,
  description: "",
  inputSchema: { type: "object" },
  roles: "everyone",
  conditional: false,
  effect: "read",
  idempotent: true,
  timeoutMs: 1_000,
  figures: { calls: 0, failed: 0, denied: 0, p50Ms: null, p95Ms: null, lastCalledAt: null },
  ...given,
});

const taking = (property: JsonObject) => ({
  inputSchema: { type: "object", properties: { order_id: property }, required: ["order_id"] },
});

test("a function becomes a sentence with blanks for its parameters", () => {
  expect(exampleQueries([fn("getOrder", taking({ type: "string" })), fn("list_late.orders")], "")).toEqual([
    "List late orders",
    "Get order, order id: …",
  ]);
});

test("values from the schema fill the blanks", () => {
  const offered = [{ examples: ["#W1"] }, { default: 7 }, { enum: ["a", "b"] }];

  expect(offered.map((property) => exampleQueries([fn("find", taking(property))], "")[0])).toEqual([
    "Find, order id: #W1",
    "Find, order id: 7",
    "Find, order id: a",
  ]);
});

test("only functions that the role may call are suggested, and writing ones only if none reads", () => {
  const functions = [fn("staff", { roles: ["agent"] }), fn("open"), fn("wipe", { effect: "destructive" })];

  expect(exampleQueries(functions, "agent")).toEqual(["Staff", "Open"]);
  expect(exampleQueries(functions, "")).toEqual(["Open"]);
});

const setOf = (changed: Partial<FunctionSet>): FunctionSet => ({
  manifestHash: "h",
  service: "shop",
  instructions: null,
  defaultRole: null,
  roles: ["support"],
  exampleQueries: [],
  connected: true,
  firstSeenAt: "2026-11-21T10:00:00.000Z",
  functions: [fn("list_hours")],
  ...changed,
});

test("the service's own example queries replace generated ones, and set or clear role and context", () => {
  const own = [
    { query: "Where is order 1?", role: "support", context: { customerId: "c-1" } },
    ...Array.from({ length: 9 }, (_, i) => ({ query: `Query ${i}` })),
  ];

  const examples = examplesOf(setOf({ exampleQueries: own }), "support");

  expect(examples).toHaveLength(6);
  expect(examples.slice(0, 2)).toEqual([
    { query: "Where is order 1?", settings: { role: "support", context: '{\n  "customerId": "c-1"\n}' } },
    { query: "Query 0", settings: { role: "", context: "" } },
  ]);
  expect(examplesOf(setOf({}), "support")).toEqual([{ query: "List hours", settings: {} }]);
});
