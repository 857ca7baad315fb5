import type { JsonObject, JsonValue } from "@patchbay/kit";
import * as fc from "@patchbay/test-support/properties";
import { expect, test } from "vitest";
import { z } from "zod";
import { z as zod3 } from "zod3";
import { visibleTo, type Schema } from "../../src/index.ts";
import { resultFor, SUPPORT } from "./result-of.ts";

/** A plan of a schema with marks, which the writers below write for each library. */
type Plan =
  | { kind: "text" | "number" }
  | { kind: "object"; members: Member[] }
  | { kind: "array" | "record" | "nullable" | "marked"; inner: Plan }
  | { kind: "tuple"; items: Plan[] }
  /** Objects with a distinguishing tag. */
  | { kind: "either"; options: Member[][] }
  /** Branches that may accept the same values. */
  | { kind: "any"; options: Plan[] }
  | { kind: "both"; left: Member[]; right: Member[] };
interface Member {
  name: string;
  optional: boolean;
  plan: Plan;
}

const members = (plan: fc.Arbitrary<Plan>, prefix: string) =>
  fc
    .array(fc.record({ optional: fc.boolean(), plan }), { maxLength: 3 })
    .map((list) => list.map((member, i): Member => ({ name: `${prefix}${i}`, ...member })));

const planOf = (withOverlaps: boolean) =>
  fc.letrec<{ plan: Plan }>((tie) => {
    const plan = tie("plan");
    const object = members(plan, "m").map((list): Plan => ({ kind: "object", members: list }));
    const overlapping = fc
      .array(plan, { minLength: 1, maxLength: 3 })
      .map((options): Plan => ({ kind: "any", options }));
    return {
      plan: fc.oneof(
        { depthSize: "small", withCrossShrink: true },
        fc.constantFrom<Plan>({ kind: "text" }, { kind: "number" }),
        object,
        fc
          .tuple(fc.constantFrom("array" as const, "record" as const, "nullable" as const), plan)
          .map(([kind, inner]) => ({ kind, inner })),
        plan.map((inner): Plan => ({ kind: "marked", inner })),
        fc.array(plan, { minLength: 1, maxLength: 3 }).map((items): Plan => ({ kind: "tuple", items })),
        fc
          .array(members(plan, "o"), { minLength: 1, maxLength: 3 })
          .map((options): Plan => ({ kind: "either", options })),
        fc.tuple(members(plan, "l"), members(plan, "r")).map(([left, right]): Plan => ({ kind: "both", left, right })),
        ...(withOverlaps ? [overlapping] : []),
      ),
    };
  }).plan;

/** A result, and its redacted form for a role without marks. Undefined: removed. */
interface Sample {
  full: JsonValue;
  seen: JsonValue | undefined;
}

/** Texts and keys below a mark contain the canary. */
function sampleOf(plan: Plan, hidden = false): fc.Arbitrary<Sample> {
  const show = (full: JsonValue, seen: JsonValue | undefined = full): Sample => ({
    full,
    seen: hidden ? undefined : seen,
  });
  switch (plan.kind) {
    case "text":
      return fc.nat(9).map((n) => show(`${hidden ? "CANARY" : "open"}${n}`));
    case "number":
      return fc.nat(9).map((n) => show(n));
    case "marked":
      return sampleOf(plan.inner, true);
    case "nullable":
      return fc.oneof(
        sampleOf(plan.inner, hidden),
        fc.constant(isMarked(plan.inner) ? { full: null, seen: undefined } : show(null)),
      );
    case "array":
      return fc.array(sampleOf(plan.inner, hidden), { maxLength: 3 }).map((items) =>
        show(
          items.map(({ full }) => full),
          items.flatMap(({ seen }) => (seen === undefined ? [] : [seen])),
        ),
      );
    case "tuple":
      return fc.tuple(...plan.items.map((item) => sampleOf(item, hidden))).map((items) =>
        show(
          items.map(({ full }) => full),
          items.map(({ seen }) => seen ?? null),
        ),
      );
    case "record":
      return fc.array(sampleOf(plan.inner, hidden), { maxLength: 3 }).map((values) => {
        const hides = hidden || isMarked(plan.inner);
        return fromMembers(
          values.map((value, i) => [`${hides ? "CANARY" : "k"}${i}`, value]),
          show,
        );
      });
    case "object":
      return membersOf(plan.members, hidden).map((list) => fromMembers(list, show));
    case "both":
      return membersOf([...plan.left, ...plan.right], hidden).map((list) => fromMembers(list, show));
    case "either":
      return fc.oneof(
        ...plan.options.map((option, i) =>
          membersOf(option, hidden).map((list) => fromMembers([["tag", show(`t${i}`)], ...list], show)),
        ),
      );
    case "any":
      return fc.oneof(...plan.options.map((option) => sampleOf(option, hidden)));
  }
}

/** True if the place itself has a mark, also through wrappers. */
function isMarked(plan: Plan): boolean {
  return plan.kind === "marked" || (plan.kind === "nullable" && isMarked(plan.inner));
}

function membersOf(list: Member[], hidden: boolean): fc.Arbitrary<[string, Sample][]> {
  const each = list.map(({ name, optional, plan }) =>
    fc
      .tuple(sampleOf(plan, hidden), optional ? fc.boolean() : fc.constant(true))
      .map(([sample, there]): [string, Sample][] => (there ? [[name, sample]] : [])),
  );
  return fc.tuple(...each).map((found) => found.flat());
}

