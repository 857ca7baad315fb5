import { type } from "arktype";
import * as v from "valibot";
import { test } from "vitest";
import { z } from "zod";
import * as mini from "zod/mini";
import { z as zod3 } from "zod3";
import { defineFunction, functionsFor, type Schema } from "../src/index.ts";

const { defineFunction: defineForDesk } = functionsFor(z.object({ customerId: z.string().optional() }));

const base = { name: "probe", description: "A function under test.", roles: "everyone" as const };
const input = z.object({ q: z.string() });
const withOutput = <const O extends Schema>(output: O) => ({ ...base, input, output });

const state = z.object({ state: z.enum(["free", "out"]) });
const shape = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("circle"), radius: z.number() }),
  z.object({ kind: z.literal("box"), sides: z.tuple([z.number(), z.number()]) }),
]);

test("a handler may return values of an enum", () => {
  void [
    defineFunction({ ...withOutput(state), handler: () => ({ state: "free" }) }),
    defineFunction({ ...withOutput(state), handler: ({ q }) => ({ state: q === "" ? "free" : "out" }) }),
    defineFunction({ ...withOutput(state), handler: async () => ({ state: "free" }) }),
    defineFunction({
      ...withOutput(state),
      async handler({ q }, { role }) {
        if (role === q) return { state: "out" };
        return { state: "free" };
      },
    }),
    defineFunction({ ...withOutput(state), handler: () => Promise.resolve({ state: "free" as const }) }),
    defineFunction({
      ...withOutput(z.object({ state: z.nativeEnum({ Free: "free", Out: 2 }) })),
      handler: () => ({ state: 2 }),
    }),
    defineFunction({ ...withOutput(z.enum(["free", "out"])), handler: () => "free" }),
    defineFunction({ ...withOutput(z.enum(["free", "out"])), handler: async ({ q }) => (q === "" ? "free" : "out") }),
    defineFunction({ ...withOutput(z.literal(true)), handler: () => true }),
    defineFunction({ ...withOutput(z.literal([1, null])), handler: async () => null }),
    defineForDesk({ ...withOutput(z.enum(["free", "out"])), handler: () => "free" }),
    defineForDesk({ ...withOutput(state), handler: () => ({ state: "free" }) }),
    defineForDesk({ ...withOutput(state), handler: async ({ q }) => ({ state: q ? "free" : "out" }) }),
  ];
});

test("a handler may return literals", () => {
  void [
    defineFunction({ ...withOutput(z.object({ ok: z.literal(true) })), handler: () => ({ ok: true }) }),
    defineFunction({ ...withOutput(z.object({ code: z.literal([1, 2]) })), handler: () => ({ code: 2 }) }),
    defineFunction({ ...withOutput(z.object({ none: z.null() })), handler: () => ({ none: null }) }),
    defineFunction({
      ...withOutput(z.object({ id: z.templateLiteral(["V-", z.number()]) })),
      handler: () => ({ id: "V-2" }),
    }),
    defineFunction({
      ...withOutput(z.object({ a: z.object({ b: z.array(z.literal("c")) }) })),
      handler: () => ({ a: { b: ["c", "c"] } }),
    }),
  ];
});

test("a handler may return members of unions", () => {
  void [
    defineFunction({ ...withOutput(shape), handler: () => ({ kind: "circle", radius: 1 }) }),
    defineFunction({
      ...withOutput(shape),
      handler: async ({ q }) => (q === "" ? { kind: "circle", radius: 1 } : { kind: "box", sides: [1, 2] }),
    }),
    defineFunction({
      ...withOutput(z.object({ shapes: z.array(shape) })),
      handler: ({ q }) => ({ shapes: [q].map(() => ({ kind: "box", sides: [1, 2] }) as const) }),
    }),
    defineFunction({
      ...withOutput(z.union([z.string(), z.object({ id: z.literal("x") })])),
      handler: () => ({ id: "x" }),
    }),
    defineFunction({ ...withOutput(z.object({ at: z.enum(["a", "b"]).nullable() })), handler: () => ({ at: null }) }),
    defineFunction({ ...withOutput(z.object({ at: z.enum(["a", "b"]).optional() })), handler: () => ({}) }),
    defineFunction({ ...withOutput(z.object({ at: z.enum(["a", "b"]).default("a") })), handler: () => ({}) }),
    defineFunction({
      ...withOutput(z.intersection(state, z.object({ n: z.literal(1) }))),
      handler: () => ({ state: "out", n: 1 }),
    }),
  ];
});

test("a handler may return tuples", () => {
  void [
    defineFunction({ ...withOutput(z.tuple([z.number(), z.string()])), handler: () => [1, "x"] }),
    defineFunction({ ...withOutput(z.tuple([z.number()], z.string())), handler: () => [1, "x", "y"] }),
    defineFunction({
      ...withOutput(z.object({ pair: z.tuple([z.number(), z.literal("x")]) })),
      handler: async () => ({ pair: [1, "x"] }),
    }),
    defineFunction({
      ...withOutput(z.record(z.enum(["n", "s"]), z.tuple([z.number(), z.string()]))),
      handler: () => ({ n: [1, "x"], s: [2, "y"] }),
    }),
  ];
});

