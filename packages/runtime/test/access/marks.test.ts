import { type } from "arktype";
import * as valibot from "valibot";
import { expect, test } from "vitest";
import { z } from "zod";
import { z as zod3 } from "zod3";
import { defineFunction, defineService, DefinitionError, visibleTo, type Schema } from "../../src/index.ts";
import { resultFor, SUPPORT } from "./result-of.ts";

const secret = visibleTo(z.string(), SUPPORT);
const mark = { "x-visible-to": SUPPORT };

function define(output: Schema, roles?: string[]) {
  const probe = {
    name: "probe",
    description: "x",
    input: z.object({}),
    roles: ["support"],
    handler: () => null as never,
  };
  return defineService({ name: "desk", functions: [defineFunction({ ...probe, output })], ...(roles && { roles }) });
}

const row = z.object({ note: secret });
const secret3 = visibleTo(zod3.string(), SUPPORT);

const lost: Record<string, Schema> = {
  "that is also before a transform": z.object({ row, copy: row.transform(({ note }) => ({ copied: note })) }),
  "that is also in a set": z.object({ secret, all: z.set(secret).transform((all) => [...all]) }),
  "that is also the key of a record": z.record(secret, row),
  "of zod 3 that is also before a transform": zod3.object({ secret3, copy: secret3.transform((text) => text) }),
  "before a transform": z.object({ a: secret }).transform(({ a }) => ({ b: a })),
  "before a pipe": z.object({ a: secret }).pipe(z.object({ a: z.string() })),
  "before a codec's output": z.codec(z.object({ a: secret }), z.string(), {
    decode: ({ a }) => a,
    encode: (a) => ({ a }),
  }),
  "in a map": z.map(z.string(), secret),
  "in a set": z.set(secret),
  "as the key of a record": z.record(secret, z.string()),
  "in a part of a text": z.templateLiteral(["a", secret]),
  "before a transform of zod 3": zod3.object({ a: visibleTo(zod3.string(), SUPPORT) }).transform(({ a }) => a),
  "in a map of zod 3": zod3.map(zod3.string(), visibleTo(zod3.string(), SUPPORT)),
  "in a JSON Schema's not": { type: "object", not: { properties: { a: mark } } },
  "as the schema of a name": { type: "object", propertyNames: mark },
};

test.each(Object.entries(lost))("a mark %s has no effect, and is a mistake", (_, output) => {
  expect(() => define(output)).toThrow(DefinitionError);
  expect(() => define(output)).toThrow(/mark for \["support"\] is at a place that cannot be followed to the result/);
});

test("a branch that does not match the value does not list its properties", async () => {
  const branch = (kind: string, more: object) => ({ type: "object", properties: { kind: { const: kind }, ...more } });
  const output = { anyOf: [branch("public", {}), branch("internal", { note: { type: "string", ...mark } })] };

  const seen = (kind: string) => resultFor("staff", output, { kind, note: "not to be seen" });
  expect(await seen("public")).toEqual({ ok: true, value: { kind: "public" } });
  expect(await seen("internal")).toEqual({ ok: true, value: { kind: "internal" }, redacted: ["note"] });
});

test("a mark in a schema of another library is a mistake", () => {
  const marked = z.object({ a: z.string().meta(mark) });

  for (const output of [
    z.toJSONSchema(marked),
    valibot.object({ a: valibot.pipe(valibot.string(), valibot.metadata(mark)) }),
  ])
    expect(() => define(output)).toThrow(/"x-visible-to" works in schemas of zod and in raw JSON Schema/);
  expect(() => define(valibot.object({ a: valibot.string() }))).not.toThrow();
});

test("a getter of zod 3 that returns a new schema each time can have marks", async () => {
  const output = zod3.lazy(() => zod3.object({ note: visibleTo(zod3.string(), SUPPORT) }));

  expect(await resultFor("staff", output, { note: "x" })).toEqual({ ok: true, value: {}, redacted: ["note"] });
});

test("a mark with a role that the service does not know is a mistake", () => {
  const output = z.object({ a: visibleTo(z.string(), ["suport"]) });

  expect(() => define(output, ["support"])).toThrow(
    'Service "desk": function "probe": a mark of its output names the role "suport", which is not among support.',
  );
  expect(() => define(output)).toThrow(/names the role "suport", which is not among support/);
  expect(() => define(z.object({ a: z.string().meta({ "x-visible-to": ["suport"] }) }))).toThrow(/"suport"/);
  expect(() => define(output, ["support", "suport"])).not.toThrow();
});

test.each<[unknown, RegExp]>([
  [[], /roles is empty/],
  ["support", /roles is missing/],
  ["everyone", /give a list of roles, or remove the mark/],
  [["everyone"], /is a role of that name/],
  [[7], /a role must be a string/],
])("marks for %j are refused in each library", (roles, message) => {
  expect(() => visibleTo(z.string(), roles as string[])).toThrow(message);
  expect(() => define(z.object({ a: z.string().meta({ "x-visible-to": roles }) }))).toThrow(DefinitionError);
  expect(() => define({ type: "object", properties: { a: { "x-visible-to": roles } } })).toThrow(DefinitionError);
});

test.each(["x-visible", "x-visibleTo", "x_visible_to", "X-Visible-To", "visible-to"])(
  "the misspelt keyword %s is a mistake",
  (keyword) => {
    expect(() => define({ type: "object", properties: { a: { [keyword]: SUPPORT } } })).toThrow(
      `at "a": unknown keyword "${keyword}". The keyword of a mark is "x-visible-to".`,
    );
    expect(() => define(z.object({ a: z.string().meta({ [keyword]: SUPPORT }) }))).toThrow(/unknown keyword/);
  },
);

test("a reference without a target in an output is a mistake", () => {
  const secret = { $anchor: "secret", ...mark };

  expect(() => define({ type: "object", properties: { a: { $ref: "#secret" } }, $defs: { secret } })).toThrow(
    /\$ref "#secret" at "a" has no target/,
  );
});

test("schemas of other libraries cannot be marked", () => {
  expect(() => visibleTo(type({ a: "string" }), SUPPORT)).toThrow(/zod 4, zod 3 and raw JSON Schema/);
});

test("visibleTo does not change its argument", async () => {
  const text = z.string().describe("a text");
  const marked = visibleTo(text, SUPPORT);

  expect(marked).not.toBe(text);
  expect(marked.description).toBe("a text");
  expect(await resultFor("staff", z.object({ a: text, b: marked }), { a: "1", b: "2" })).toEqual({
    ok: true,
    value: { a: "1" },
    redacted: ["b"],
  });
});

test("a mark on an argument has no effect and is not in the manifest", () => {
  const ticket = z.object({ title: z.string(), note: secret.meta(mark) });
  const { manifest } = defineFunction({
    name: "probe",
    description: "x",
    input: ticket,
    roles: "everyone",
    handler: () => null,
  });

  expect(JSON.stringify(manifest)).not.toContain("visible");
  expect(manifest.inputSchema).toMatchObject({ properties: { note: { type: "string" } } });
});

test("an infinite schema is refused only if it has marks", () => {
  const endless = (member: z.ZodType): z.ZodType => z.object({ member, next: z.lazy(() => endless(member)) });

  expect(() => define(endless(z.string()))).not.toThrow();
  expect(() => define(endless(secret))).toThrow(/is infinite/);
});
