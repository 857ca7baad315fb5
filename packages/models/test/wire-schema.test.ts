import { expect, test } from "vitest";
import { z } from "zod";
import type { JsonObject } from "@patchbay/kit";
import { takesNothing, wireSchema } from "../src/wire-schema.ts";

const text = { type: "string" };

test("a plain schema keeps everything except $schema", () => {
  const schema = {
    type: "object",
    properties: { id: { ...text, pattern: "^#W" } },
    required: ["id"],
    additionalProperties: false,
  };

  expect(wireSchema({ $schema: "https://json-schema.org/draft/2020-12/schema", ...schema })).toEqual(schema);
});

test("a schema is converted once", () => {
  const schema = { type: "object", properties: { id: text } };

  expect(wireSchema(schema)).toBe(wireSchema(schema));
});

test("a union at the root becomes one object with the properties of all branches and the discriminator's values", () => {
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

test("a branch that is named many times is one branch", () => {
  const ref = { $ref: "#/$defs/same" };
  const wire = wireSchema({
    type: "object",
    $defs: { same: { type: "object", properties: { a: { type: "string" } } } },
    allOf: [...Array.from({ length: 100 }, () => ref), { type: "object", properties: { b: { type: "number" } } }],
  });

  expect(wire["properties"]).toEqual({ a: { type: "string" }, b: { type: "number" } });
});

test("a property that branches describe differently allows either", () => {
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

test("a reference at the root is replaced by its target", () => {
  const schema = {
    $ref: "#/$defs/node",
    $defs: { node: { type: "object", properties: { id: text }, required: ["id"] } },
  };

  expect(wireSchema(schema)).toMatchObject({ type: "object", properties: { id: text }, required: ["id"] });
});

test("the conversion of a schema that refers to itself ends", () => {
  const tree: JsonObject = {
    type: "object",
    anyOf: [{ $ref: "#" }],
    properties: { children: { type: "array", items: { $ref: "#" } } },
  };

  expect(wireSchema(tree)["properties"]).toEqual({ children: { type: "array", items: { $ref: "#" } } });
});

test("properties named like keywords are properties, and data is not changed", () => {
  const schema = {
    type: "object",
    properties: { const: text, pattern: text, propertyNames: text, format: { type: "string", default: { const: 1 } } },
  };

  expect(wireSchema(schema)).toEqual(schema);
});

test("keywords that only some wires support are replaced by ones that all support", () => {
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

test("the fixed names of a record are optional members", () => {
  const limits = {
    type: "object",
    propertyNames: { enum: ["cpu", "memory"] },
    additionalProperties: { type: "number" },
  };
  const open = { type: "object", propertyNames: { enum: ["a"] }, patternProperties: { b: text } };

  expect(wireSchema({ type: "object", properties: { limits, open } })["properties"]).toEqual({
    limits: {
      type: "object",
      properties: { cpu: { type: "number" }, memory: { type: "number" } },
      additionalProperties: false,
    },
    open: { type: "object", patternProperties: { b: text } },
  });
});

test("only a schema without possible properties takes no arguments", () => {
  expect(takesNothing({ type: "object", properties: {}, additionalProperties: false })).toBe(true);
  expect(takesNothing({ type: "object" })).toBe(true);
  expect(takesNothing({ type: "object", additionalProperties: text })).toBe(false);
  expect(takesNothing({ anyOf: [{ type: "object", properties: { id: text } }] })).toBe(false);
});

test.each<[string, JsonObject]>([
  ["patterns of names", { patternProperties: { "^a": text } }],
  ["a minimum number of properties", { minProperties: 1 }],
  ["required members", { required: ["a"] }],
  ["names of its properties", { propertyNames: { pattern: "^a" } }],
  ["a reference", { $ref: "#/$defs/a", $defs: { a: { type: "object", patternProperties: { "^a": text } } } }],
  ["choices", { anyOf: [{ patternProperties: { "^a": text } }, { patternProperties: { "^b": text } }] }],
])("an object without properties but with %s takes arguments", (_, more) => {
  expect(takesNothing({ type: "object", ...more })).toBe(false);
  expect(takesNothing({ type: "object", additionalProperties: false, ...more })).toBe(false);
});

test("keywords that no provider accepts at the root are left to the validation of arguments", () => {
  const schema = { type: "object", properties: { id: text }, not: { required: ["name"] }, enum: [{ id: "1" }] };

  expect(wireSchema(schema)).toEqual({ type: "object", properties: { id: text } });
});

test("properties with names inherited by every object keep their schemas in a choice at the root", () => {
  const schema = {
    type: "object",
    $defs: { toString: { type: "object", properties: { constructor: { type: "string" } }, required: ["constructor"] } },
    oneOf: [{ $ref: "#/$defs/toString" }, { type: "object", properties: { valueOf: { type: "integer" } } }],
  };

  expect(wireSchema(schema)["properties"]).toEqual({ constructor: { type: "string" }, valueOf: { type: "integer" } });
  expect(wireSchema({ type: "object", anyOf: [{ $ref: "#/constructor" }] })["properties"]).toEqual({});
});

test("nested choices take bounded effort", () => {
  const $defs: JsonObject = { leaf: { type: "object", properties: { id: { type: "string" } } } };
  for (let level = 0; level < 60; level++) {
    const next = { $ref: `#/$defs/${level === 0 ? "leaf" : `level${level - 1}`}` };
    $defs[`level${level}`] = { type: "object", anyOf: [next, next] };
  }

  const wire = wireSchema({ type: "object", $defs, anyOf: [{ $ref: "#/$defs/level59" }] });

  expect(wire["type"]).toBe("object");
});

test("the conversion of choices that refer to one another ends", () => {
  const $defs = { a: { anyOf: [{ $ref: "#/$defs/b" }] }, b: { anyOf: [{ $ref: "#/$defs/a" }] } };

  expect(wireSchema({ type: "object", $defs, anyOf: [{ $ref: "#/$defs/a" }] })).toMatchObject({ type: "object" });
});
