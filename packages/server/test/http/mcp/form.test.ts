import { expect, test } from "vitest";
import { fieldsOf, filledIn } from "../../../src/query/mcp/form.ts";

const schema = (properties: object) => ({ type: "object", properties }) as Parameters<typeof fieldsOf>[0];

test("the form has the members that may be edited, with the values of the call", () => {
  const properties = {
    amount: { type: "number", exclusiveMinimum: 0, description: "In cents.", default: 5 },
    reason: { type: "string", default: "none" },
    orderId: { type: "string" },
  };

  const fields = fieldsOf(schema(properties), { amount: 7, orderId: "o1" }, ["amount", "reason"]);

  expect(fields).toEqual({
    amount: { type: "number", description: "In cents.", default: 7 },
    reason: { type: "string", default: "none" },
  });
});

test("the form has choices, and no members of types that forms do not have", () => {
  const tags = { type: "array", items: { type: "string", enum: ["a", "b"] } };
  const kind = { type: "string", oneOf: [{ const: "x", title: "X" }] };
  const properties = { tags, kind, address: { type: "object" }, notes: { type: "array" }, any: true };

  const fields = fieldsOf(schema(properties), { tags: ["a"] }, [...Object.keys(properties), "unknown"]);

  expect(fields).toEqual({ tags: { ...tags, default: ["a"] }, kind });
});

test("a filled form changes its own fields only", () => {
  const fields = fieldsOf(schema({ amount: { type: "number" } }), { amount: 7 }, ["amount"]);

  expect(filledIn(fields, { amount: 7, orderId: "o1" }, { amount: 6, orderId: "o2" })).toEqual({
    amount: 6,
    orderId: "o1",
  });
  expect(filledIn(fields, { amount: 7 }, {})).toBeUndefined();
  expect(filledIn(fields, { amount: 7 }, undefined)).toBeUndefined();
  expect(filledIn({}, { amount: 7 }, { amount: 6 })).toBeUndefined();
});