const stored: readonly { readonly id: string; readonly tags: readonly string[] }[] = [];
test("a handler may return readonly values", () => {
  void [
    defineFunction({
      ...withOutput(z.array(z.object({ id: z.string(), tags: z.array(z.string()) }))),
      handler: () => stored,
    }),
    defineFunction({
      ...withOutput(z.object({ list: z.array(z.number()) })),
      handler: () => ({ list: [1, 2] as readonly number[] }),
    }),
    defineFunction({ ...withOutput(z.tuple([z.number(), z.string()])), handler: () => [1, "x"] as const }),
    defineFunction({ ...withOutput(shape), handler: () => ({ kind: "box", sides: [1, 2] }) as const }),
    defineFunction({ ...withOutput(z.object({ at: z.date() })), handler: () => ({ at: new Date() }) }),
  ];
});

interface Tree {
  name: string;
  children: Tree[];
}
const tree: z.ZodType<Tree, Tree> = z.lazy(() => z.object({ name: z.string(), children: z.array(tree) }));
test("other results compile as before", () => {
  void [
    defineFunction({ ...base, input, handler: () => 1 }),
    defineFunction({ ...base, input, handler: async ({ q }) => ({ state: q }) }),
    defineFunction({ ...base, input, output: { type: "object" }, handler: () => ({ state: "any" }) }),
    defineFunction({
      ...withOutput(tree),
      handler: () => ({ name: "root", children: [{ name: "leaf", children: [] }] }),
    }),
    defineFunction({ ...withOutput(z.unknown()), handler: () => [1] }),
    defineFunction({ ...withOutput(z.any()), handler: () => ({ x: 1 }) }),
    defineFunction({ ...withOutput(z.string().transform(Number)), handler: () => "1" }),
    defineFunction({
      ...withOutput(z.string().brand<"Id", "in">()),
      handler: ({ q }) => q as string & z.core.$brand<"Id">,
    }),
  ];
});

test("schemas of other libraries keep literals", () => {
  void [
    defineFunction({
      ...withOutput(mini.object({ state: mini.enum(["free", "out"]) })),
      handler: () => ({ state: "free" }),
    }),
    defineFunction({
      ...withOutput(zod3.object({ state: zod3.enum(["free", "out"]) })),
      handler: () => ({ state: "free" }),
    }),
    defineFunction({ ...withOutput(zod3.tuple([zod3.literal("x"), zod3.number()])), handler: async () => ["x", 1] }),
    defineFunction({ ...withOutput(type({ state: "'free' | 'out'" })), handler: () => ({ state: "free" }) }),
    defineFunction({
      ...withOutput(v.object({ state: v.picklist(["free", "out"]) })),
      handler: () => ({ state: "free" }),
    }),
  ];
});

test("reconcile may return literals", () => {
  void [
    defineFunction({
      ...withOutput(state),
      reconcile: () => ({ done: true, result: { state: "out" } }),
      handler: () => ({ state: "free" }),
    }),
    defineFunction({
      ...withOutput(z.tuple([z.number(), z.string()])),
      async reconcile({ input: { q } }) {
        if (q === "") return "unknown";
        return q === "x" ? { done: false } : { done: true, result: [1, "x"] };
      },
      handler: async () => [1, "y"],
    }),
    defineForDesk({
      ...withOutput(shape),
      reconcile: async ({ context }) =>
        context.customerId === undefined ? { done: false } : { done: true, result: { kind: "circle", radius: 1 } },
      handler: () => ({ kind: "box", sides: [1, 2] }),
    }),
    defineFunction({ ...base, input, reconcile: () => ({ done: true, result: 1 }), handler: () => "any" }),
  ];
});

test("a wrong result is refused where it is written", () => {
  void [
    defineFunction({
      ...withOutput(state),
      handler: () => ({
        // @ts-expect-error not a state
        state: "fre",
      }),
    }),
    defineFunction({
      ...withOutput(shape),
      // @ts-expect-error not a number
      handler: () => ({ kind: "circle", radius: "1" }),
    }),
    defineFunction({
      ...withOutput(state),
      // @ts-expect-error not a state
      handler: async () => ({ state: "fre" }),
    }),
    defineFunction({
      ...withOutput(state),
      // @ts-expect-error not a state
      async handler() {
        return { state: "fre" };
      },
    }),
    defineFunction({
      ...withOutput(z.enum(["free", "out"])),
      // @ts-expect-error not a state
      handler: () => "fre",
    }),
    defineFunction({
      ...withOutput(z.tuple([z.number(), z.string()])),
      handler: () => [
        1,
        // @ts-expect-error not a text
        2,
      ],
    }),
    defineForDesk({
      ...withOutput(state),
      handler: ({ q }) => ({
        // @ts-expect-error any text
        state: q,
      }),
    }),
    defineFunction({
      ...withOutput(state),
      // @ts-expect-error not a state
      reconcile: () => ({ done: true, result: { state: "fre" } }),
      handler: () => ({ state: "free" }),
    }),
    // @ts-expect-error a member is absent
    defineFunction({ ...withOutput(shape), handler: () => ({ kind: "circle" }) }),
    // @ts-expect-error nothing is returned
    defineFunction({ ...withOutput(state), handler: async () => {} }),
  ];
});
