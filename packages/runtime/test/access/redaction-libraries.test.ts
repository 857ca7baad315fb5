import { z as zod3 } from "zod3";
import { visibleTo } from "../../src/index.ts";
import { SUPPORT } from "./result-of.ts";
import { events, S, seenTree, testShapes, tree, treePaths, type Shape } from "./shapes.ts";

const secret3 = visibleTo(zod3.string(), SUPPORT);
const mark = { "x-visible-to": SUPPORT };

const Node3: zod3.ZodType = zod3.object({
  name: zod3.string(),
  note: secret3,
  children: zod3.lazy(() => zod3.array(Node3)),
});

const zod3Shapes: Record<string, Shape> = {
  "zod 3: properties, items, records and wrappers": {
    output: zod3.object({
      a: zod3.string(),
      b: secret3.min(1).optional(),
      c: zod3.record(secret3),
      d: zod3.array(zod3.object({ x: zod3.number(), y: secret3.nullish() })),
      e: zod3.tuple([zod3.string(), secret3]),
      f: zod3
        .object({ x: secret3 })
        .strict()
        .and(zod3.object({ y: zod3.string().optional() }).passthrough()),
      g: secret3.brand("G"),
      h: secret3.refine(() => true).describe("a text"),
    }),
    result: { a: "1", b: S, c: { [S]: S }, d: [{ x: 1, y: S }], e: ["1", S], f: { x: S }, g: S, h: S },
    seen: { a: "1", c: {}, d: [{ x: 1 }], e: ["1", null], f: {} },
    redacted: ["b", "c.*", "d[].y", "e[1]", "f.x", "g", "h"],
  },
  "zod 3: a branch with a distinguishing tag": {
    output: zod3.array(
      zod3.discriminatedUnion("kind", [
        zod3.object({ kind: zod3.literal("open"), text: zod3.string() }),
        zod3.object({ kind: zod3.literal("closed"), text: secret3 }),
      ]),
    ),
    result: events,
    seen: [{ kind: "open", text: "hello" }, { kind: "closed" }],
    redacted: ["[].text"],
  },
  "zod 3: a recursive schema": { output: Node3, result: tree, seen: seenTree, redacted: treePaths },
};

const raw: Record<string, Shape> = {
  "JSON Schema: properties, items, tuples and patterns": {
    output: {
      type: "object",
      properties: {
        a: { type: "string" },
        b: { type: "string", ...mark },
        c: { type: "array", items: { type: "string", ...mark } },
        d: { type: "array", prefixItems: [{}, mark], items: mark },
        e: { type: "object", patternProperties: { "^x_": mark }, additionalProperties: { type: "string" } },
      },
    },
    result: { a: "1", b: S, c: [S], d: [1, S, S], e: { x_1: S, y: "2" } },
    seen: { a: "1", c: [], d: [1, null], e: { y: "2" } },
    redacted: ["b", "c[]", "d[1]", "d[]", "e.*"],
  },
  "JSON Schema: branches, parts and references": {
    output: {
      type: "object",
      properties: { a: { $ref: "#/$defs/secret" }, b: {}, c: {}, d: {}, e: {} },
      allOf: [{ properties: { b: mark } }],
      anyOf: [{ properties: { c: mark } }, { properties: { a: {} } }],
      if: { properties: { d: mark } },
      dependentSchemas: { a: { properties: { e: { $ref: "#/$defs/secret" } } } },
      $defs: { secret: mark, unused: mark },
    },
    result: { a: S, b: S, c: S, d: S, e: S },
    seen: {},
    redacted: ["a", "b", "c", "d", "e"],
  },
  "JSON Schema: a recursive schema": {
    output: {
      type: "object",
      properties: { name: {}, note: mark, children: { type: "array", items: { $ref: "#" } } },
    },
    result: tree,
    seen: seenTree,
    redacted: treePaths,
  },
  "JSON Schema: unevaluated properties and items, and contains": {
    output: {
      type: "object",
      properties: {
        a: { type: "array", items: { type: "string" }, contains: mark },
        "x-visible-to": { type: "string" },
      },
      unevaluatedProperties: mark,
    },
    result: { a: [S], "x-visible-to": "a member of that name", b: S },
    seen: { a: [], "x-visible-to": "a member of that name" },
    redacted: ["a[]", "*"],
  },
  "JSON Schema: visibleTo writes the keyword": {
    output: { type: "object", properties: { a: visibleTo({ type: "string" }, SUPPORT) } },
    result: { a: S },
    seen: {},
    redacted: ["a"],
  },
};

testShapes({ ...zod3Shapes, ...raw });
