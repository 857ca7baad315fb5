import * as fc from "@patchbay/test-support/properties";
import { expect, test, vi } from "vitest";
import { compilePattern } from "../src/answer/pattern.ts";
import { type JsonObject, type JsonValue } from "@patchbay/kit";
import { validateAnswer } from "../src/index.ts";
import { checkResponseSchema } from "../src/answer/check.ts";

const faults = (schema: JsonObject, value: JsonValue): string[] =>
  validateAnswer(schema, value).map(({ path, message }) => `${path}: ${message}`);

const member = (schema: JsonValue): JsonObject => ({ type: "object", properties: { v: schema } });
const meets = (schema: JsonValue, value: JsonValue): boolean => faults(member(schema), { v: value }).length === 0;

test("each fault has its path and the values", () => {
  const schema = {
    type: "object",
    properties: {
      orders: {
        type: "array",
        items: { type: "object", properties: { total: { type: "number", minimum: 0 } } },
        minItems: 2,
      },
      status: { enum: ["open", "closed"] },
    },
    required: ["summary", "status"],
    additionalProperties: false,
  };
  expect(faults(schema, { orders: [{ total: -1 }], status: "late", extra: 1 })).toEqual([
    "summary: is required",
    "orders: must have at least 2 items, but has 1",
    "orders.0.total: must be at least 0",
    'status: must be one of "open", "closed"',
    "extra: is not a property of the schema",
  ]);
});

test.each<[string, JsonValue, JsonValue[], JsonValue[]]>([
  ["types", { type: ["integer", "null"] }, [1, 1.0, null], [1.5, "1", true, {}]],
  ["const, whatever the order of members", { const: { a: 1, b: [2] } }, [{ b: [2], a: 1 }], [{ a: 1 }, 1]],
  ["multiples of fractions", { multipleOf: 0.1 }, [0.3, 1.1, 0], [0.35]],
  ["lengths in characters", { minLength: 2, maxLength: 2 }, ["💡💡", "ab"], ["💡", "abc"]],
  ["tuples", { prefixItems: [{ type: "string" }], items: { type: "number" } }, [["a", 1], []], [[1], ["a", "b"]]],
  ["contains", { contains: { const: 1 }, maxContains: 1 }, [[1, 2]], [[2], [1, 1]]],
  [
    "unique items",
    { uniqueItems: true },
    [[1, "1", { a: 1 }]],
    [
      [
        { a: 1, b: 2 },
        { b: 2, a: 1 },
      ],
    ],
  ],
  ["one of", { oneOf: [{ type: "integer" }, { minimum: 2 }] }, [1, 2.5], [3, 1.5]],
  ["not", { not: { type: "string" } }, [1], ["a"]],
  [
    "conditions",
    JSON.parse(
      '{ "if": { "required": ["a"] }, "then": { "required": ["b"] }, "else": { "required": ["c"] } }',
    ) as JsonValue,
    [{ a: 1, b: 1 }, { c: 1 }],
    [{ a: 1 }, {}],
  ],
  [
    "dependents",
    { dependentRequired: { a: ["b"] }, dependentSchemas: { c: { required: ["d"] } } },
    [{ a: 1, b: 1 }, {}],
    [{ a: 1 }, { c: 1 }],
  ],
  [
    "patterns of names",
    { patternProperties: { "^x-": { type: "number" } }, additionalProperties: false },
    [{ "x-a": 1 }],
    [{ "x-a": "1" }, { y: 1 }],
  ],
  ["names", { propertyNames: { maxLength: 2 } }, [{ ab: 1 }], [{ abc: 1 }]],
  [
    "unevaluated parts",
    { allOf: [{ properties: { a: true } }], unevaluatedProperties: false },
    [{ a: 1 }],
    [{ a: 1, b: 1 }],
  ],
  [
    "names that every object inherits",
    { properties: { toString: { type: "string" } }, required: ["toString"] },
    [{ toString: "a" }],
    [{}],
  ],
])("checks %s", (_, schema, valid, invalid) => {
  for (const value of valid) expect([value, meets(schema, value)]).toEqual([value, true]);
  for (const value of invalid) expect([value, meets(schema, value)]).toEqual([value, false]);
});

test("references are followed, recursive ones included", () => {
  const schema = {
    type: "object",
    properties: { tree: { $ref: "#/$defs/node" } },
    $defs: { node: { type: "object", properties: { next: { $ref: "#/$defs/node" }, n: { type: "number" } } } },
  };
  expect(faults(schema, { tree: { next: { next: { n: 1 } } } })).toEqual([]);
  expect(faults(schema, { tree: { next: { next: { n: "1" } } } })).toEqual([
    "tree.next.next.n: must be number, but is string",
  ]);
});

