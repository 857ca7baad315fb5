import type { JsonObject } from "@patchbay/protocol";
import type { ConsoleFunction } from "@patchbay/protocol/console";
import { expect, test } from "vitest";
import { exampleQuestions } from "../../src/pages/playground/example-questions.ts";

const one = (name: string, given: Partial<ConsoleFunction> = {}): ConsoleFunction => ({
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

test("functions become sentences with what they need left open", () => {
  expect(exampleQuestions([one("getOrder", taking({ type: "string" })), one("list_late.orders")], "")).toEqual([
    "List late orders",
    "Get order, order id: …",
  ]);
});

test("values that the schema offers are filled in", () => {
  const offered = [{ examples: ["#W1"] }, { default: 7 }, { enum: ["a", "b"] }];

  expect(offered.map((property) => exampleQuestions([one("find", taking(property))], "")[0])).toEqual([
    "Find, order id: #W1",
    "Find, order id: 7",
    "Find, order id: a",
  ]);
});

test("only what the role may call is suggested, and nothing that writes while there is something to read", () => {
  const functions = [one("staff", { roles: ["agent"] }), one("open"), one("wipe", { effect: "destructive" })];

  expect(exampleQuestions(functions, "agent")).toEqual(["Staff", "Open"]);
  expect(exampleQuestions(functions, "")).toEqual(["Open"]);
});
