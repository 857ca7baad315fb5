import type { JsonObject } from "@patchbay/protocol";
import { describe, expect, test } from "vitest";
import { defineFunction, type RawSchema } from "../src/index.ts";
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

  test("tells every fault with its path", async () => {
    const outcome = await call(serviceOf(define(address)), "probe", { kind: "other", lines: [{ text: "a" }, {}] });

    expect(outcome).toMatchObject({ ok: false, code: "invalid_arguments", rule: "input" });
    const { message } = outcome as { message: string };
    expect(message).toContain("zip: is required");
    expect(message).toContain('kind: must be equal to one of the allowed values: ["home","work"]');
    expect(message).toContain("lines.1.text: is required");
  });

  test("gives the handler members that an open object does not list, at every depth", async () => {
    const given = { zip: "12345", admin: true, lines: [{ text: "a", more: 1 }], labels: { any: "thing" } };

    expect(await call(serviceOf(define(address)), "probe", given)).toEqual({ ok: true, value: given });
  });

  test("takes an object with an empty list of members as open", async () => {
    const raw = { type: "object", properties: { data: { type: "object", properties: {} } } };
    const given = { data: { name: "John" } };

    expect(await call(serviceOf(define(raw)), "probe", given)).toEqual({ ok: true, value: given });
  });

  test("counts members that it does not list", async () => {
    const raw = { type: "object", properties: { a: {} }, minProperties: 2 };

    expect(await call(serviceOf(define(raw)), "probe", { a: 1, b: 2 })).toEqual({ ok: true, value: { a: 1, b: 2 } });
    expect(await call(serviceOf(define(raw)), "probe", { a: 1 })).toMatchObject({ code: "invalid_arguments" });
  });

  test.each([
    ["additionalProperties", { data: { type: "object", properties: { a: {} }, additionalProperties: false } }],
    ["unevaluatedProperties", { data: { allOf: [{ properties: { a: {} } }], unevaluatedProperties: false } }],
  ])("refuses unlisted members by name where %s closes the object", async (_, properties) => {
    const outcome = await call(serviceOf(define({ type: "object", properties })), "probe", {
      data: { a: 1, name: "x" },
    });

    expect(outcome).toMatchObject({
      code: "invalid_arguments",
      message: "Invalid arguments: data.name: is not a member of the schema",
    });
  });

  test("may carry the same $id in two functions", () => {
    const named = { $id: "https://example.com/input", type: "object" };

    expect(() => [define(named), define({ ...named, properties: { a: { type: "string" } } })]).not.toThrow();
  });

  test("drops unlisted members of results, as before", async () => {
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

  test("may refer to itself while it drops", () => {
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

  test("are added where a member is left out, at every depth", async () => {
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

  test("that do not fit the schema are not added, and the others are", async () => {
    const properties = { note: { type: "string", default: null }, size: { type: "integer", default: 20 } };

    expect(await got({ properties }, {})).toEqual({ size: 20 });
    expect(await got({ properties: { a: {}, b: { default: 1 } }, maxProperties: 1 }, { a: 0 })).toEqual({ a: 0 });
  });

  test("do not stand in for a required member, and branches of a choice add none", async () => {
    const properties = { size: { type: "integer", default: 20 } };

    expect(await got({ properties, required: ["size"] }, {})).toEqual([{ path: "size", message: "is required" }]);
    expect(await got({ properties: { a: { anyOf: [{ properties }, {}] } } }, { a: {} })).toEqual({ a: {} });
  });

  test("are added once to a value of a recursive schema, and leave the schema as it is", async () => {
    const node = { type: "object", properties: { next: { $ref: "#/$defs/node", default: {} } } };
    const input = { properties: { node: { $ref: "#/$defs/node" } }, $defs: { node } };

    expect(await got(input, { node: {} })).toEqual({ node: { next: {} } });
    expect(await got(input, { node: { next: {} } })).toEqual({ node: { next: { next: {} } } });
  });

  test("reach authorize too", async () => {
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