test("a choice reports the faults of the only option of the value's type", () => {
  const schema = member({ anyOf: [{ type: "null" }, { type: "object", required: ["id"] }] });
  expect(faults(schema, { v: {} })).toEqual(["v.id: is required"]);
});

test("a schema whose choices multiply fails after a number of steps", () => {
  const $defs = Object.fromEntries(
    Array.from({ length: 40 }, (_, i): [string, JsonObject] => [
      `a${i}`,
      i === 39 ? { type: "string" } : { anyOf: [{ $ref: `#/$defs/a${i + 1}` }, { $ref: `#/$defs/a${i + 1}` }] },
    ]),
  );
  expect(faults({ ...member({ $ref: "#/$defs/a0" }), $defs }, { v: 1 })).toEqual([
    ": cannot be checked within 500350 steps. Write a shorter or simpler value.",
  ]);
});

test("a long list of values and a long pattern are parsed once", () => {
  const long = "x".repeat(30_000);
  const items = Array.from({ length: 5_000 }, () => 1);
  const of = (schema: JsonValue) => faults({ type: "object", properties: { v: { items: schema } } }, { v: items });

  expect(of({ enum: [long, 1] })).toEqual([]);
  expect(of({ enum: [long] })).toHaveLength(20);
  expect(of({ pattern: long, required: [long] })).toEqual([]);
});

const times = <One>(count: number, make: (i: number) => One): One[] => Array.from({ length: count }, (_, i) => make(i));
const named = (count: number, make: (i: number) => JsonValue): JsonObject =>
  Object.fromEntries(times(count, (i) => [`k${i}`, make(i)]));

/** Validates a value `count` times with one schema. */
const repeated = (count: number, schema: JsonValue): [JsonValue, JsonObject] => [
  { allOf: times(count, () => ({ $ref: "#/$defs/a0" })) },
  { a0: schema },
];
const chain = (length: number): JsonObject =>
  Object.fromEntries(
    times(length, (i) => [`a${i}`, i === length - 1 ? { contains: true } : { $ref: `#/$defs/a${i + 1}` }]),
  );

test.each<[what: string, schema: [JsonValue, JsonObject?], value: JsonValue]>([
  ["names of dependentRequired", [{ items: { dependentRequired: named(5_000, () => []) } }], times(200, () => ({}))],
  ["names of dependentSchemas", [{ items: { dependentSchemas: named(5_000, () => true) } }], times(200, () => ({}))],
  ["patterns of names", [{ items: { patternProperties: named(5_000, () => true) } }], times(200, () => ({}))],
  ["required names", [{ items: { required: times(5_000, () => "a") } }], times(200, () => ({ a: 1 }))],
  ["members of a value", repeated(1_000, {}), named(200, () => 1)],
  ["items compared with each other", repeated(1_000, { uniqueItems: true }), times(200, (i) => i)],
  ["values compared with an enum", repeated(1_000, { not: { enum: [1] } }), times(200, (i) => i)],
  ["characters counted", repeated(2_000, { maxLength: 2_000 }), "a".repeat(2_000)],
  ["look-aheads", [{ pattern: `^(${"(?=.)".repeat(30)}.)*$` }], "a".repeat(1_000)],
  ["items that parts looked at", [repeated(60, {})[0], chain(50)], times(200, () => 1)],
])("%s take steps", (_, [schema, $defs = {}], value) => {
  expect(faults({ ...member(schema), $defs }, { v: value })).toEqual([
    expect.stringMatching(/^: cannot be checked within \d+ steps/),
  ]);
});

test("a reference is resolved once", () => {
  const decode = vi.spyOn(globalThis, "decodeURIComponent");
  try {
    expect(
      faults({ ...member({ items: { $ref: "#/$defs/long" } }), $defs: { long: true } }, { v: times(100, Number) }),
    ).toEqual([]);
    expect(decode).toHaveBeenCalledTimes(2);
  } finally {
    decode.mockRestore();
  }
});

