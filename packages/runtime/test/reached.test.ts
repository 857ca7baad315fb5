import type { JsonValue } from "@patchbay/kit";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { z as zod3 } from "zod3";
import { defineFunction, FunctionError, type Schema } from "../src/index.ts";
import { argumentsReached } from "../src/gate.ts";
import { encodeResult } from "../src/connection/frames.ts";
import { invocationOf, memoryLog, serviceOf } from "./calls.ts";

/** The arguments that the gate reports with onReached. Undefined without a report. */
async function reached(input: Schema, given: JsonValue, handler: (input: never) => unknown = () => 1) {
  const said: JsonValue[] = [];
  const probe = defineFunction({
    name: "probe",
    description: "Probes.",
    input,
    roles: "everyone",
    handler: handler as () => unknown,
  });
  const options = {
    signal: new AbortController().signal,
    log: memoryLog(),
    onReached: (input: JsonValue) => void said.push(input),
  };
  const outcome = await serviceOf(probe).invoke(invocationOf("probe", given), options);
  return { outcome, said };
}

describe("the record of a call's arguments", () => {
  const order = { type: "object", properties: { id: { type: "string" }, copies: { type: "integer", default: 1 } } };

  test.each<[string, Schema, JsonValue, JsonValue]>([
    ["defaults of raw JSON Schema", order, { id: "1", note: "x" }, { id: "1", note: "x", copies: 1 }],
    [
      "members that zod dropped",
      z.object({ in: z.object({ a: z.int() }) }),
      { in: { a: 1, b: 2 }, c: 3 },
      { in: { a: 1 } },
    ],
    ["members that zod 3 dropped", zod3.object({ a: zod3.number() }), { a: 1, b: 2 }, { a: 1 }],
    [
      "defaults of zod",
      z.object({ list: z.array(z.object({ n: z.int().default(2) })) }),
      { list: [{}] },
      { list: [{ n: 2 }] },
    ],
    ["members of a function without arguments", z.object({}), { a: 1 }, {}],
  ])("shows %s", async (_, schema, given, shown) => {
    expect((await reached(schema, given)).said).toEqual([shown]);
  });

  test.each<[string, Schema, JsonValue]>([
    ["nothing was changed", z.object({ a: z.int() }), { a: 1 }],
    ["an open object keeps what it does not list", z.looseObject({ a: z.int() }), { a: 1, b: 2 }],
    ["a value is converted", z.object({ at: z.coerce.date() }), { at: "2026-01-02" }],
    ["the arguments are refused", z.strictObject({}), { a: 1 }],
    ["members are renamed", z.object({ id: z.string() }).transform(({ id }) => ({ orderId: id })), { id: "1" }],
  ])("has the arguments as sent if %s", async (_, schema, given) => {
    expect((await reached(schema, given)).said).toEqual([]);
  });

  test("never shows the result of a transform, or a computed default", async () => {
    let n = 0;
    const input = z.object({
      id: z.string().transform((id) => ({ id, secret: "SECRET" })),
      key: z.string().default(() => `made ${n++}`),
      more: z
        .string()
        .default("x")
        .transform(() => "SECRET"),
      page: z.int().default(3),
    });

    expect((await reached(input, { id: "1" })).said).toEqual([{ id: "1", page: 3 }]);
  });

  test("reads the schema's output of each item once", () => {
    const row = z.object({
      a: z
        .string()
        .default("x")
        .transform(() => "SECRET"),
      b: z.int().default(1),
    });
    const { manifest } = defineFunction({
      name: "probe",
      description: "Probes.",
      input: z.object({ rows: z.array(row) }),
      roles: "everyone",
      handler: () => 1,
    });
    const readsOf = (rows: number) => {
      let reads = 0;
      const made = {
        a: "SECRET",
        get b() {
          reads++;
          return 1;
        },
      };
      const [sent, input] = [Array.from({ length: rows }, () => ({})), Array.from({ length: rows }, () => made)];
      expect(argumentsReached(manifest, { rows: sent }, { rows: input })).toEqual({ rows: sent.map(() => ({ b: 1 })) });
      return reads;
    };

    expect([1000, 2000].map(readsOf)).toEqual([1000, 2000]);
  });

  test("is made before the handler changes its input, and kept if it fails", async () => {
    const { said, outcome } = await reached(order, {}, (input: { copies: number }) => {
      input.copies = 99;
      throw new FunctionError("sold out");
    });

    expect(said).toEqual([{ copies: 1 }]);
    expect(outcome).toMatchObject({ ok: false, message: "sold out" });
  });
});

test("a result that fills a frame is sent without the record of its arguments", () => {
  const value = "x".repeat(200_000);
  const outcome = { ok: true, value, input: "y".repeat(4_000_000) } as const;

  expect(JSON.parse(encodeResult("c1", 1, outcome))).toEqual({
    type: "result",
    callId: "c1",
    attempt: 1,
    outcome: { ok: true, value },
  });
});
