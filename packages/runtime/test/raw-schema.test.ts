import type { JsonObject, JsonValue } from "@patchbay/kit";
import { describe, expect, test } from "vitest";
import { defineFunction, type RawSchema } from "../src/index.ts";
import { compileRawSchema } from "../src/schema/ajv.ts";
import { withDefaults, withFittingDefaults } from "../src/schema/defaults.ts";
import { dropUnlisted } from "../src/schema/unlisted.ts";
import { call, serviceOf } from "./calls.ts";

function define(input: RawSchema) {
  return defineFunction({ name: "probe", description: "Echoes.", input, roles: "everyone", handler: (given) => given });
}

describe("raw JSON Schema", () => {
  const address = {
    type: "object",
    properties: {
      zip: { type: "string", minLength: 5 },
      kind: { enum: ["home", "work"] },
      lines: { type: "array", items: { type: "object", properties: { text: { type: "string" } }, required: ["text"] } },
      labels: { type: "object", additionalProperties: { type: "string" } },
    },
    required: ["zip"],
  };

  test("reports every fault with its path", async () => {
    const outcome = await call(serviceOf(define(address)), "probe", { kind: "other", lines: [{ text: "a" }, {}] });

    expect(outcome).toMatchObject({ ok: false, code: "invalid_arguments", rule: "input" });
    const { message } = outcome as { message: string };
    expect(message).toContain("zip: is required");
    expect(message).toContain('kind: must be equal to one of the allowed values: ["home","work"]');
    expect(message).toContain("lines.1.text: is required");
  });

  test("refuses a value if the schema refers to itself without end", async () => {
    const $defs = { a: { allOf: [{ $ref: "#/$defs/a" }] } };
    const endless = { type: "object", $defs, properties: { one: { $ref: "#/$defs/a" } } };
    const outcome = await call(serviceOf(define(endless)), "probe", { one: 1 });

    expect(outcome).toMatchObject({ ok: false, code: "invalid_arguments", rule: "input" });
    expect((outcome as { message: string }).message).toContain("its schema refers to itself without end");
  });

  test("keeps unlisted properties of open objects for the handler, at every depth", async () => {
    const given = { zip: "12345", admin: true, lines: [{ text: "a", more: 1 }], labels: { any: "thing" } };

    expect(await call(serviceOf(define(address)), "probe", given)).toEqual({ ok: true, value: given });
  });

  test("treats an object with empty properties as open", async () => {
    const raw = { type: "object", properties: { data: { type: "object", properties: {} } } };
    const given = { data: { name: "John" } };

    expect(await call(serviceOf(define(raw)), "probe", given)).toEqual({ ok: true, value: given });
  });

  test("counts unlisted properties", async () => {
    const raw = { type: "object", properties: { a: {} }, minProperties: 2 };

    expect(await call(serviceOf(define(raw)), "probe", { a: 1, b: 2 })).toEqual({ ok: true, value: { a: 1, b: 2 } });
    expect(await call(serviceOf(define(raw)), "probe", { a: 1 })).toMatchObject({ code: "invalid_arguments" });
  });

  test.each([
    ["additionalProperties", { data: { type: "object", properties: { a: {} }, additionalProperties: false } }],
    ["unevaluatedProperties", { data: { allOf: [{ properties: { a: {} } }], unevaluatedProperties: false } }],
  ])("refuses unlisted properties by name if %s closes the object", async (_, properties) => {
    const outcome = await call(serviceOf(define({ type: "object", properties })), "probe", {
      data: { a: 1, name: "x" },
    });

    expect(outcome).toMatchObject({
      code: "invalid_arguments",
      message: "Invalid arguments: data.name: is not a property of the schema",
    });
  });

  test("may have the same $id in two functions", () => {
    const named = { $id: "https://example.com/input", type: "object" };

    expect(() => [define(named), define({ ...named, properties: { a: { type: "string" } } })]).not.toThrow();
  });

  test("drops unlisted properties of results", async () => {
    const output = {
      type: "object",
      properties: {
        who: { allOf: [{ $ref: "#/$defs/Named" }, { type: "object", properties: { age: { type: "number" } } }] },
        open: { type: "object", additionalProperties: true },
      },
      required: ["id"],
      $defs: { Named: { type: "object", properties: { name: { type: "string" } }, required: ["name"] } },
    };
    const result = { id: 1, secret: 2, who: { name: "a", age: 1, secret: 2 }, open: { any: 1 } };
    const given = {
      name: "probe",
      description: "Gives.",
      input: { type: "object" },
      output,
      roles: "everyone",
    } as const;

    expect(await call(serviceOf(defineFunction({ ...given, handler: () => result })), "probe", {})).toEqual({
      ok: true,
      value: { id: 1, who: { name: "a", age: 1 }, open: { any: 1 } },
    });
  });

  test("may be recursive while it drops properties", () => {
    const raw = {
      type: "object",
      properties: { node: { $ref: "#/$defs/Node" } },
      $defs: {
        Node: { anyOf: [{ $ref: "#/$defs/Node" }, { type: "object", properties: { next: { $ref: "#/$defs/Node" } } }] },
      },
    };

    expect(dropUnlisted(raw, { node: { next: { x: 1 } } })).toEqual({ node: { next: {} } });
  });
});

