import { compareSchemas, type Verdict, widerPlaces, withOpenObjects } from "@patchbay/schema";
import { isJsonObject, type JsonObject, type JsonValue } from "@patchbay/kit";
import { Ajv2020 } from "ajv/dist/2020.js";
import * as fc from "@patchbay/test-support/properties";
import { describe, expect, test } from "vitest";
import { createParser } from "../src/schema/parser.ts";
import type { Parsed } from "../src/schema/schema.ts";
import { dropUnlisted } from "../src/schema/unlisted.ts";

const ajv = new Ajv2020({ strict: false, validateFormats: false, logger: false });

/** True if a value passes a raw JSON Schema unchanged: it is valid, and no property is dropped. */
function passes(schema: JsonObject, value: JsonValue): boolean {
  return ajv.validate(schema, value) && JSON.stringify(dropUnlisted(schema, value)) === JSON.stringify(value);
}

const name = fc.constantFrom("a", "b", "c");
const scalar = fc.constantFrom<JsonValue>("x", "xy", "", 0, 1, 2.5, 7, true, null);

/** Enough values to distinguish two small schemas: scalars, and lists and objects of them, one of them a level deeper. */
const FEW: JsonValue[] = ["x", "xy", "", 0, 1, 2.5, 7, true, null];
const members = ["x", 1, null] as const;
const flat: JsonObject[] = ["a", "b", "c"].flatMap((one) => [
  ...members.map((value) => ({ [one]: value })),
  ...["a", "b", "c"].flatMap((other) => (other > one ? members.map((value) => ({ [one]: value, [other]: 1 })) : [])),
]);
const VALUES: JsonValue[] = [
  ...FEW,
  [],
  {},
  ...FEW.map((one) => [one]),
  ["x", 1],
  [1, 1, 1],
  ...FEW.map((one) => ({ a: one })),
  ...flat,
  { a: "x", b: 1, c: "x" },
  { a: 1, b: { a: 1, b: "x" } },
  ...flat.flatMap((one) => [{ a: one }, { b: one, c: 1 }, [one]]),
];

const small = fc.integer({ min: 0, max: 3 });
/** A few of these keywords: with all of them, a schema accepts almost nothing. */
const partial = (members: Record<string, fc.Arbitrary<unknown>>): fc.Arbitrary<JsonObject> =>
  fc
    .subarray(Object.keys(members), { maxLength: 2 })
    .chain((names) =>
      fc.record(Object.fromEntries(names.map((one) => [one, members[one]!])), { noNullPrototype: true }),
    ) as fc.Arbitrary<JsonObject>;
const typed = (type: JsonValue, members: Record<string, fc.Arbitrary<unknown>>): fc.Arbitrary<JsonObject> =>
  partial(members).map((keywords) => ({ type, ...keywords }));

