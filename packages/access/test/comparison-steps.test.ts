import { describe, expect, test } from "vitest";
import { accessSurface, compareAccess, outputSchemaFor, widenings } from "../src/index.ts";
import { COMPARISON_STEPS, compareSchemas, TOO_MANY_STEPS } from "@patchbay/schema";
import { type FunctionManifest, type Manifest, readLock } from "@patchbay/protocol";
import { type JsonObject } from "@patchbay/kit";
import { HOSTILE, largest, manifestOf, oneFunction } from "./hostile-schemas.ts";

/** Compares with the steps of the control plane. */
function compared(before: Manifest, after: Manifest) {
  const steps = { left: COMPARISON_STEPS };
  const changes = compareAccess(before, after, steps);
  return { changes, used: COMPARISON_STEPS - steps.left };
}

const setOf = (schemas: readonly JsonObject[], place: "inputSchema" | "outputSchema" = "inputSchema"): Manifest =>
  manifestOf(schemas.map((schema, at) => oneFunction(`f${at}`, { [place]: schema })));

describe.each(Object.entries(HOSTILE))("%s", (_, family) => {
  test.each([2_000, 65_000])("is compared within the steps, and never counts as equal, with %i bytes", (bytes) => {
    const [before, after] = [1, 2].map((change) => largest(family, change, bytes)) as [JsonObject, JsonObject];

    for (const place of ["inputSchema", "outputSchema"] as const) {
      const { changes, used } = compared(setOf([before], place), setOf([after], place));

      expect(used).toBeLessThanOrEqual(COMPARISON_STEPS);
      expect(changes).not.toEqual([]);
      expect(compared(setOf([after], place), setOf([after], place)).changes).toEqual([]);
    }
  });
});

test.each(Object.entries(HOSTILE))("%s: two schemas take at most a quarter of the steps", (_, family) => {
  const steps = { left: COMPARISON_STEPS };

  compareSchemas(largest(family, 1), largest(family, 2), { steps });

  expect(steps.left).toBeGreaterThanOrEqual(0.75 * COMPARISON_STEPS);
});

test("200 functions with hostile schemas share the steps of one comparison", () => {
  const schemas = (change: number) =>
    Array.from({ length: 7 }, () => Object.values(HOSTILE))
      .flat()
      .map((family) => largest(family, change, 2_500));
  const { changes, used } = compared(setOf(schemas(1)), setOf(schemas(2)));

  expect(used).toBeLessThanOrEqual(COMPARISON_STEPS);
  expect(new Set(changes.map(({ functionName }) => functionName)).size).toBe(schemas(1).length);
  expect(changes.some(({ kind, sentence }) => kind === "unproven" && sentence.includes(TOO_MANY_STEPS))).toBe(true);
});

test("after the steps are used up, functions that did not change are equal and the others unproven", () => {
  const plain = (maximum: number): JsonObject => ({ type: "object", properties: { n: { type: "number", maximum } } });
  const before = accessSurface(setOf([plain(1), plain(1), plain(2)]));
  const after = accessSurface(setOf([plain(1), plain(2), plain(1)]));

  const changes = compareAccess(before, after, { left: 100 });

  expect(changes.map(({ kind, functionName }) => [kind, functionName])).toEqual([
    ["unproven", "f1"],
    ["unproven", "f2"],
  ]);
  expect(changes.map(({ sentence }) => sentence)).toEqual([
    `the input of f1 changed: ${TOO_MANY_STEPS}`,
    `the input of f2 changed: ${TOO_MANY_STEPS}`,
  ]);
});

test("one expensive schema leaves steps for the schemas after it", () => {
  const hostile = (change: number) => largest(HOSTILE["a recursive object that no value satisfies"]!, change);
  const plain = (maximum: number): JsonObject => ({ type: "object", properties: { n: { type: "number", maximum } } });

  const found = widenings(setOf([hostile(1), plain(1)]), setOf([hostile(2), plain(2)]));

  expect(found.at(-1)).toMatchObject({
    functionName: "f1",
    text: "a query without a role may pass more to f1 at n: maximum 2 replaces 1.",
  });
});

describe("lists that a function set crosses with each other", () => {
  const roles = Array.from({ length: 199 }, (_, at) => `role-${at}`);
  const places = (prefix: string) => Array.from({ length: 9_000 }, (_, at) => ({ path: `${prefix}${at}`, roles: [] }));
  const deep = (prefix: string) => [{ path: `${prefix}.`.repeat(30_000), roles: [] }];
  const cases = (verdict: string) =>
    Array.from({ length: 100 }, (_, at) => ({
      name: `${"c".repeat(400)}${at}`,
      verdicts: Object.fromEntries(roles.map((role) => [role, verdict])),
    }));
  const marked = (by: string): JsonObject => ({
    type: "object",
    properties: Object.fromEntries(
      Array.from({ length: 10_000 }, (_, at) => [`p${at}`, { "x-visible-to": [`${by}-${at % 199}`] }]),
    ),
  });
  const open: Partial<FunctionManifest> = { roles: "everyone", outputSchema: { type: "object" } };

  test.each<[string, Partial<FunctionManifest>, Partial<FunctionManifest>]>([
    ["places and roles", { redactions: places("a") }, { redactions: places("b") }],
    ["places in places", { redactions: deep("a") }, { redactions: deep("b") }],
    ["cases and roles", { conditional: true, cases: cases("denied") }, { conditional: true, cases: cases("allowed") }],
    ["marks and roles", { outputSchema: marked("none") }, { outputSchema: marked("role") }],
  ])("%s are within the steps", (_, before, after) => {
    const setWith = (change: Partial<FunctionManifest>) =>
      manifestOf([oneFunction("f", { ...open, ...change })], { roles });

    const { changes, used } = compared(setWith(before), setWith(after));

    expect(used).toBeGreaterThan(COMPARISON_STEPS / 4);
    expect(used).toBeLessThanOrEqual(COMPARISON_STEPS);
    expect(changes.some(({ kind }) => kind === "unproven")).toBe(true);
  });
});

test("a lock with more functions than a service can have is refused before it is read", () => {
  const functions = Object.fromEntries(Array.from({ length: 201 }, (_, at) => [`f${at}`, { roles: {} }]));

  expect(readLock({ version: 2, functions })).toEqual({
    fault: "it has 201 functions, and a service has at most 200",
  });
});

test("output schemas of one list share their steps, and are left out where these end", () => {
  const defs = Array.from({ length: 40 }, (_, at) => ({
    allOf: [1, 2].map(() => (at === 39 ? { "x-visible-to": ["boss"] } : { $ref: `#/$defs/d${at + 1}` })),
  }));
  const $defs = Object.fromEntries(defs.map((one, at) => [`d${at}`, one]));
  const doubling: JsonObject = { type: "object", $defs, properties: { a: { $ref: "#/$defs/d0" } } };
  const plain: JsonObject = { type: "object", properties: { a: { type: "string" } } };
  const steps = { left: COMPARISON_STEPS };

  const schemas = [plain, doubling, plain].map((outputSchema) =>
    outputSchemaFor(oneFunction("f", { outputSchema }), "boss", steps),
  );

  expect(schemas).toEqual([plain, undefined, undefined]);
  expect(steps.left).toBe(0);
});
