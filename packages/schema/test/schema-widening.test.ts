import * as fc from "@patchbay/test-support/properties";
import { describe, expect, test } from "vitest";
import { TOO_MANY_STEPS, widerPlaces } from "../src/index.ts";
import { type JsonObject, type JsonValue } from "@patchbay/kit";

const text = { type: "string" };
const number = { type: "number" };
const object = (properties: JsonObject, more: JsonObject = {}): JsonObject => ({ type: "object", properties, ...more });
const oneMember = (a: JsonValue, more: JsonObject = {}): JsonObject => ({ ...object({ a }), ...more });
const kind = (name: string, members: JsonObject): JsonObject =>
  object({ kind: { const: name }, ...members }, { required: ["kind"] });

/** The places where `after` is wider. */
const placesOf = (before: JsonValue, after: JsonValue, defs?: [JsonObject, JsonObject]): string[] => {
  const [was, is] = defs ? defs.map(($defs) => ({ $defs })) : [{}, {}];
  return widerPlaces(oneMember(before, was), oneMember(after, is)).map(({ path, reason }) => `${path}: ${reason}`);
};

const INCOMPARABLE = "it changed in a way that cannot be compared, so it counts as wider";

describe("wider", () => {
  const cases: [string, JsonValue, JsonValue, string][] = [
    ["a type that is added", text, { type: ["string", "null"] }, "a: null is new"],
    ["another type", text, number, "a: type number is new"],
    ["numbers for integers", { type: "integer" }, number, "a: type number is new"],
    ["a new value", { enum: ["a", 1] }, { enum: ["a", "b", 1] }, 'a: "b" is new'],
    ["any text for some", { enum: ["a"] }, text, "a: type string is new"],
    ["a value beyond a bound", { type: "number", maximum: 5 }, { const: 6 }, "a: 6 is new"],
    ["a value for a pattern", { ...text, pattern: "^a" }, { const: "a" }, 'a: "a" is new'],
    ["a removed maximum", { ...number, maximum: 5 }, number, "a: maximum 5 is removed"],
    [
      "an inclusive bound",
      { ...number, exclusiveMinimum: 0 },
      { ...number, minimum: 0 },
      "a: minimum 0 replaces 0 (exclusive)",
    ],
    ["a shorter text", { ...text, minLength: 2 }, { ...text, minLength: 1 }, "a: minLength 1 replaces 2"],
    ["another pattern", { ...text, pattern: "a" }, { ...text, pattern: "b" }, 'a: pattern "b" replaces "a"'],
    ["a removed format", { ...text, format: "email" }, text, 'a: format "email" is removed'],
    ["a new member", object({ b: text }), object({ b: text, c: text }), "a.c: the property is new"],
    [
      "members that are not listed",
      object({ b: text }),
      object({ b: text }, { additionalProperties: {} }),
      "a: properties that the schema does not list are new",
    ],
    [
      "an object that lists no members",
      object({ b: text }),
      { type: "object" },
      "a: properties that the schema does not list are new",
    ],
    [
      "items of another type",
      { type: "array", items: text },
      { type: "array", items: {} },
      "a[]: null, true, false is new",
    ],
    ["more items", { type: "array", maxItems: 2 }, { type: "array", maxItems: 3 }, "a: maxItems 3 replaces 2"],
    [
      "keys of a record",
      { type: "object", propertyNames: { enum: ["x"] }, additionalProperties: text },
      { type: "object", additionalProperties: text },
      "a.*: type string is new",
    ],
    [
      "a branch that a required property distinguishes",
      { oneOf: [kind("x", {})] },
      { oneOf: [kind("x", {}), kind("y", {})] },
      'a.kind: "y" is new',
    ],
    // A raw schema keeps `b` of { kind: "x", b: 1 } as soon as any branch that can apply lists it.
    [
      "objects without a distinguishing property",
      {
        anyOf: [
          object({ b: text }, { additionalProperties: false }),
          object({ c: text }, { additionalProperties: false }),
        ],
      },
      { anyOf: [object({ b: text }), object({ c: text })] },
      `a: ${INCOMPARABLE}`,
    ],
    // zod uses the first branch that matches, and drops the properties that it does not list.
    [
      "the order of objects without a distinguishing property",
      { anyOf: [object({ b: text }), object({ c: text }, { required: ["c"] })] },
      { anyOf: [object({ c: text }, { required: ["c"] }), object({ b: text })] },
      `a: ${INCOMPARABLE}`,
    ],
    // `oneOf` refuses a value that two branches accept. Without the second branch, integers are accepted.
    [
      "a removed branch of an overlapping oneOf",
      { oneOf: [{ type: "integer" }, number] },
      { type: "integer" },
      `a: ${INCOMPARABLE}`,
    ],
    ["a removed condition", { allOf: [text, { maxLength: 3 }] }, text, `a: ${INCOMPARABLE}`],
    ["a schema that allows nothing before", false, text, "a: the property is new"],
  ];

  test.each(cases)("%s", (_, before, after, place) => {
    expect(placesOf(before, after)).toContain(place);
  });

  test("an unchanged reference to a wider definition", () => {
    const recursive = (leaf: JsonValue): JsonObject => object({ leaf, next: { $ref: "#/$defs/node" } });
    const defs = (leaf: JsonValue): JsonObject => ({ node: recursive(leaf) });
    const ref = { $ref: "#/$defs/node" };

    expect(placesOf(ref, ref, [defs({ type: "integer" }), defs(number)])).toContain("a.leaf: type number is new");
    expect(placesOf({ type: "array", items: ref }, { type: "array", items: ref }, [defs(text), defs({})])).not.toEqual(
      [],
    );
  });

  test("an optional property does not make a result wider", () => {
    const [before, after] = [object({ b: text }, { required: ["b"] }), object({ b: text })];

    expect(widerPlaces(before, after)).toHaveLength(1);
    expect(widerPlaces(before, after, { results: true })).toEqual([]);
  });
});