function fromMembers(list: [string, Sample][], show: (full: JsonObject, seen: JsonObject) => Sample): Sample {
  return show(
    Object.fromEntries(list.map(([name, { full }]) => [name, full])),
    Object.fromEntries(list.flatMap(([name, { seen }]) => (seen === undefined ? [] : [[name, seen]]))),
  );
}

function toZod4(plan: Plan): z.ZodType {
  const shape = (list: Member[]) =>
    Object.fromEntries(
      list.map(({ name, optional, plan: own }) => [name, optional ? toZod4(own).optional() : toZod4(own)]),
    );
  switch (plan.kind) {
    case "text":
      return z.string();
    case "number":
      return z.number();
    case "marked":
      return visibleTo(toZod4(plan.inner), SUPPORT).describe("marked");
    case "nullable":
      return toZod4(plan.inner).nullable();
    case "array":
      return z.array(toZod4(plan.inner));
    case "record":
      return z.record(z.string(), toZod4(plan.inner));
    case "tuple":
      return z.tuple(plan.items.map(toZod4) as [z.ZodType]);
    case "object":
      return z.object(shape(plan.members));
    case "both":
      return z.intersection(z.object(shape(plan.left)), z.object(shape(plan.right)));
    case "either":
      return z.union(plan.options.map((option, i) => z.object({ tag: z.literal(`t${i}`), ...shape(option) })));
    case "any":
      return z.union(plan.options.map(toZod4));
  }
}

function toZod3(plan: Plan): zod3.ZodType {
  const shape = (list: Member[]) =>
    Object.fromEntries(
      list.map(({ name, optional, plan: own }) => [name, optional ? toZod3(own).optional() : toZod3(own)]),
    );
  const union = (options: zod3.ZodType[]) =>
    options.length === 1 ? options[0]! : zod3.union(options as [zod3.ZodType, zod3.ZodType]);
  switch (plan.kind) {
    case "text":
      return zod3.string();
    case "number":
      return zod3.number();
    case "marked":
      return visibleTo(toZod3(plan.inner), SUPPORT).describe("marked");
    case "nullable":
      return toZod3(plan.inner).nullable();
    case "array":
      return zod3.array(toZod3(plan.inner));
    case "record":
      return zod3.record(toZod3(plan.inner));
    case "tuple":
      return zod3.tuple(plan.items.map(toZod3) as [zod3.ZodType]);
    case "object":
      return zod3.object(shape(plan.members));
    case "both":
      return zod3.intersection(zod3.object(shape(plan.left)), zod3.object(shape(plan.right)));
    case "either":
      return union(plan.options.map((option, i) => zod3.object({ tag: zod3.literal(`t${i}`), ...shape(option) })));
    case "any":
      return union(plan.options.map(toZod3));
  }
}

function toJsonSchema(plan: Plan): JsonObject {
  const object = (list: Member[], more: JsonObject = {}): JsonObject => ({
    type: "object",
    properties: { ...more, ...Object.fromEntries(list.map(({ name, plan: own }) => [name, toJsonSchema(own)])) },
    required: list.filter(({ optional }) => !optional).map(({ name }) => name),
  });
  switch (plan.kind) {
    case "text":
      return { type: "string" };
    case "number":
      return { type: "number" };
    case "marked":
      return { allOf: [toJsonSchema(plan.inner)], "x-visible-to": SUPPORT };
    case "nullable":
      return { anyOf: [toJsonSchema(plan.inner), { type: "null" }] };
    case "array":
      return { type: "array", items: toJsonSchema(plan.inner) };
    case "record":
      return { type: "object", additionalProperties: toJsonSchema(plan.inner) };
    case "tuple":
      return { type: "array", prefixItems: plan.items.map(toJsonSchema), items: false };
    case "object":
      return object(plan.members);
    case "both":
      return { allOf: [object(plan.left), object(plan.right)] };
    case "either":
      return { oneOf: plan.options.map((option, i) => object(option, { tag: { const: `t${i}` } })) };
    case "any":
      return { anyOf: plan.options.map(toJsonSchema) };
  }
}

/** Compiling JSON Schema is slow. */
const writers: [string, (plan: Plan) => Schema, numRuns: number][] = [
  ["zod 4", toZod4, 200],
  ["zod 3", toZod3, 200],
  ["JSON Schema", toJsonSchema, 60],
];
const withSample = (withOverlaps: boolean) =>
  planOf(withOverlaps).chain((plan) => fc.tuple(fc.constant(plan), sampleOf(plan)));

test.each(writers)("%s: marked values are removed, and nothing else", async (_, write, numRuns) => {
  await fc.assert(
    fc.asyncProperty(withSample(false), async ([plan, { full, seen }]) => {
      const outcome = await resultFor("staff", write(plan), full);

      expect(outcome).toHaveProperty("value", seen ?? null);
      expect(JSON.stringify(outcome)).not.toContain("CANARY");
    }),
    { numRuns },
  );
});

test.each(writers)("%s: with overlapping branches, no marked value remains", async (_, write, numRuns) => {
  await fc.assert(
    fc.asyncProperty(withSample(true), async ([plan, { full }]) => {
      for (const role of [undefined, "staff"]) {
        const outcome = await resultFor(role, write(plan), full);

        expect(outcome).toMatchObject({ ok: true });
        expect(JSON.stringify(outcome)).not.toContain("CANARY");
      }
    }),
    { numRuns },
  );
});
