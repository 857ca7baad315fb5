import { expect, test } from "vitest";
import { defineFunction, defineService, type JsonObject, visibleTo } from "../src/index.ts";
import { createParser } from "../src/schema/parser.ts";
import { createProtection } from "../src/redaction/protection.ts";

const text = (pattern: string) => ({ type: "object", properties: { a: { type: "string", pattern } } });
const parse = (schema: JsonObject, value: unknown, side: "input" | "output" = "input") =>
  createParser(schema, side, "probe")(value);
const invalid = { ok: false, faults: [expect.objectContaining({ path: "a" })] };
const stopped = { ok: false, faults: [{ path: "", message: expect.stringContaining("need more than 5000000 steps") }] };

test.each(["^(a+)+$", "^(a|a)*$", "^(.*)*$", "^(?!.*b)([a-z]+)*$"])(
  "a pattern that takes a backtracking engine years is matched in arguments and results: %s",
  async (pattern) => {
    const [long, schema] = [`${"a".repeat(5_000)}!\n`, text(pattern)];
    expect(await parse(schema, { a: long })).toMatchObject(invalid);
    expect(await parse(schema, { a: "aaaa" })).toEqual({ ok: true, value: { a: "aaaa" } });
    expect(await parse(schema, { a: long }, "output")).toMatchObject(invalid);
  },
);

test("names of properties are matched in the same way, in arguments, results and redaction", async () => {
  const long = `${"a".repeat(5_000)}!`;
  const schema = { type: "object", patternProperties: { "^(a+)+$": { type: "number" } }, additionalProperties: false };
  expect(await parse(schema, { [long]: 1 })).toMatchObject({ ok: false });
  expect(await parse(schema, { aa: 1 })).toEqual({ ok: true, value: { aa: 1 } });
  const open = { type: "object", properties: {}, patternProperties: { "^(a+)+$": { type: "number" } } };
  expect(await parse(open, { [long]: 1, aa: 1 }, "output")).toEqual({ ok: true, value: { aa: 1 } });
  const marked = { type: "object", patternProperties: { "^(a+)+$": visibleTo({ type: "number" }, ["manager"]) } };
  const redacted = createProtection(marked, "probe")!.redact({ [long]: 1, aa: 1 }, "agent");
  expect(redacted.value).toEqual({ [long]: 1 });
});

test("each property has its own pattern", async () => {
  const schema = { type: "object", properties: { a: { pattern: "^x$" }, b: { pattern: "^y$" } } };
  expect(await parse(schema, { a: "x", b: "y" })).toMatchObject({ ok: true });
  expect(await parse(schema, { a: "x", b: "x" })).toMatchObject({ ok: false, faults: [{ path: "b" }] });
});

test("all texts of a validation share its steps", async () => {
  const schema = { type: "object", properties: { a: { type: "array", items: { pattern: "^(a?){900}$" } } } };
  const items = (count: number) => ({ a: Array.from({ length: count }, () => "a".repeat(800)) });
  expect(await parse(schema, items(1))).toMatchObject({ ok: true });
  expect(await parse(schema, items(50))).toEqual(stopped);
  expect(await parse(schema, items(50), "output")).toEqual(stopped);
  // The next validation has its own.
  expect(await parse(schema, items(1))).toMatchObject({ ok: true });
});

test.each([
  ["^(a+)\\1$", "contains a back reference, which cannot be matched in bounded time"],
  ["(?<=a)b", "contains a look-behind or a modifier, which cannot be matched in bounded time"],
  ["^(a{1000}){1000}$", "is too large"],
])("a definition with the pattern %s is refused with its place", (pattern, reason) => {
  const base = { name: "probe", description: "x", roles: "everyone" as const, handler: () => null };
  expect(() => defineFunction({ ...base, input: text(pattern) })).toThrow(
    `at "a": the pattern "${pattern.replaceAll("\\", "\\\\")}" ${reason}`,
  );
  expect(() => defineFunction({ ...base, input: { type: "object" }, output: text(pattern) })).toThrow(reason);
  const service = { name: "desk", functions: [] };
  expect(() => defineService({ ...service, context: text(pattern) })).toThrow(reason);
});

test("a schema with more levels than a frame is refused", () => {
  const nested = JSON.parse(
    `${'{"type":"object","properties":{"a":'.repeat(300)}{"type":"string"}${"}}".repeat(300)}`,
  ) as JsonObject;
  const define = () =>
    defineFunction({ name: "probe", description: "x", roles: "everyone", input: nested, handler: () => null });
  expect(define).toThrow("the JSON Schema nests 601 levels, which exceed the limit of 64");
});
