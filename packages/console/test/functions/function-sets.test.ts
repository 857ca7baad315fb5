import type { ConsoleFunction, FunctionSet } from "@patchbay/protocol/console";
import { expect, test } from "vitest";
import { changesOf } from "../../src/pages/functions/set-comparison.tsx";
import { searchFunctions, sortFunctions } from "../../src/pages/functions/functions-page.tsx";

const figures = { calls: 0, failed: 0, denied: 0, p50Ms: null, p95Ms: null, lastCalledAt: null };

const fn = (name: string, changed: Partial<ConsoleFunction> = {}): ConsoleFunction => ({
  name,
  description: `Does ${name}`,
  inputSchema: { type: "object", properties: { id: { type: "string" } }, required: ["id"] },
  roles: ["support", "admin"],
  conditional: false,
  effect: "read",
  idempotent: false,
  timeoutMs: 60_000,
  figures,
  ...changed,
});

const setOf = (...functions: ConsoleFunction[]): FunctionSet => ({
  manifestHash: "h",
  service: "shop",
  instructions: null,
  defaultRole: null,
  roles: ["support", "admin"],
  exampleQueries: [],
  connected: true,
  firstSeenAt: "2026-11-21T10:00:00.000Z",
  functions,
});

test("added and removed functions are listed by name, equal ones are not", () => {
  const { service, functions } = changesOf(setOf(fn("kept"), fn("gone")), setOf(fn("kept"), fn("new")));
  expect(service).toEqual([]);
  expect(functions).toEqual([
    { name: "gone", kind: "removed", differences: [] },
    { name: "new", kind: "added", differences: [] },
  ]);
});

test("a change of a schema is reported at the changed property", () => {
  const after = fn("f", {
    effect: "write",
    inputSchema: { type: "object", properties: { id: { type: "number" }, note: { type: "string" } }, required: ["id"] },
  });
  expect(changesOf(setOf(fn("f")), setOf(after)).functions).toEqual([
    {
      name: "f",
      kind: "changed",
      differences: [
        { path: "effect", before: "read", after: "write" },
        { path: "inputSchema.properties.id.type", before: "string", after: "number" },
        { path: "inputSchema.properties.note", before: undefined, after: { type: "string" } },
      ],
    },
  ]);
});

test("an input that now keeps unlisted properties is a change", () => {
  const [before, after] = [setOf(fn("f")), setOf(fn("f", { keepsUnlisted: true }))];
  expect(changesOf(before, after).functions).toEqual([
    { name: "f", kind: "changed", differences: [{ path: "keepsUnlisted", before: undefined, after: true }] },
  ]);
});

test("the order of roles and the figures do not count as changes", () => {
  const after = fn("f", { roles: ["admin", "support"], figures: { ...figures, calls: 9 } });
  expect(changesOf(setOf(fn("f")), setOf(after)).functions).toEqual([]);
});

test("functions without a figure come last in either direction", () => {
  const list = [fn("never"), fn("slow", { figures: { ...figures, p95Ms: 90 } })];
  list.push(fn("fast", { figures: { ...figures, p95Ms: 5 } }));
  const names = (by: string) => sortFunctions(list, by).map(({ name }) => name);
  expect(names("p95")).toEqual(["fast", "slow", "never"]);
  expect(names("-p95")).toEqual(["slow", "fast", "never"]);
  expect(names("made_up")).toEqual(["fast", "never", "slow"]);
});

test("a search matches every word in name, title, tags, description or roles", () => {
  const list = [fn("refund_order", { roles: ["admin"] }), fn("get_order"), fn("ping", { roles: "everyone" })];
  expect(searchFunctions(list, "ORDER admin").map(({ name }) => name)).toEqual(["refund_order", "get_order"]);
  list.push(fn("wipe", { title: "Delete everything", tags: ["danger"] }));
  expect(searchFunctions(list, "danger delete").map(({ name }) => name)).toEqual(["wipe"]);
  expect(searchFunctions(list, "everyone").map(({ name }) => name)).toEqual(["ping"]);
});
