import { expect, test } from "vitest";
import { z } from "zod";
import * as mini from "zod/mini";
import { visibleTo } from "../../src/index.ts";
import { resultFor, SUPPORT } from "./result-of.ts";
import { events, S, seenTree, testShapes, tree, treePaths, type Shape } from "./shapes.ts";

const secret = visibleTo(z.string(), SUPPORT);
const mark = { "x-visible-to": SUPPORT };

const Node: z.ZodType = z.object({
  name: z.string(),
  note: secret,
  get children() {
    return z.array(Node);
  },
});
const open = z.object({ kind: z.literal("open"), text: z.string() });
const closed = z.object({ kind: z.literal("closed"), text: secret });
const shapes: Record<string, Shape> = {
  "a property": {
    output: z.object({ a: z.string(), b: secret }),
    result: { a: "1", b: S },
    seen: { a: "1" },
    redacted: ["b"],
  },
  "a nested property": {
    output: z.object({ a: z.object({ b: z.object({ c: secret, d: z.int() }) }) }),
    result: { a: { b: { c: S, d: 1 } } },
    seen: { a: { b: { d: 1 } } },
    redacted: ["a.b.c"],
  },
  "a whole object": {
    output: z.object({ a: visibleTo(z.object({ b: z.string() }), SUPPORT) }),
    result: { a: { b: S } },
    seen: {},
    redacted: ["a"],
  },
  "a property of each item": {
    output: z.array(z.object({ a: z.int(), b: secret })),
    result: [
      { a: 1, b: S },
      { a: 2, b: S },
    ],
    seen: [{ a: 1 }, { a: 2 }],
    redacted: ["[].b"],
  },
  "every item": { output: z.object({ a: z.array(secret) }), result: { a: [S, S] }, seen: { a: [] }, redacted: ["a[]"] },
  "an item of a tuple": {
    output: z.tuple([z.string(), secret, z.string()], secret),
    result: ["1", S, "3", S],
    seen: ["1", null, "3"],
    redacted: ["[1]", "[]"],
  },
  "the entries of a record": {
    output: z.object({ byName: z.record(z.string(), secret) }),
    result: { byName: { [S]: S } },
    seen: { byName: {} },
    redacted: ["byName.*"],
  },
  "a property of a record's values": {
    output: z.record(z.string(), z.object({ a: z.int(), b: secret })),
    result: { x: { a: 1, b: S } },
    seen: { x: { a: 1 } },
    redacted: ["*.b"],
  },
  "the properties of a catchall": {
    output: z.object({ a: z.string() }).catchall(secret),
    result: { a: "1", more: S },
    seen: { a: "1" },
    redacted: ["*"],
  },
  "an optional, nullable or defaulted property": {
    output: z.object({
      a: secret.optional(),
      b: secret.nullable(),
      c: secret.default(S),
      d: secret.nullish().readonly(),
      e: secret.catch(S),
      f: visibleTo(z.string().optional(), SUPPORT),
    }),
    result: { a: S, b: null, d: S, e: 7, f: S },
    seen: {},
    redacted: ["a", "b", "c", "d", "e", "f"],
  },
  "a property of one branch with a distinguishing tag": {
    output: z.array(z.discriminatedUnion("kind", [open, closed])),
    result: events,
    seen: [{ kind: "open", text: "hello" }, { kind: "closed" }],
    redacted: ["[].text"],
  },
  "a whole branch": {
    output: z.array(z.union([open, visibleTo(closed, SUPPORT)])),
    result: events,
    seen: [{ kind: "open", text: "hello" }],
    redacted: ["[]"],
  },
  "a property that is marked in any branch": {
    output: z.union([z.object({ a: z.string() }), z.object({ a: secret, b: z.string().optional() })]),
    result: { a: S },
    seen: {},
    redacted: ["a"],
  },
  "a branch of another type of value is ignored": {
    output: z.array(z.union([secret, z.int()])),
    result: [S, 5],
    seen: [5],
    redacted: ["[]"],
  },
  "a side of an intersection": {
    output: z.intersection(z.object({ a: z.string() }), z.object({ b: secret })),
    result: { a: "1", b: S },
    seen: { a: "1" },
    redacted: ["b"],
  },
  "a property that one side of an intersection does not mark": {
    output: z.intersection(z.object({ a: z.string() }), z.object({ a: secret })),
    result: { a: S },
    seen: {},
    redacted: ["a"],
  },
  "a recursive schema": { output: Node, result: tree, seen: seenTree, redacted: treePaths },
  "a lazy schema": { output: z.lazy(() => z.object({ a: secret })), result: { a: S }, seen: {}, redacted: ["a"] },
  "a marked transform": {
    output: z.object({
      a: visibleTo(
        z.string().transform((text) => text.split(",")),
        SUPPORT,
      ),
    }),
    result: { a: `${S},${S}` },
    seen: {},
    redacted: ["a"],
  },
  "the output of a pipe": {
    output: z.object({
      a: z
        .string()
        .transform((text) => ({ text }))
        .pipe(z.object({ text: secret })),
    }),
    result: { a: S },
    seen: { a: {} },
    redacted: ["a.text"],
  },
  "a mark in the metadata": {
    output: z.object({ a: z.string().meta({ description: "x", ...mark }), b: z.string().meta(mark).optional() }),
    result: { a: S, b: S },
    seen: {},
    redacted: ["a", "b"],
  },
  "a mark before chained methods": {
    output: z.object({
      a: visibleTo(z.string(), SUPPORT).min(1).max(99).describe("a text").trim(),
      b: visibleTo(z.object({ x: z.string() }), SUPPORT)
        .extend({ y: z.string().optional() })
        .partial(),
      c: secret.refine(() => true).brand("C"),
    }),
    result: { a: S, b: { x: S }, c: S },
    seen: {},
    redacted: ["a", "b", "c"],
  },
  "a name with special characters": {
    output: z.object({ "a.b": secret, "": z.object({ constructor: secret }) }),
    result: { "a.b": S, "": { constructor: S } },
    seen: { "": {} },
    redacted: ['["a.b"]', '[""].constructor'],
  },
  "zod mini": {
    output: mini.object({
      a: mini.string(),
      b: mini.optional(visibleTo(mini.string(), SUPPORT).check(mini.minLength(1))),
    }),
    result: { a: "1", b: S },
    seen: { a: "1" },
    redacted: ["b"],
  },
  "the whole result": { output: secret, result: S, seen: null, redacted: ["$"] },
};

