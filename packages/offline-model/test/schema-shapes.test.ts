import type { JsonObject, JsonValue } from "@patchbay/kit";
import { describe, expect, test } from "vitest";
import type { ModelFunction } from "@patchbay/engine/ports/model-provider";
import { takeTurn } from "./converse.ts";

async function argumentsFor(inputSchema: JsonObject, query: string): Promise<JsonValue | undefined> {
  const fn: ModelFunction = { name: "find_rooms", description: "Finds rooms.", effect: "read", inputSchema };
  const { turn } = await takeTurn([fn], [{ role: "user", text: query }]);
  return turn.calls[0] && (JSON.parse(turn.calls[0].arguments) as JsonValue);
}

const object = (properties: JsonObject, required = Object.keys(properties), more: JsonObject = {}): JsonObject => ({
  type: "object",
  properties,
  required,
  ...more,
});

test("references are followed", async () => {
  const schema = object({ city: { $ref: "#/$defs/city" } }, undefined, { $defs: { city: { type: "string" } } });

  expect(await argumentsFor(schema, "Find rooms in Lisbon")).toEqual({ city: "Lisbon" });
});

test("a value after the word id is a parameter with no other name, with and without quotes", async () => {
  const schema = object({ id: { type: "string" } });

  expect(await argumentsFor(schema, 'Find rooms for id "r-17"')).toEqual({ id: "r-17" });
  expect(await argumentsFor(schema, "Find rooms for id r-17")).toEqual({ id: "r-17" });
});

test("an object within the arguments is asked for", async () => {
  const schema = object({ stay: object({ nights: { type: "integer" } }) });

  expect(await argumentsFor(schema, "Find rooms for 3 nights")).toBeUndefined();
});

test("a reference to itself does not hang", async () => {
  const schema = object({ room: { $ref: "#/$defs/room" } }, [], {
    $defs: { room: object({ room: { $ref: "#/$defs/room" } }, []) },
  });

  expect(await argumentsFor(schema, "Find rooms")).toEqual({});
});

test("what may be null takes its other form, and is left out where nothing was said", async () => {
  const schema = object(
    { city: { anyOf: [{ type: "null" }, { type: "string" }] }, floor: { type: ["integer", "null"] } },
    ["city"],
  );

  expect(await argumentsFor(schema, "Find rooms in Lisbon")).toEqual({ city: "Lisbon" });
});

test("lists of enum members, numbers of an enum and booleans are found by their words", async () => {
  const schema = object({
    features: { type: "array", items: { type: "string", enum: ["sea view", "balcony", "kitchen"] } },
    beds: { type: "integer", enum: [1, 2, 3] },
    smoking: { type: "boolean" },
  });

  expect(await argumentsFor(schema, "Find rooms with 2 beds, a balcony and sea view, no smoking")).toEqual({
    features: expect.arrayContaining(["sea view", "balcony"]),
    beds: 2,
    smoking: false,
  });
});

test("a default fills in a required member, and no other", async () => {
  const order = { type: "string", enum: ["price", "size"], default: "price" };

  expect(
    await argumentsFor(object({ order, limit: { type: "integer", default: 10 } }, ["order"]), "Find rooms"),
  ).toEqual({ order: "price" });
});

test("a value outside the schema's bounds is not passed on", async () => {
  const schema = object({ nights: { type: "integer", minimum: 1, maximum: 14 } });

  expect(await argumentsFor(schema, "Find rooms for 15 nights")).toBeUndefined();
});

test("a member named like one of Object's own is a member like others", async () => {
  const schema = JSON.parse(
    '{"type":"object","properties":{"__proto__":{"type":"integer"}},"required":["__proto__"]}',
  ) as JsonObject;

  expect(JSON.stringify(await argumentsFor(schema, "Find rooms with proto 4"))).toBe('{"__proto__":4}');
});

test("members whose names say nothing take no words of the query", async () => {
  const schema = object({ _: { type: "string" }, only: { type: "boolean" }, 𝒳: { type: "string" } }, []);

  expect(await argumentsFor(schema, "Find rooms: sea view")).toEqual({});
});

test("choices that refer to further choices, level after level, cost no more than a bounded effort", async () => {
  const $defs: JsonObject = { level0: { type: "null" } };
  for (let level = 1; level <= 8; level++)
    $defs[`level${level}`] = { anyOf: Array.from({ length: 30 }, () => ({ $ref: `#/$defs/level${level - 1}` })) };
  const schema = object({ room: { $ref: "#/$defs/level8" }, odd: { $ref: "#/$defs/100%" } }, [], { $defs });

  expect(await argumentsFor(schema, "Find rooms")).toEqual({});
});

describe("a function of two numbers", () => {
  const add: ModelFunction = {
    name: "add",
    description: "Adds two numbers.",
    effect: "read",
    inputSchema: object({
      a: { type: "number", description: "The first number" },
      b: { type: "number", description: "The second number" },
    }),
  };
  const callsFor = async (query: string) => {
    const { turn } = await takeTurn([add], [{ role: "user", text: query }]);
    return turn.calls.map((call) => JSON.parse(call.arguments) as JsonValue);
  };

  test.each([
    ["add 2 and 3", { a: 2, b: 3 }],
    ["Add the numbers 17 and 25", { a: 17, b: 25 }],
    ["add(2, 3)", { a: 2, b: 3 }],
    ["add a=2 b=3", { a: 2, b: 3 }],
    ["add b: 3, a: 2", { a: 2, b: 3 }],
    ["please add 2 3", { a: 2, b: 3 }],
  ])("takes them from %j", async (query, wanted) => {
    expect(await callsFor(query)).toEqual([wanted]);
  });

  test.each(["add 2", "add 2, 3 and 4", "add b=3"])("is not called where %j leaves one open", async (query) => {
    expect(await callsFor(query)).toEqual([]);
  });
});

test("a list of record numbers is not divided among parameters that name different records", async () => {
  const schema = object({ room_id: { type: "integer" }, guest_id: { type: "integer" } });

  expect(await argumentsFor(schema, "Find 12 and 14")).toBeUndefined();
});