test("the validation stops after the reported faults, and in a choice after the first", () => {
  const [schema, $defs] = repeated(300, { allOf: times(1_000, () => false) });
  expect(faults({ ...member(schema), $defs }, { v: 1 })).toEqual(times(20, () => "v: is not allowed"));
  const after = (keyword: JsonObject) =>
    faults({ ...member({ items: keyword }), $defs: { ...$defs, n: schema } }, { v: [1, 2] });
  expect(after({ anyOf: [{ $ref: "#/$defs/n" }, true] })).toEqual([]);
  expect(after({ not: { $ref: "#/$defs/n" } })).toEqual([]);
  expect(after({ anyOf: [{ oneOf: [{ $ref: "#/$defs/n" }] }, true] })).toEqual([]);
});

test("a choice that fails at a deep level does not reduce the depth for the next", () => {
  const levels = (depth: number): JsonValue => (depth === 0 ? false : { allOf: [levels(depth - 1)] });
  expect(meets({ items: { anyOf: [levels(50), true] } }, times(100, Number))).toBe(true);
});

test("a pattern that takes a backtracking engine years is matched", () => {
  expect(meets({ pattern: "^(a+)+$" }, `${"a".repeat(5_000)}!`)).toBe(false);
  expect(meets({ pattern: "^(a|a)*$" }, "a".repeat(5_000))).toBe(true);
  expect(meets({ pattern: "^(?!.*\\.\\.)([a-z.]+)+@x$" }, `${"a.".repeat(2_000)}@x`)).toBe(true);
});

test("every pattern that checkResponseSchema accepts is matched", () => {
  for (const pattern of ["^[a-z]{12000}$", "^(a?){6000}$"]) {
    expect(checkResponseSchema(member({ pattern }))).toEqual([]);
    expect(meets({ pattern }, "a")).toBe(pattern.includes("?"));
  }
});

const PIECES = [
  "a",
  "b",
  "[ab]",
  "[^a]",
  ".",
  "\\w",
  "\\d",
  "\\u{61}",
  "\\x62",
  "\\p{L}",
  "\\P{L}",
  "é",
  "💡",
  "\\.",
  "^",
  "$",
  "\\b",
  "\\B",
];
const COUNTS = ["", "*", "+", "?", "{2}", "{1,}", "{0,2}", "*?"];

const pattern = fc.letrec<{ tree: string }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc.constantFrom(...PIECES),
    fc.tuple(tie("tree"), fc.constantFrom(...COUNTS)).map(([inner, count]) => `(?:${inner})${count}`),
    fc.tuple(tie("tree"), tie("tree")).map(([a, b]) => `${a}${b}`),
    fc.tuple(tie("tree"), tie("tree")).map(([a, b]) => `(${a}|${b})`),
    fc.tuple(fc.constantFrom("=", "!"), tie("tree")).map(([sign, inner]) => `(?${sign}${inner})`),
    fc.tuple(fc.string({ unit: fc.constantFrom("x", "y") }), tie("tree")).map(([, inner]) => `(?<n>${inner})`),
  ),
})).tree;

test("a character of two units counts as one character", () => {
  expect(meets({ pattern: "^.$" }, "💡")).toBe(true);
  expect(meets({ pattern: "^[💡b]{2}$" }, "💡💡")).toBe(true);
  expect(meets({ pattern: "^\\u{1F4A1}\\uD83D\\uDCA1$" }, "💡💡")).toBe(true);
  expect(meets({ pattern: "^..$" }, "💡")).toBe(false);
});

test("patterns match the same texts as the built-in engine", () => {
  // Without characters of two units: V8 can start a negative look-ahead in the middle of one.
  const texts = fc.string({ unit: fc.constantFrom("a", "b", "1", ".", " ", "\n", "é"), maxLength: 8 });
  fc.assert(
    fc.property(pattern, texts, (source, text) => {
      let builtIn: RegExp;
      try {
        builtIn = new RegExp(source, "u");
      } catch {
        return; // two groups of one name
      }
      expect(compilePattern(source).test(text, { left: 1_000_000 })).toBe(builtIn.test(text));
    }),
    { numRuns: 2_000 },
  );
});

test("values that are checked together share their steps", () => {
  const lengths = member({ allOf: Array.from({ length: 2_000 }, () => ({ maxLength: 100_000 })) });
  const steps = { left: 100_000 };

  const first = validateAnswer(lengths, { v: "a".repeat(40_000) }, steps);
  const second = validateAnswer(lengths, { v: "a" }, steps);

  expect(first[0]?.message).toContain("cannot be checked within 100000 steps");
  expect(second[0]?.message).toContain("cannot be checked within 0 steps");
  expect(steps.left).toBe(0);
});
