import { expect, test } from "vitest";
import { z } from "zod";
import { type Draft, draftOf, readDraft } from "../src/parts/schema-form/draft.ts";
import { shapeOf } from "../src/parts/schema-form/field-shape.ts";

/** The form of a schema in the form in which a runtime sends it. */
const formOf = (schema: z.ZodType) => shapeOf(z.toJSONSchema(schema, { io: "input" }));

const order = z.object({
  orderId: z.string().min(3).describe("Id of the order"),
  note: z.string().optional(),
  count: z.number().int().min(1).max(9),
  express: z.boolean(),
  reason: z.enum(["broken", "late"]).optional(),
  items: z.array(z.string()).min(1),
  address: z.object({ city: z.string(), zip: z.string().optional() }).optional(),
  score: z.number().nullable(),
});
const shape = formOf(order);
const filled: Draft = {
  orderId: "W123",
  note: "",
  count: "2",
  express: "true",
  items: ["a", "b"],
  score: "",
};

test("a completed form gives arguments that match the schema", () => {
  const { value, faults } = readDraft(shape, filled);
  expect(faults).toEqual([]);
  expect(value).toEqual({ orderId: "W123", count: 2, express: true, items: ["a", "b"], score: null });
  expect(order.safeParse(value).success).toBe(true);
});

test("an empty form has a fault for each required field, by path, and none for optional ones", () => {
  const { faults } = readDraft(shape, undefined);
  expect(faults.map(({ path }) => path)).toEqual(["orderId", "count", "express", "items"]);
});

test.each([
  ["count", "0", "At least 1"],
  ["count", "10", "At most 9"],
  ["count", "1.5", "Enter a whole number"],
  ["count", "two", "Enter a number, for example 12.5"],
  ["orderId", "W1", "At least 3 characters"],
])("%s: %j is a fault: %s", (name, typed, message) => {
  expect(readDraft(shape, { ...filled, [name]: typed }).faults).toEqual([{ path: name, message }]);
});

test("an empty text is a fault if it is required, and shown as JSON if it is given", () => {
  const form = formOf(z.object({ orderId: z.string() }));

  expect(readDraft(form, { orderId: "" }).faults).toEqual([
    { path: "orderId", message: "Required. To send an empty string, use JSON" },
  ]);
  expect(draftOf(form, { orderId: "" }).unfit).toBe("orderId");
});

test("a text must match the pattern of its schema", () => {
  const form = formOf(z.object({ code: z.string().regex(/^W\d+$/), mail: z.email() }));

  expect(readDraft(form, { code: "X1", mail: "ann" }).faults).toEqual([
    { path: "code", message: "Must match ^W\\d+$" },
    { path: "mail", message: "Not a valid email, for example ann@example.com" },
  ]);
  expect(readDraft(form, { code: "W1", mail: "ann@example.com" }).faults).toEqual([]);
});

test("a pattern that the browser cannot read is left to the runtime", () => {
  const form = shapeOf({ type: "object", properties: { a: { type: "string", pattern: "(?P<n>x)" } } });

  expect(readDraft(form, { a: "y" }).faults).toEqual([]);
});

test("an optional group requires its properties only once it is set", () => {
  const within = z.object({ address: z.object({ city: z.string().min(1), zip: z.string() }).optional() });
  expect(readDraft(formOf(within), {})).toEqual({ value: {}, faults: [] });
  expect(readDraft(formOf(within), { address: { zip: "04401" } }).faults).toEqual([
    { path: "address.city", message: "Required" },
  ]);
});

test.each([
  [{ orderId: "W123", count: 1, express: false, items: ["a"], score: 1.5, address: { city: "Bangor" } }, undefined],
  [{ orderId: "W123", count: 1, express: false, items: ["a"], score: 1.5, extra: 1 }, "extra"],
  [{ orderId: "W123", count: 1, express: false, items: ["a"], score: 1.5, note: "" }, "note"],
  [{ orderId: "W123", count: "1", express: false, items: ["a"], score: 1.5 }, "count"],
  [{ orderId: "W123", count: 1, express: false, items: "a", score: 1.5 }, "items"],
])("JSON converts to the form only without loss: %j", (value, unfit) => {
  const form = draftOf(shape, value);
  expect(form.unfit).toBe(unfit);
  if (unfit === undefined) expect(readDraft(shape, form.draft).value).toEqual(value);
});

test("a value without a form field is entered as JSON", () => {
  const loose = z.object({ pair: z.tuple([z.string(), z.number()]), any: z.unknown() });
  const given = readDraft(formOf(loose), { pair: '["a", 1]', any: '"x"' });
  expect(given).toEqual({ value: { pair: ["a", 1], any: "x" }, faults: [] });
  expect(readDraft(formOf(loose), { pair: "[", any: "2" }).faults).toMatchObject([{ path: "pair" }]);
});

const payment = z.object({
  by: z.discriminatedUnion("type", [
    z.object({ type: z.literal("card"), number: z.string().min(4) }),
    z.object({ type: z.literal("invoice"), days: z.number().int() }),
  ]),
  size: z.union([z.string().regex(/^[SML]$/), z.number()]).optional(),
});