describe("not wider", () => {
  const cases: [string, JsonValue, JsonValue][] = [
    ["anything before", {}, object({ b: text })],
    ["nothing after", text, false],
    ["an integer for a number", { ...number, minimum: 0 }, { type: "integer", exclusiveMinimum: 0 }],
    [
      "the same bound of integers, written otherwise",
      { type: "integer", minimum: 1 },
      { type: "integer", exclusiveMinimum: 0 },
    ],
    ["some values", { ...text, maxLength: 3 }, { enum: ["abc", "b"] }],
    ["null in another notation", { type: ["string", "null"] }, { anyOf: [text, { type: "null" }] }],
    ["a strict object", object({ b: text }), object({ b: text }, { additionalProperties: false })],
    ["an object that drops others", object({ b: text }, { additionalProperties: false }), object({ b: text })],
    ["a tuple of a list", { type: "array", items: text }, { type: "array", prefixItems: [text], items: false }],
    ["one branch less", { oneOf: [kind("x", { b: text }), kind("y", {})] }, { oneOf: [kind("y", {})] }],
    [
      "a narrower branch that a required property distinguishes",
      { anyOf: [kind("x", { b: number }), kind("y", {})] },
      { anyOf: [kind("x", { b: { type: "integer" } }), kind("y", {})] },
    ],
    ["one more member that is required", object({ b: text }), object({ b: text }, { required: ["b"] })],
    ["a description", { ...text, title: "A", default: "b" }, { ...text, description: "C", "x-visible-to": ["d"] }],
    ["a member named like a keyword", object({ description: text }), object({ description: text })],
    ["a definition for its text", text, { $ref: "#/$defs/text" }],
  ];

  test.each(cases)("%s", (_, before, after) => {
    expect(placesOf(before, after, [{ text }, { text }])).toEqual([]);
  });

  test("a recursive schema with a narrower leaf and a renamed definition", () => {
    const before = { $defs: { a: object({ n: number, next: { $ref: "#/$defs/a" } }) }, $ref: "#/$defs/a" };
    const after = object({ n: { type: "integer" }, next: { $ref: "#" } });

    expect(widerPlaces(before, after)).toEqual([]);
    expect(widerPlaces(after, before)).toContainEqual({ path: "n", reason: "type number is new", witness: 0.5 });
  });
});

describe("an expensive schema", () => {
  test("counts as wider where it has no steps left", () => {
    const bomb = (leaf: JsonValue): JsonObject => {
      const defs = Array.from({ length: 40 }, (_, i): [string, JsonObject] => {
        const next = i === 39 ? leaf : { $ref: `#/$defs/d${i + 1}` };
        return [`d${i}`, object({ a: next, b: next })];
      });
      return { $defs: Object.fromEntries(defs), ...object({ a: { $ref: "#/$defs/d0" } }) };
    };
    const steps = { left: 10_000 };

    const found = widerPlaces(bomb({ type: "integer" }), bomb({ type: "integer", minimum: 0 }), { steps });

    expect(found).toEqual([{ path: "", reason: TOO_MANY_STEPS }]);
    expect(steps.left).toBeGreaterThanOrEqual(0);
  });

  test("is compared although its references are circular or have no target", () => {
    for (const $ref of ["#/$defs/a", "#/$defs/none", "#/%", "https://example.com/a"])
      expect(placesOf(text, { $ref }, [{}, { a: { $ref: "#/$defs/a" } }])).toEqual([`a: ${INCOMPARABLE}`]);
  });
});

test("the comparison never throws", () => {
  const keyword = fc.constantFrom("type", "enum", "const", "anyOf", "oneOf", "$ref", "$defs", "properties", "required");
  const more = fc.constantFrom("items", "prefixItems", "additionalProperties", "propertyNames", "minimum", "__proto__");
  const { any } = fc.letrec<{ any: JsonValue }>((tie) => ({
    any: fc.oneof(
      { maxDepth: 4 },
      fc.constantFrom<JsonValue>(
        null,
        true,
        -1,
        Infinity,
        "object",
        "array",
        "#",
        "#/$defs/a",
        "#/properties/__proto__",
      ),
      fc.array(tie("any"), { maxLength: 3 }),
      fc.dictionary(fc.oneof(keyword, more), tie("any"), { maxKeys: 4 }),
    ),
  }));
  const root = any.filter((one): one is JsonObject => typeof one === "object" && one !== null && !Array.isArray(one));

  fc.assert(
    fc.property(root, root, (before, after) => {
      expect(Array.isArray(widerPlaces(before, after))).toBe(true);
    }),
    { numRuns: 2_000 },
  );
});