testShapes(shapes);

test("a part with two marks is visible to the roles in both", async () => {
  const both = visibleTo(visibleTo(z.string(), ["support", "admin"]), ["staff", "admin"]);
  const inside = z.object({ a: visibleTo(z.object({ b: visibleTo(z.string(), ["admin"]) }), SUPPORT) });

  for (const role of ["staff", "support"]) expect(await resultFor(role, both, S)).toMatchObject({ value: null });
  expect(await resultFor("admin", both, S)).toEqual({ ok: true, value: S });
  expect(await resultFor("support", inside, { a: { b: S } })).toEqual({
    ok: true,
    value: { a: {} },
    redacted: ["a.b"],
  });
  expect(await resultFor("admin", inside, { a: { b: S } })).toMatchObject({ value: {}, redacted: ["a"] });
});

test("a restricted field is removed even if it is null", async () => {
  const zod = z.object({ a: z.union([secret, z.null()]) });
  const raw = { type: "object", properties: { a: { anyOf: [{ type: "string", ...mark }, { type: "null" }] } } };

  for (const output of [zod, raw])
    expect(await resultFor("staff", output, { a: null })).toEqual({ ok: true, value: {}, redacted: ["a"] });
});

test("the size limit applies to the redacted result", async () => {
  const output = z.object({ a: z.string(), log: secret });
  const result = { a: "1", log: "x".repeat(300 * 1024) };

  expect(await resultFor("staff", output, result)).toEqual({ ok: true, value: { a: "1" }, redacted: ["log"] });
  expect(await resultFor("support", output, result)).toMatchObject({ code: "result_too_large" });
});

test("at most 100 removed paths are reported", async () => {
  const members = Object.fromEntries(Array.from({ length: 150 }, (_, i) => [`m${i}`, secret]));
  const outcome = await resultFor(
    "staff",
    z.object(members),
    Object.fromEntries(Object.keys(members).map((m) => [m, S])),
  );

  expect(outcome).toMatchObject({ ok: true, value: {} });
  expect(outcome.ok && outcome.redacted).toHaveLength(100);
});