const { schema, object } = fc.letrec<{ schema: JsonValue; object: JsonObject }>((tie) => {
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
    object: fc
      .tuple(typed("object", keywordsOfObjects), fc.option(properties))
      .map(([one, own]): JsonObject => (own ? { ...one, properties: own } : one)),
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

/** Schemas of every kind, some with definitions. */
const whole = fc.oneof(
  schema.filter((one): one is JsonObject => isJsonObject(one) && !("$ref" in one)),
  fc.array(object, { minLength: 2, maxLength: 3 }).map((anyOf): JsonObject => ({ anyOf })),
  fc.tuple(schema, schema, schema).map(([a, one, two]): JsonObject => ({ properties: { a }, $defs: { one, two } })),
);

type Change = (node: JsonValue) => JsonValue;
const changes = fc.oneof<fc.Arbitrary<Change>[]>(
  fc.oneof(schema, fc.integer({ min: 0, max: 3 }), fc.uniqueArray(name, { maxLength: 2 })).map((other) => () => other),
  fc.constantFrom<Change>(
    (node) => (Array.isArray(node) ? node.toReversed() : node),
    (node) => (Array.isArray(node) ? node.slice(1) : node),
    (node) => (isJsonObject(node) ? Object.fromEntries(Object.entries(node).slice(1)) : node),
    (node) => (isJsonObject(node) ? Object.fromEntries(Object.entries(node).slice(0, -1)) : node),
    (node) => (isJsonObject(node) ? { ...node, additionalProperties: false } : node),
  ),
);

/** Changes one place of a schema and leaves the others, so that comparisons get far. */
function changed(root: JsonObject, change: Change, place: number): JsonObject {
  let left = place;
  const visit = (node: JsonValue): JsonValue => {
    if (left-- === 0) return change(node);
    if (Array.isArray(node)) return node.map(visit);
    return isJsonObject(node) ? Object.fromEntries(Object.entries(node).map(([key, one]) => [key, visit(one)])) : node;
  };
  const result = visit(root);
  return isJsonObject(result) ? result : root;
}

const pair = fc
  .tuple(whole, fc.array(fc.tuple(changes, fc.nat(15)), { minLength: 1, maxLength: 3 }))
  .map(([root, edits]): [JsonObject, JsonObject] => [
    root,
    edits.reduce((one, [change, place]) => changed(one, change, place), root),
  ]);

/** The values that pass. Undefined for an invalid schema and for circular references. */
function passing(
  schema: JsonObject,
  test: (schema: JsonObject, value: JsonValue) => boolean,
  values: readonly JsonValue[] = VALUES,
): JsonValue[] | undefined {
  try {
    return values.filter((value) => test(schema, value));
  } catch {
    return undefined;
  }
}

describe("the comparison of two schemas", () => {
  const sides: [string, (schema: JsonObject) => JsonObject, typeof passes][] = [
    ["that drops unlisted members", (one) => one, passes],
    ["that keeps them", withOpenObjects, (one, value) => ajv.validate(one, value)],
  ];

  const { seed } = fc.readConfigureGlobal();
  const pairs = process.env["PATCHBAY_TEST_ROWS"] === "all" ? 5_000 : 1_500;

  test.each(sides)(`%s is right for ${pairs} pairs (seed ${seed})`, (_, written, takes) => {
    const counts: Record<Verdict, number> = { equal: 0, narrower: 0, wider: 0, incomparable: 0, unknown: 0 };
    fc.assert(
      fc.property(pair, ([before, after]) => {
        const { verdict, wider } = compareSchemas(written(before), written(after));
        const [was, is] = [passing(before, takes), passing(after, takes)];
        if (!was || !is) return;
        counts[verdict]++;
        if (verdict === "equal" || verdict === "narrower") expect(is.filter((one) => !was.includes(one))).toEqual([]);
        if (verdict === "equal") expect(was.filter((one) => !is.includes(one))).toEqual([]);
        for (const { path, witness } of wider)
          if (path === "" && witness !== undefined)
            expect([passing(after, takes, [witness]), passing(before, takes, [witness])]).toEqual([[witness], []]);
      }),
      { numRuns: pairs },
    );
    // Without pairs of each verdict, the test would prove nothing.
    for (const count of Object.values(counts)) expect(count).toBeGreaterThan(10);
  });

  test("calls no schema wider than itself", () => {
    fc.assert(
      fc.property(whole, (one) => {
        expect(widerPlaces(one, structuredClone(one))).toEqual([]);
      }),
    );
  });
});

test("an input of raw JSON Schema accepts the same values as Ajv, unchanged", () => {
  let taken = 0;
  fc.assert(
    fc.property(whole, (schema) => {
      const valid = passing(schema, (one, value) => ajv.validate(one, value));
      if (!valid) return;
      const parse = createParser(schema, "input", "input");
      const parsed = VALUES.map((value) => parse(value) as Parsed);
      expect(parsed.flatMap((one) => (one.ok ? [one.value] : []))).toEqual(valid);
      taken += valid.length;
    }),
    { numRuns: 300 },
  );
  expect(taken).toBeGreaterThan(100);
});
