import { expect, test } from "vitest";
import { z } from "zod";
import type { JsonObject } from "@patchbay/protocol";
import { takesNothing, wireSchema } from "../../src/models/wire-schema.ts";

const text = { type: "string" };

test("a plain schema loses nothing but $schema", () => {
  const schema = {
    type: "object",
    properties: { id: { ...text, pattern: "^#W" } },
    required: ["id"],
    additionalProperties: false,
  };

  expect(wireSchema({ $schema: "https://json-schema.org/draft/2020-12/schema", ...schema })).toEqual(schema);
});

test("a schema is worked out once", () => {
  const schema = { type: "object", properties: { id: text } };

  expect(wireSchema(schema)).toBe(wireSchema(schema));
});

test("a union at the root becomes one object with the members of all and a list of the discriminator's values", () => {
  const union = z.discriminatedUnion("kind", [
    z.object({ kind: z.literal("card"), last4: z.string() }),
    z.object({ kind: z.literal("gift"), code: z.string() }),
  ]);

  expect(wireSchema(z.toJSONSchema(union) as JsonObject)).toEqual({
    type: "object",
    properties: { kind: { type: "string", enum: ["card", "gift"] }, last4: text, code: text },
    required: ["kind"],
  });
});

test("a member that the branches describe differently may be either", () => {
  const schema = {
    anyOf: [
      { type: "object", properties: { id: text } },
      { type: "object", properties: { id: { type: "integer" } } },
    ],
  };

  expect(wireSchema(schema)["properties"]).toEqual({ id: { anyOf: [text, { type: "integer" }] } });
});

test("allOf at the root is merged, references included", () => {
  const schema = {
    allOf: [{ $ref: "#/$defs/page" }, { type: "object", properties: { query: text }, required: ["query"] }],
    $defs: { page: { type: "object", properties: { limit: { type: "integer" } } } },
  };

  expect(wireSchema(schema)).toMatchObject({
    type: "object",
    properties: { limit: { type: "integer" }, query: text },
    required: ["query"],
  });
});

test("a root that is a reference is written out", () => {
  const schema = {
    $ref: "#/$defs/node",
    $defs: { node: { type: "object", properties: { id: text }, required: ["id"] } },
  };

  expect(wireSchema(schema)).toMatchObject({ type: "object", properties: { id: text }, required: ["id"] });
});

test("a schema that refers to itself ends", () => {
  const tree: JsonObject = {
    type: "object",
    anyOf: [{ $ref: "#" }],
    properties: { children: { type: "array", items: { $ref: "#" } } },
  };

  expect(wireSchema(tree)["properties"]).toEqual({ children: { type: "array", items: { $ref: "#" } } });
});

test("members named like keywords are members, and data is left alone", () => {
  const schema = {
    type: "object",
    properties: { const: text, pattern: text, propertyNames: text, format: { type: "string", default: { const: 1 } } },
  };

  expect(wireSchema(schema)).toEqual(schema);
});

test("what some wires do not know is put in words that all of them know", () => {
  const schema = {
    type: "object",
    properties: {
      kind: { const: "gift" },
      at: { type: "string", format: "date-time", pattern: "^very long$" },
      tags: { type: "object", propertyNames: text, additionalProperties: { const: 1 } },
    },
  };

  expect(wireSchema(schema)["properties"]).toEqual({
    kind: { enum: ["gift"] },
    at: { type: "string", format: "date-time", pattern: "^very long$" },
    tags: { type: "object", additionalProperties: { enum: [1] } },
  });
});

test("only a function that can be given nothing takes nothing", () => {
  expect(takesNothing({ type: "object", properties: {}, additionalProperties: false })).toBe(true);
  expect(takesNothing({ type: "object" })).toBe(true);
  expect(takesNothing({ type: "object", additionalProperties: text })).toBe(false);
  expect(takesNothing({ anyOf: [{ type: "object", properties: { id: text } }] })).toBe(false);
});

test.each<[string, JsonObject]>([
  ["patterns of names", { patternProperties: { "^a": text } }],
  ["a least number of members", { minProperties: 1 }],
  ["required members", { required: ["a"] }],
  ["names of its members", { propertyNames: { pattern: "^a" } }],
  ["a reference", { $ref: "#/$defs/a", $defs: { a: { type: "object", patternProperties: { "^a": text } } } }],
  ["choices", { anyOf: [{ patternProperties: { "^a": text } }, { patternProperties: { "^b": text } }] }],
])("an object that lists no members but has %s takes something", (_, more) => {
  expect(takesNothing({ type: "object", ...more })).toBe(false);
  expect(takesNothing({ type: "object", additionalProperties: false, ...more })).toBe(false);
});

test("what no provider takes at the root is left to the check of the arguments", () => {
  const schema = { type: "object", properties: { id: text }, not: { required: ["name"] }, enum: [{ id: "1" }] };

  expect(wireSchema(schema)).toEqual({ type: "object", properties: { id: text } });
});

test("members named like those of every object keep their schemas in a choice at the root", () => {
  const schema = {
    type: "object",
    $defs: { toString: { type: "object", properties: { constructor: { type: "string" } }, required: ["constructor"] } },
    oneOf: [{ $ref: "#/$defs/toString" }, { type: "object", properties: { valueOf: { type: "integer" } } }],
  };

  expect(wireSchema(schema)["properties"]).toEqual({ constructor: { type: "string" }, valueOf: { type: "integer" } });
  expect(wireSchema({ type: "object", anyOf: [{ $ref: "#/constructor" }] })["properties"]).toEqual({});
});
