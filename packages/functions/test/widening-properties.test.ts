import { widerPlaces, type JsonObject, type JsonValue } from "@patchbay/protocol";
import { Ajv2020 } from "ajv/dist/2020.js";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { dropUnlisted } from "../src/schema/unlisted.ts";

const ajv = new Ajv2020({ strict: false, validateFormats: false, logger: false });

/** True when a value passes a raw JSON Schema as it is: it is valid, and no member is dropped. */
function passes(schema: JsonObject, value: JsonValue): boolean {
  return ajv.validate(schema, value) && JSON.stringify(dropUnlisted(schema, value)) === JSON.stringify(value);
}

const name = fc.constantFrom("a", "b", "c");
const scalar = fc.constantFrom<JsonValue>("x", "y", "", 0, 1, 2.5, 7, true, false, null);
const value = fc.letrec<{ any: JsonValue }>((tie) => ({
  any: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    scalar,
    fc.array(tie("any"), { maxLength: 3 }),
    fc.dictionary(name, tie("any"), { maxKeys: 3, noNullPrototype: true }),
  ),
})).any;

const small = fc.integer({ min: 0, max: 3 });
const partial = (members: Record<string, fc.Arbitrary<unknown>>): fc.Arbitrary<JsonObject> =>
  fc.record(members, { requiredKeys: [], noNullPrototype: true }) as fc.Arbitrary<JsonObject>;
const typed = (type: JsonValue, members: Record<string, fc.Arbitrary<unknown>>): fc.Arbitrary<JsonObject> =>
  partial(members).map((keywords) => ({ type, ...keywords }));

const { schema } = fc.letrec<{ schema: JsonValue; object: JsonObject }>((tie) => {
  const properties = fc.dictionary(name, tie("schema"), { maxKeys: 2, noNullPrototype: true });
  const required = fc.uniqueArray(name, { maxLength: 2 });
  const keywordsOfObjects = {
    properties,
    required,
    additionalProperties: tie("schema"),
    propertyNames: fc.constantFrom<JsonValue>({}, { enum: ["a", "b"] }, { maxLength: 0 }),
    minProperties: small,
    maxProperties: small,
  };
  const kinds = fc.constantFrom("a", "b").map((kind): JsonValue => ({ const: kind }));
  const toldApart = fc
    .tuple(kinds, tie("schema"), tie("schema"))
    .map(([a, b, c]): JsonObject => ({ type: "object", properties: { a, b, c }, required: ["a"] }));
  return {
    object: typed("object", keywordsOfObjects),
    schema: fc.oneof(
      { maxDepth: 3, withCrossShrink: true },
      fc.constantFrom<JsonValue>(true, false, {}, { type: "string" }, { type: "null" }, { type: ["string", "null"] }),
      fc.uniqueArray(scalar, { minLength: 1, maxLength: 3 }).map((values): JsonValue => ({ enum: values })),
      scalar.map((only): JsonValue => ({ const: only })),
      typed("string", { minLength: small, maxLength: small, pattern: fc.constantFrom("^x", "y$") }),
      typed("integer", { minimum: small, exclusiveMaximum: small, multipleOf: fc.constantFrom(1, 2) }),
      typed("number", { exclusiveMinimum: small, maximum: fc.constantFrom(1, 2.5, 7) }),
      tie("object"),
      toldApart,
      partial({ ...keywordsOfObjects, minimum: small, maxLength: small }),
      typed("array", {
        items: tie("schema"),
        prefixItems: fc.array(tie("schema"), { minLength: 1, maxLength: 2 }),
        minItems: small,
        maxItems: small,
        uniqueItems: fc.boolean(),
      }),
      fc.array(tie("schema"), { minLength: 1, maxLength: 3 }).map((anyOf): JsonValue => ({ anyOf })),
      fc.array(tie("schema"), { minLength: 1, maxLength: 3 }).map((oneOf): JsonValue => ({ oneOf })),
      fc.tuple(tie("object"), tie("object")).map((allOf): JsonValue => ({ allOf })),
      fc.tuple(tie("schema"), tie("schema")).map(([a, b]): JsonValue => ({ if: a, else: b, type: "object" })),
      fc.constantFrom<JsonValue>({ $ref: "#/$defs/one" }, { $ref: "#/$defs/two" }, { $ref: "#" }),
    ),
  };
});

const whole = fc
  .tuple(schema, schema, schema)
  .map(([member, one, two]): JsonObject => ({ properties: { a: member }, $defs: { one, two } }));

/** A change that leaves most of a schema as it is, so that comparisons get far. */
const edit = (other: JsonValue, place: number) => (root: JsonObject) => {
  let left = place;
  const visit = (node: JsonValue): JsonValue => {
    if (left-- === 0) return other;
    if (Array.isArray(node)) return node.map(visit);
    if (typeof node !== "object" || node === null) return node;
    return Object.fromEntries(Object.entries(node).map(([key, inner]) => [key, visit(inner)]));
  };
  return Object.fromEntries(Object.entries(root).map(([key, inner]) => [key, visit(inner)]));
};

const replacement = fc.oneof(schema, fc.integer({ min: 0, max: 3 }), fc.uniqueArray(name, { maxLength: 2 }));
const pair = fc.oneof(
  fc.tuple(whole, whole),
  fc
    .tuple(whole, replacement, fc.integer({ min: 0, max: 25 }))
    .map(([root, other, place]): [JsonObject, JsonObject] => [root, edit(other, place)(root)]),
);

/** References without a member between have no meaning, and ajv has no end with them. */
function compiles(one: JsonObject): boolean {
  try {
    passes(one, { a: 1 });
    passes(one, { a: { a: [] } });
    return true;
  } catch {
    return false;
  }
}

describe("the comparison of two schemas", () => {
  test("never calls a wider schema narrower", () => {
    fc.assert(
      fc.property(pair, fc.array(value, { minLength: 20, maxLength: 20 }), ([before, after], values) => {
        if (widerPlaces(before, after).length > 0) return;
        if (!compiles(before) || !compiles(after)) return;
        for (const one of values.flatMap((inner) => [inner, { a: inner }]))
          if (passes(after, one)) expect([one, passes(before, one)]).toEqual([one, true]);
      }),
      { numRuns: 1_000 },
    );
  });

  test("calls no schema wider than itself", () => {
    fc.assert(
      fc.property(whole, (one) => {
        expect(widerPlaces(one, structuredClone(one))).toEqual([]);
      }),
    );
  });
});
