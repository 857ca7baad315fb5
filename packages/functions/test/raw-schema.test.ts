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

  test("drops members that it does not list, at every depth, and keeps those it speaks of", async () => {
    const given = { zip: "12345", admin: true, lines: [{ text: "a", more: 1 }], labels: { any: "thing" } };

    expect(await call(serviceOf(define(address)), "probe", given)).toEqual({
      ok: true,
      value: { zip: "12345", lines: [{ text: "a" }], labels: { any: "thing" } },
    });
  });

  test("refuses unlisted members where it says so", async () => {
    const closed = { type: "object", properties: {}, additionalProperties: false };

    expect(await call(serviceOf(define(closed)), "probe", { x: 1 })).toMatchObject({
      code: "invalid_arguments",
      message: "Invalid arguments: x: is not a member of the schema",
    });
  });

  test("follows references and compositions when it drops", async () => {
    const composed = {
      type: "object",
      properties: {
        who: { allOf: [{ $ref: "#/$defs/Named" }, { type: "object", properties: { age: { type: "number" } } }] },
      },
      $defs: { Named: { type: "object", properties: { name: { type: "string" } }, required: ["name"] } },
    };

    expect(await call(serviceOf(define(composed)), "probe", { who: { name: "a", age: 1, x: 2 } })).toEqual({
      ok: true,
      value: { who: { name: "a", age: 1 } },
    });
  });

  test("keeps what it requires without listing it", async () => {
    const raw = { type: "object", properties: { a: {} }, required: ["b"] };

    expect(await call(serviceOf(define(raw)), "probe", { a: 1, b: 2, c: 3 })).toEqual({
      ok: true,
      value: { a: 1, b: 2 },
    });
  });

  test("may refer to itself while it drops", async () => {
    const raw = {
      type: "object",
      properties: { node: { $ref: "#/$defs/Node" } },
      $defs: {
        Node: { anyOf: [{ $ref: "#/$defs/Node" }, { type: "object", properties: { next: { $ref: "#/$defs/Node" } } }] },
      },
    };
    const { parseInput } = define({
      ...raw,
      $defs: { Node: { type: "object", properties: { next: { $ref: "#/$defs/Node" } } } },
    });

    expect(await parseInput({ node: { next: { next: {}, x: 1 } } })).toEqual({
      ok: true,
      value: { node: { next: { next: {} } } },
    });
    expect(dropUnlisted(raw, { node: { next: { x: 1 } } })).toEqual({ node: { next: {} } });
  });

  test("may carry the same $id in two functions", () => {
    const named = { $id: "https://example.com/input", type: "object" };

    expect(() => [define(named), define({ ...named, properties: { a: { type: "string" } } })]).not.toThrow();
  });
});