describe("defaults of raw JSON Schema", () => {
  const got = async (input: RawSchema, given: JsonObject) => {
    const parsed = await define({ type: "object", ...input }).parseInput(given);
    return parsed.ok ? parsed.value : parsed.faults;
  };

  test("are added for absent properties, at every depth", async () => {
    const page = { properties: { size: { type: "integer", default: 20 } } };
    const properties = {
      sort: { enum: ["asc", "desc"], default: "asc" },
      pages: { type: "array", items: { $ref: "#/$defs/page" } },
      filter: { allOf: [{ properties: { tags: { default: ["new"] } } }] },
    };

    expect(await got({ properties, $defs: { page } }, { pages: [{}, { size: 5 }], filter: {} })).toEqual({
      sort: "asc",
      pages: [{ size: 20 }, { size: 5 }],
      filter: { tags: ["new"] },
    });
  });

  test("that do not match the schema are skipped", async () => {
    const properties = { note: { type: "string", default: null }, size: { type: "integer", default: 20 } };

    expect(await got({ properties }, {})).toEqual({ size: 20 });
    expect(await got({ properties: { a: {}, b: { default: 1 } }, maxProperties: 1 }, { a: 0 })).toEqual({ a: 0 });
  });

  test("are decided for each item of a list", async () => {
    const row = { type: "object", properties: { a: {}, "b/~c": { default: 1 } } };
    const rows = (more: object) => ({ properties: { "r/~": { type: "array", items: { ...row, ...more } } } });
    const given = { "r/~": [{}, { a: 1 }, { a: 2 }] };

    expect(await got(rows({ maxProperties: 1 }), given)).toEqual({ "r/~": [{ "b/~c": 1 }, { a: 1 }, { a: 2 }] });
    const pairs = {
      type: "array",
      items: { properties: { of: row }, not: { properties: { of: { minProperties: 2 } } } },
    };
    expect(await got({ properties: { pairs } }, { pairs: [{ of: {} }, { of: { a: 1 } }] })).toEqual({
      pairs: [{ of: { "b/~c": 1 } }, { of: { a: 1 } }],
    });
    const unequal = { properties: { rows: { type: "array", items: row, uniqueItems: true } } };
    expect(await got(unequal, { rows: [{}, { "b/~c": 1 }] })).toEqual({ rows: [{}, { "b/~c": 1 }] });
    const node = {
      properties: { kids: { type: "array", items: { $ref: "#" } }, size: { default: 1 } },
      maxProperties: 2,
    };
    expect(await got(node, { kids: [{ kids: [], x: 1 }] })).toEqual({ kids: [{ kids: [], x: 1 }], size: 1 });
  });

  test.each<[string, JsonObject, number]>([
    ["fits", { properties: { a: { type: "string", default: "x" } } }, 1],
    ["does not fit its own schema", { properties: { a: { type: "string", default: null } } }, 2],
    ["is one member too many", { properties: { a: { default: 1 }, b: { default: 1 } }, maxProperties: 1 }, 5],
    [
      "is what a rule around it forbids",
      {
        properties: { of: { properties: { a: { default: 1 } } } },
        not: { properties: { of: { minProperties: 1 } }, required: ["of"] },
      },
      5,
    ],
  ])("need equally many checks for 1,000 and 2,000 items if a default %s", (_, items, checks) => {
    const schema = { type: "object", properties: { rows: { type: "array", items } } };
    const check = compileRawSchema(schema);
    const checksOf = (rows: number) => {
      let count = 0;
      const value = { rows: Array.from({ length: rows }, () => (items["not"] === undefined ? {} : { of: {} })) };
      withFittingDefaults(schema, value, (filled) => {
        count++;
        return check(filled).map(({ instancePath }) => instancePath);
      });
      return count;
    };

    expect([1000, 2000].map(checksOf)).toEqual([checks, checks]);
  });

  test("do not replace a required property, and branches of a choice add none", async () => {
    const properties = { size: { type: "integer", default: 20 } };

    expect(await got({ properties, required: ["size"] }, {})).toEqual([{ path: "size", message: "is required" }]);
    expect(await got({ properties: { a: { anyOf: [{ properties }, {}] } } }, { a: {} })).toEqual({ a: {} });
  });

  test("are added once to a value of a recursive schema, and do not change the schema", async () => {
    const node = { type: "object", properties: { next: { $ref: "#/$defs/node", default: {} } } };
    const input = { properties: { node: { $ref: "#/$defs/node" } }, $defs: { node } };

    expect(await got(input, { node: {} })).toEqual({ node: { next: {} } });
    expect(await got(input, { node: { next: {} } })).toEqual({ node: { next: { next: {} } } });
  });

  test("are passed to authorize, too", async () => {
    const seen: unknown[] = [];
    const definition = defineFunction({
      name: "probe",
      description: "Echoes.",
      input: { type: "object", properties: { scope: { type: "string", default: "own" } } },
      roles: "everyone",
      authorize: ({ input }) => seen.push(input) > 0,
      handler: (given) => given,
    });

    expect(await call(serviceOf(definition), "probe", { more: 1 })).toMatchObject({ value: { more: 1, scope: "own" } });
    expect(seen).toEqual([{ more: 1, scope: "own" }]);
  });
});