test("a union is a choice by its constant property, which has no field of its own", () => {
  const form = formOf(payment);
  expect(form).toMatchObject({
    properties: [
      { name: "by", shape: { kind: "union", options: [{ label: "card" }, { label: "invoice" }] } },
      { name: "size", shape: { kind: "union", options: [{ label: "text" }, { label: "number" }] } },
    ],
  });

  expect(readDraft(form, {}).faults).toEqual([{ path: "by", message: "Choose one" }]);
  expect(readDraft(form, { by: { option: "1" } }).faults).toEqual([{ path: "by.days", message: "Required" }]);
  const value = { by: { type: "invoice", days: 30 }, size: 4 };
  const drafted = draftOf(form, value);
  expect(drafted).toEqual({
    draft: { by: { option: "1", value: { type: undefined, days: "30" } }, size: { option: "1", value: "4" } },
    unfit: undefined,
  });
  expect(readDraft(form, drafted.draft)).toEqual({ value, faults: [] });
  expect(draftOf(form, { by: { type: "cash" } }).unfit).toBe("by");
});

test("a union at the root is a form, too", () => {
  const form = formOf(z.discriminatedUnion("on", [z.object({ on: z.literal("a") }), z.object({ on: z.literal("b") })]));

  expect(readDraft(form, { option: "1" }).value).toEqual({ on: "b" });
});

test("a nullable group is null until it is set, and an optional one can be left out, null or set", () => {
  const group = z.object({ city: z.string() }).nullable();
  const form = formOf(z.object({ to: group, from: group.optional() }));

  expect(readDraft(form, {})).toEqual({ value: { to: null }, faults: [] });
  for (const value of [{ to: null, from: null }, { to: { city: "Rome" } }, { to: null, from: { city: "Oslo" } }]) {
    const { draft, unfit } = draftOf(form, value);
    expect([unfit, readDraft(form, draft)]).toEqual([undefined, { value, faults: [] }]);
  }
});

test("a record has typed names, each of them once and by their pattern", () => {
  const form = formOf(z.object({ tags: z.record(z.string().regex(/^[a-z]+$/), z.number()) }));
  const value = { tags: { a: 1, b: 2 } };
  const { draft, unfit } = draftOf(form, value);

  expect([unfit, readDraft(form, draft)]).toEqual([undefined, { value, faults: [] }]);
  const entries = [
    { name: "a", value: "1" },
    { name: "a", value: "2" },
    { name: "", value: "x" },
    { name: "B", value: "3" },
  ];
  expect(readDraft(form, { tags: entries }).faults).toEqual([
    { path: "tags.1#", message: "“a” is used twice" },
    { path: "tags.2#", message: "Enter a name" },
    { path: "tags.2", message: "Enter a number, for example 12.5" },
    { path: "tags.3#", message: "The name must match ^[a-z]+$" },
  ]);
});

test("a record of known names is a group", () => {
  const form = formOf(z.object({ stock: z.record(z.enum(["s", "m"]), z.number()) }));

  expect(readDraft(form, { stock: { s: "1" } })).toEqual({
    value: { stock: { s: 1 } },
    faults: [{ path: "stock.m", message: "Required" }],
  });
});

test.each([
  [{ type: "string", format: "date" }, "2026-02-30x", "Not a valid date, for example 2026-12-31"],
  [{ type: "string", format: "date-time" }, "tomorrow", "Not a valid date-time, for example 2026-12-31T23:59:00Z"],
  [{ type: "string", format: "uri" }, "example", "Not a valid uri, for example https://example.com/page"],
  [{ type: "string", format: "uuid" }, "1", "Not a valid uuid, for example 123e4567-e89b-12d3-a456-426614174000"],
  [{ type: "string", format: "our-own" }, "x", undefined],
  [{ type: "number", exclusiveMinimum: 0 }, "0", "More than 0"],
  [{ type: "number", multipleOf: 0.1 }, "0.3", undefined],
  [{ type: "integer", multipleOf: 5 }, "7", "Must be a multiple of 5"],
])("%j: %j is %s", (schema, typed, message) => {
  const form = shapeOf({ type: "object", properties: { a: schema }, required: ["a"] });

  expect(readDraft(form, { a: typed }).faults).toEqual(message === undefined ? [] : [{ path: "a", message }]);
});

test.each(["#/%zz", "#/%", "#/$defs/none", "#/toString", "https://example.com/schema", 7])(
  "the value of an unresolvable reference to %j is entered as JSON",
  ($ref) => {
    const shape = shapeOf({ type: "object", properties: { q: { $ref } } });
    expect(shape).toMatchObject({ kind: "group", properties: [{ name: "q", shape: { kind: "json" } }] });
  },
);

test("a recursive schema becomes JSON at a limited depth", () => {
  interface Tree {
    name: string;
    children: Tree[];
  }
  const tree: z.ZodType<Tree> = z.lazy(() => z.object({ name: z.string(), children: z.array(tree) }));
  const value = { root: { name: "a", children: [{ name: "b", children: [] }] } };
  const form = draftOf(formOf(z.object({ root: tree })), value);
  expect(form.unfit).toBeUndefined();
});

test("a property named like an inherited one is read as an own property", () => {
  const odd = shapeOf({ type: "object", properties: { constructor: { type: "string" } }, required: ["constructor"] });
  expect(readDraft(odd, { constructor: "a" }).value).toEqual({ constructor: "a" });
  expect(readDraft(odd, {}).faults).toEqual([
    { path: "constructor", message: "Required. To send an empty string, use JSON" },
  ]);
});
