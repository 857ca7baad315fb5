import { describe, expect, test } from "vitest";
import { z } from "zod";
import { z as zod3 } from "zod3";
import { accessMatrix, explainAccess, lockOf, renderMatrix } from "../src/access/index.ts";
import { defineFunction, defineService, functionsFor, type RoleDefinitions, visibleTo } from "../src/index.ts";
import { call } from "./calls.ts";

const ROLES: RoleDefinitions = {
  guest: {},
  support: { description: "Answers customers." },
  manager: { includes: ["support"] },
  director: { includes: ["manager"], description: "Decides." },
};

const input = z.object({});
const base = { description: "A function under test.", input };
const note = () => ({ text: "open", note: "restricted" });

/** A list in each place that may name roles, each with `support` as its only one. */
const desk = defineService({
  name: "desk",
  roles: ROLES,
  defaultRole: "support",
  flows: { mode: "ask", by: ["support"] },
  functions: [
    defineFunction({ ...base, name: "listed", roles: ["support"], handler: () => "done" }),
    defineFunction({
      ...base,
      name: "zod4",
      roles: "everyone",
      output: z.object({ text: z.string(), note: visibleTo(z.string(), ["support"]) }),
      handler: note,
    }),
    defineFunction({
      ...base,
      name: "zod3",
      roles: "everyone",
      output: zod3.object({ text: zod3.string(), note: visibleTo(zod3.string(), ["support"]) }),
      handler: note,
    }),
    defineFunction({
      ...base,
      name: "raw",
      roles: "everyone",
      output: {
        type: "object",
        properties: { text: { type: "string" }, note: { type: "string", "x-visible-to": ["support"] } },
      },
      handler: note,
    }),
    defineFunction({
      ...base,
      name: "asking",
      roles: ["support", "guest"],
      approval: { by: ["support"] },
      handler: () => "done",
    }),
    defineFunction({
      ...base,
      name: "judged",
      roles: ["support", "guest"],
      authorize: ({ role }) => role === "support",
      cases: { own: { input: {}, roles: ["support"] } },
      handler: () => "done",
    }),
  ],
});
const of = (name: string) => desk.manifest.functions.find((one) => one.name === name)!;
const seen = async (name: string, role: string) => {
  const outcome = await call(desk, name, {}, { role });
  return outcome.ok ? Object.keys(outcome.value as object).includes("note") : undefined;
};
const matrix = await accessMatrix(desk);
const cell = (name: string, role: string) => matrix.functions.find((row) => row.name === name)!.cells[role]!;
const lock = await lockOf(desk);
const lockedNote = (role: string) => lock.functions["zod4"]!.roles[role];

/** What `role` may do at each place that names only `support`. */
const PLACES: Record<string, (role: string) => boolean | undefined | Promise<boolean | undefined>> = {
  "calls by a role list": async (role) => (await call(desk, "listed", {}, { role })).ok,
  "checks of calls": async (role) =>
    (await desk.check({ functionName: "listed", role, context: {}, arguments: {} })).ok,
  "the role list in the manifest": (role) => of("listed").roles.includes(role),
  "results with visibleTo of zod 4": (role) => seen("zod4", role),
  "results with visibleTo of zod 3": (role) => seen("zod3", role),
  "results with marks of JSON Schema": (role) => seen("raw", role),
  "marks in the manifest": (role) => of("zod4").redactions![0]!.roles.includes(role),
  "marks in the manifest's output schema": (role) =>
    JSON.stringify(of("raw").outputSchema).includes(JSON.stringify(role)),
  "approvers of a function": (role) => of("asking").approval!.by.includes(role),
  "approvers of data-flow rules": (role) => of("listed").flow!.by!.includes(role),
  "roles of cases": (role) => desk.access.get("judged")!.cases.get("own")!.roles!.includes(role),
  "cells of the matrix": (role) => cell("listed", role).access === "allowed",
  "cases in the matrix": (role) => Object.keys((cell("judged", role) as { cases?: object }).cases ?? {}).length > 0,
  "restricted fields in the matrix": (role) => (cell("zod4", role) as { hides: string[] }).hides.length === 0,
  "cells of the lock": (role) => lock.functions["listed"]!.roles[role] === "allowed",
  "restricted fields in the lock": (role) => lockedNote(role) === "allowed",
  "the explanation": async (role) =>
    (await explainAccess(desk, { functionName: "listed", role })).decision === "allowed",
};