describe("work per value", () => {
  test.each<[string, (schema: JsonObject, value: JsonValue) => void]>([
    ["dropping unlisted members", dropUnlisted],
    ["adding defaults", (schema, value) => withDefaults(schema, value, () => true)],
  ])("%s enters a schema with two references once per level", (_, work) => {
    const entriesOf = (depth: number) => {
      let entries = 0;
      const schema = {
        allOf: [{ properties: { next: { $ref: "#" } } }],
        get properties() {
          entries++;
          return { next: { $ref: "#" } };
        },
      };
      work(
        schema,
        Array.from({ length: depth }).reduce<JsonObject>((next) => ({ next }), {}),
      );
      return entries;
    };
    const [four, eight, twelve] = [4, 8, 12].map(entriesOf) as [number, number, number];

    expect(four).toBeGreaterThan(0);
    expect(twelve - eight).toBe(eight - four);
  });

  test("uniqueItems reads each item once", () => {
    const check = compileRawSchema({ type: "array", uniqueItems: true });
    const readsOf = (rows: number) => {
      let reads = 0;
      const item = (id: number) => ({
        get id() {
          reads++;
          return id;
        },
      });
      expect(check(Array.from({ length: rows }, (_, id) => item(id)))).toEqual([]);
      return reads;
    };

    expect([1000, 2000].map(readsOf)).toEqual([1000, 2000]);
  });

  test("uniqueItems compares items independent of the order of their properties", async () => {
    const list = { type: "array", uniqueItems: true };
    const given = { list: [{ a: 1, b: 2 }, 1, "1", { b: 2, a: 1 }] };

    expect(await call(serviceOf(define({ type: "object", properties: { list } })), "probe", given)).toMatchObject({
      message: "Invalid arguments: list: must NOT have duplicate items (items ## 0 and 3 are identical)",
    });
    const open = { type: "object", properties: { list: { ...list, uniqueItems: false } } };
    expect(await call(serviceOf(define(open)), "probe", given)).toMatchObject({ ok: true });
  });
});
