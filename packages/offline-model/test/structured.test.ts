import { type JsonObject, type JsonValue } from "@patchbay/kit";
import { validateAnswer } from "@patchbay/schema";
import { expect, test } from "vitest";
import type { Message, ModelFunction } from "@patchbay/engine/ports/model-provider";
import { takeTurn } from "./converse.ts";

const lookUp: ModelFunction = {
  name: "get_order",
  description: "Gets an order by its id.",
  inputSchema: { type: "object", properties: { order_id: { type: "string" } }, required: ["order_id"] },
  effect: "read",
};

const ORDER = {
  order_id: "#W1",
  status: "pending",
  customer: { firstName: "Mei", email: "mei@example.com" },
  items: [
    { name: "T-Shirt", price: 40.5, item_id: "1" },
    { name: "Laptop", price: 1200, item_id: "2" },
  ],
};

/** What the offline model answers with once the order was looked up. */
async function valueFor(schema: JsonObject, order: JsonValue = ORDER) {
  const respond: ModelFunction = { name: "respond", description: "Answers.", inputSchema: schema, effect: "read" };
  const functions = [lookUp, respond];
  const messages: Message[] = [{ role: "user", text: "Show me order #W1" }];
  const { turn } = await takeTurn(functions, messages, { respond });
  expect(turn.calls.map(({ name }) => name)).toEqual(["get_order"]);
  messages.push(
    { role: "assistant", text: "", calls: turn.calls },
    {
      role: "results",
      results: [{ callId: turn.calls[0]!.id, name: "get_order", content: JSON.stringify(order), isError: false }],
    },
  );
  const { turn: last, events } = await takeTurn(functions, messages, { respond });
  expect(last).toMatchObject({ text: "", stop: "calls", calls: [{ name: "respond" }] });
  expect(events.map(({ type }) => type)).not.toContain("textDelta");
  const value = JSON.parse(last.calls[0]!.arguments) as JsonValue;
  return { value, faults: validateAnswer(schema, value), warnings: last.warnings };
}

test("members are filled from results by their names, however deep they are and however they are written", async () => {
  const { value, faults } = await valueFor({
    type: "object",
    properties: {
      orderId: { type: "string" },
      status: { enum: ["pending", "delivered"] },
      email: { type: "string", format: "email" },
      customer: { type: "object", properties: { first_name: { type: "string" } }, additionalProperties: false },
      items: { type: "array", items: { $ref: "#/$defs/item" } },
    },
    required: ["orderId", "status", "email", "customer", "items"],
    additionalProperties: false,
    $defs: {
      item: {
        type: "object",
        properties: { name: { type: "string" }, price: { type: "number" } },
        additionalProperties: false,
      },
    },
  });

  expect(value).toEqual({
    orderId: "#W1",
    status: "pending",
    email: "mei@example.com",
    customer: { first_name: "Mei" },
    items: [
      { name: "T-Shirt", price: 40.5 },
      { name: "Laptop", price: 1200 },
    ],
  });
  expect(faults).toEqual([]);
});

test("a text is the answer in words, and says what wrote it", async () => {
  const { value, warnings } = await valueFor({
    type: "object",
    properties: { summary: { type: "string" } },
    required: ["summary"],
  });

  expect((value as JsonObject)["summary"]).toMatch(/pending[\s\S]*Patchbay's offline model/);
  expect(warnings).toEqual([
    "The offline model filled the answer's members by their names. It is not a language model.",
  ]);
});

test("what is not found is null, left out, or the plainest value that the schema takes", async () => {
  const { value, faults } = await valueFor({
    type: "object",
    properties: {
      refund: { type: ["number", "null"] },
      courier: { anyOf: [{ type: "string" }, { type: "null" }] },
      remark: { type: "string" },
      code: { type: "string", minLength: 12, maxLength: 12 },
      weight: { type: "number", exclusiveMinimum: 2 },
      urgent: { type: "boolean" },
      tags: { type: "array", items: { type: "string" }, minItems: 2 },
      kind: { enum: ["a", "b"] },
    },
    required: ["refund", "courier", "code", "weight", "urgent", "tags", "kind"],
  });

  expect(value).toEqual({
    refund: null,
    courier: null,
    code: "not found...",
    weight: 3,
    urgent: false,
    tags: ["not found", "not found"],
    kind: "a",
  });
  expect(faults).toEqual([]);
});

test("a result without members goes by the name of its function", async () => {
  const id = { type: "string" };
  const { value } = await valueFor({ type: "object", properties: { order: id, id }, required: ["order"] }, "#W7");
  expect(value).toEqual({ order: "#W7" });
});

test("a schema that never ends comes to an end", async () => {
  const node = { type: "object", properties: { next: { $ref: "#/$defs/node" } }, required: ["next"] };
  const { value } = await valueFor({
    type: "object",
    properties: { node: { $ref: "#/$defs/node" } },
    required: ["node"],
    $defs: { node },
  });
  expect(JSON.stringify(value).length).toBeLessThan(500);
});

/** A list that counts how often one of its entries is read. */
function counted(entries: string[]) {
  const count = { reads: 0 };
  const list = new Proxy(entries, {
    get(target, key) {
      if (typeof key === "string" && /^\d+$/.test(key)) count.reads++;
      return Reflect.get(target, key) as unknown;
    },
  });
  return { list, count };
}

const members = (count: number, schema: JsonObject): JsonObject =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`item_${i}`, schema]));
const someNames = (count: number) => Array.from({ length: count }, (_, i) => `n${i}`);

test.each<[string, (list: string[]) => JsonObject]>([
  [
    "values of many alternatives",
    (list) => ({
      many: { anyOf: Array.from({ length: 20 }, () => ({ $ref: "#/$defs/one" })) },
      one: { enum: list },
    }),
  ],
])("the answer to a schema costs a bounded effort: %s", async (_, define) => {
  const { list, count } = counted(someNames(2_000));
  const respond: ModelFunction = {
    name: "respond",
    description: "Answers.",
    inputSchema: {
      type: "object",
      properties: { status: { type: "string" }, ...members(150, { $ref: "#/$defs/many" }) },
      required: ["status", ...Object.keys(members(150, {}))],
      $defs: define(list),
    },
    effect: "read",
  };
  const order = { ...ORDER, ...Object.fromEntries(Object.keys(members(150, {})).map((name) => [name, "other"])) };
  const results = [{ callId: "call_1", name: "get_order", content: JSON.stringify(order), isError: false }];
  const messages: Message[] = [
    { role: "user", text: "Show me order #W1" },
    { role: "assistant", text: "", calls: [{ id: "call_1", name: "get_order", arguments: '{"order_id":"#W1"}' }] },
    { role: "results", results },
  ];

  const { turn } = await takeTurn([lookUp, respond], messages, { respond, toolChoice: "respond" });

  expect(count.reads).toBeLessThan(510_000);
  expect(JSON.parse(turn.calls[0]!.arguments)).toMatchObject({ status: "pending" });
});

test("the function that answers is not one of those that a query can mean", async () => {
  const respond: ModelFunction = {
    name: "respond",
    description: "Responds to the user.",
    inputSchema: { type: "object", properties: { answer: { type: "string" } } },
    effect: "read",
  };
  for (const toolChoice of ["auto", "respond"] as const) {
    const { turn } = await takeTurn([respond], [{ role: "user", text: "Respond to me" }], { respond, toolChoice });
    expect(turn.calls).toHaveLength(1);
    expect(JSON.parse(turn.calls[0]!.arguments)).toMatchObject({
      answer: expect.stringContaining("may not use any function"),
    });
  }
});
