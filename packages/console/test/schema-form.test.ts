import { expect, test } from "vitest";
import { z } from "zod";
import { type Draft, draftOf, readDraft } from "../src/schema-form/draft.ts";
import { shapeOf } from "../src/schema-form/field-shape.ts";

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
    { path: "mail", message: "Not a valid email" },
  ]);
  expect(readDraft(form, { code: "W1", mail: "ann@example.com" }).faults).toEqual([]);
});

test("a pattern that the browser cannot read is left to the runtime", () => {
  const form = shapeOf({ type: "object", properties: { a: { type: "string", pattern: "(?P<n>x)" } } });

  expect(readDraft(form, { a: "y" }).faults).toEqual([]);
});

test("an optional group requires its properties only if one is set", () => {
  const within = z.object({ address: z.object({ city: z.string().min(1), zip: z.string() }).optional() });
  expect(readDraft(formOf(within), { address: { city: "", zip: "" } })).toEqual({ value: {}, faults: [] });
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
  const loose = z.object({ tags: z.record(z.string(), z.number()), either: z.union([z.string(), z.number()]) });
  const given = readDraft(formOf(loose), { tags: '{"a": 1}', either: '"x"' });
  expect(given).toEqual({ value: { tags: { a: 1 }, either: "x" }, faults: [] });
  expect(readDraft(formOf(loose), { tags: "{", either: "2" }).faults).toMatchObject([{ path: "tags" }]);
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