describe("a role may what the roles that it includes may, and not the reverse:", () => {
  test.for(Object.entries(PLACES))("%s", async ([, may]) => {
    const found = await Promise.all(
      ["guest", "support", "manager", "director"].map(async (role) => [role, await may(role)]),
    );
    expect(Object.fromEntries(found)).toEqual({ guest: false, support: true, manager: true, director: true });
  });
});

test("authorize sees the caller's own role, not one that it includes", async () => {
  expect((await call(desk, "judged", {}, { role: "support" })).ok).toBe(true);
  expect(await call(desk, "judged", {}, { role: "manager" })).toMatchObject({ ok: false, code: "denied" });
});

test("includes() of functionsFor() knows inclusions at any depth, and none in a list of roles", () => {
  const { includes } = functionsFor(undefined, ROLES);
  const supports = ["guest", "support", "manager", "director", undefined, "unknown"].map((role) =>
    includes(role, "support"),
  );
  expect(supports).toEqual([false, true, true, true, false, false]);
  const listed = functionsFor(undefined, ["support", "manager"]);
  expect([listed.includes("support", "support"), listed.includes("manager", "support")]).toEqual([true, false]);
  expect(() => functionsFor(undefined, { a: { includes: ["b"] } })).toThrow('functionsFor: role "a" includes "b"');
});

test("the manifest lists all roles by name, and their options next to them", () => {
  expect(desk.manifest).toMatchObject({
    roles: ["guest", "support", "manager", "director"],
    roleOptions: ROLES,
    defaultRole: "support",
  });
  expect(defineService({ name: "desk", roles: { a: {}, b: {} }, functions: [] }).manifest).toEqual(
    defineService({ name: "desk", roles: ["a", "b"], functions: [] }).manifest,
  );
});

test("the matrix shows through which role an access is inherited, and the explanation says so", async () => {
  expect(["support", "manager", "director"].map((role) => cell("listed", role))).toEqual([
    { access: "allowed", hides: [] },
    { access: "allowed", hides: [], from: ["support"] },
    { access: "allowed", hides: [], from: ["support", "manager"] },
  ]);
  expect(cell("zod4", "manager")).not.toHaveProperty("from");
  const text = renderMatrix(matrix);
  expect(text).toMatch(/^listed .* allowed via support +allowed via support, manager/m);
  expect(text).toContain("- manager includes support.\n- director includes manager.");
  expect((await explainAccess(desk, { functionName: "listed", role: "director" })).sentence).toContain(
    "allows role director, which includes support, manager, and nothing except",
  );
});

test("roles that include each other, themselves or an unknown role are refused", () => {
  const define = (roles: unknown) => () =>
    defineService({ name: "desk", roles: roles as RoleDefinitions, functions: [] });
  expect(define({ a: { includes: ["b"] }, b: { includes: ["c"] }, c: { includes: ["a"] } })).toThrow(
    'Service "desk": roles "a" and "b" include each other. Remove one inclusion.',
  );
  expect(define({ a: { includes: ["a"] } })).toThrow('role "a" includes itself');
  expect(define({ a: { includes: ["b"] } })).toThrow('role "a" includes "b", which is not among a.');
  expect(define({ a: { include: ["b"] } })).toThrow('role "a": unknown option include');
  expect(define({ a: { includes: "b" } })).toThrow("includes must be a list of roles, or absent.");
  expect(define({ a: { description: "" } })).toThrow("description must have 1 to 200 characters");
  expect(define({ a: "b" })).toThrow('role "a" must be an object with includes and description, or {}.');
  expect(define({})).toThrow("roles is empty");
  const misspelt = { ...base, name: "listed", roles: ["suport"], handler: () => 1 };
  expect(() => defineService({ name: "desk", roles: ROLES, functions: [defineFunction(misspelt)] })).toThrow(
    'names the role "suport"',
  );
});
