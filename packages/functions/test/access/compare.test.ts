import { expect, test } from "vitest";
import { z } from "zod";
import { accessMatrix, compareAccess, lockOf, parseLock, renderMatrix, writeLock } from "../../src/access/index.ts";
import { defineFunction, defineService, visibleTo, type FunctionOptions, type JsonObject } from "../../src/index.ts";
import { deskService, type DeskChanges } from "./desk.ts";

async function changesTo(after: DeskChanges, before: DeskChanges = {}): Promise<string[]> {
  const locked = parseLock(writeLock(lockOf(await accessMatrix(deskService(before)))));
  const changes = compareAccess(locked, await accessMatrix(deskService(after)));
  return changes.map(({ kind, sentence }) => `${kind}: ${sentence}`);
}

type Probe = Partial<FunctionOptions<z.ZodObject<{ id: z.ZodString }>, undefined, JsonObject>>;
const probe = (more: Probe) =>
  defineFunction({
    name: "probe",
    description: "x",
    input: z.object({ id: z.string() }),
    roles: ["agent"],
    handler: () => 1,
    ...more,
  });
const withProbe = (more: Probe): DeskChanges => ({ more: [probe(more)] });
const one = { input: { id: "1" } };

test("nothing changed: nothing is said", async () => {
  expect(await changesTo({})).toEqual([]);
});

test("a role that was added to a role list gained the function", async () => {
  const changes = await changesTo({ cancelRoles: ["agent", "customer"] });

  expect(changes).toEqual(["widening: customer gained cancel_order"]);
});

test("a role that was taken from a role list lost the function", async () => {
  expect(await changesTo({ cancelRoles: ["agent"] }, { cancelRoles: ["agent", "customer"] })).toEqual([
    "narrowing: customer lost cancel_order",
  ]);
});

test("an authorize that lets more through, or less, shows in the cases", async () => {
  const loose = { readsAll: ["agent", "customer"] };

  expect(await changesTo(loose)).toEqual(["widening: customer gained case foreignOrder of get_order_details"]);
  expect(await changesTo({}, loose)).toEqual(["narrowing: customer lost case foreignOrder of get_order_details"]);
});

test("a mark that lets more roles see shows the member", async () => {
  const loose = { noteFor: ["agent", "customer"] };

  expect(await changesTo(loose)).toEqual(["widening: customer now sees note of get_order_details"]);
  expect(await changesTo({}, loose)).toEqual(["narrowing: customer does not see note of get_order_details"]);
});

test("marks on a function that nothing decides call by call are compared too", async () => {
  const service = (roles: string[]) => {
    const output = z.object({ email: visibleTo(z.string(), roles) });
    const users = { name: "users", description: "x", input: z.object({}), roles: ["agent", "boss"], output };
    return defineService({ name: "x", functions: [defineFunction({ ...users, handler: () => ({ email: "" }) })] });
  };
  const locked = lockOf(await accessMatrix(service(["boss"])));

  expect(compareAccess(parseLock(writeLock(locked)), await accessMatrix(service(["boss", "agent"])))).toEqual([
    { kind: "widening", sentence: "agent now sees email of users" },
  ]);
});

test("a hook that is gone widens access, a new one narrows it", async () => {
  const service = (hooks: object) => defineService({ name: "desk", functions: [probe({})], ...hooks });
  const [without, checked] = [service({}), service({ beforeAnswer: () => undefined })];
  const lock = async (one: typeof without) => parseLock(writeLock(lockOf(await accessMatrix(one))));

  expect(compareAccess(await lock(checked), await accessMatrix(without))).toEqual([
    { kind: "widening", sentence: "hook beforeAnswer is gone" },
  ]);
  expect(compareAccess(await lock(without), await accessMatrix(checked))).toEqual([
    { kind: "narrowing", sentence: "hook beforeAnswer is new" },
  ]);
  expect(compareAccess(await lock(checked), await accessMatrix(checked))).toEqual([]);
  expect(renderMatrix(await accessMatrix(checked))).toContain("- Hooks of the service: beforeAnswer.");
});

test("functions that came and went are named with whom they are open to", async () => {
  expect(await changesTo(withProbe({}))).toEqual(["widening: function probe is new: open to agent"]);
  expect(await changesTo(withProbe({ roles: "everyone" }))).toEqual([
    "widening: function probe is new: open to everyone",
  ]);
  expect(await changesTo(withProbe({ authorize: () => true }))).toEqual([
    "widening: function probe is new: open to agent, decided call by call",
  ]);
  expect(await changesTo({ without: ["cancel_order"] })).toEqual(["narrowing: function cancel_order is gone"]);
});

test("an authorize that came or went is said", async () => {
  const [always, judged] = [withProbe({}), withProbe({ authorize: () => true, cases: { one } })];

  expect(await changesTo(judged, always)).toEqual([
    "narrowing: agent lost calls of probe: it is now decided call by call",
  ]);
  expect(await changesTo(always, judged)).toEqual([
    "widening: agent gained every call of probe: nothing decides call by call any more",
  ]);
});

test("a function that is opened to everyone is gained by queries without a role as well", async () => {
  expect(await changesTo(withProbe({ roles: "everyone" }), withProbe({}))).toEqual([
    "widening: a query without a role gained probe",
    "widening: customer gained probe",
  ]);
});

test("a role that gained a conditional function is said to be judged call by call", async () => {
  const before = withProbe({ authorize: () => true });
  const after = withProbe({ roles: ["agent", "customer"], authorize: () => true });

  expect(await changesTo(after, before)).toEqual(["widening: customer gained probe, decided call by call"]);
});

test("cases that came and went are said, with what is known of them", async () => {
  const judged = (cases: Probe["cases"], allows = true): DeskChanges =>
    withProbe({ authorize: () => allows, ...(cases && { cases }) });

  expect(await changesTo(judged({ one, two: one }), judged({ one }))).toEqual([
    "widening: case two of probe is new for agent: allowed",
  ]);
  expect(await changesTo(judged({ one }, false), judged({}, false))).toEqual([
    "narrowing: case one of probe is new for agent: denied",
  ]);
  expect(await changesTo(judged({}, false), judged({ one }, false))).toEqual([
    "widening: case one of probe is gone for agent: it was denied",
  ]);
  expect(await changesTo(judged({}), judged({ one }))).toEqual([
    "narrowing: case one of probe is gone for agent: it was allowed",
  ]);
});

test("a new role is compared with what is open without one", async () => {
  const before = { roles: ["customer", "agent"] };
  const roles = ["customer", "agent", "auditor"];

  expect(await changesTo({ roles }, before)).toEqual(["narrowing: role auditor is new"]);
  expect(await changesTo({ roles, cancelRoles: ["agent", "auditor"] }, before)).toEqual([
    "narrowing: role auditor is new",
    "widening: auditor gained cancel_order",
  ]);
  expect(await changesTo(before, { roles, cancelRoles: ["agent", "auditor"] })).toEqual([
    "narrowing: role auditor is gone",
    "narrowing: auditor lost cancel_order",
  ]);
});

test("a default role is a part of access", async () => {
  expect(await changesTo({ defaultRole: "customer" })).toEqual([
    "widening: a query without a role now counts as customer",
  ]);
  expect(await changesTo({}, { defaultRole: "agent" })).toEqual([
    "narrowing: a query without a role no longer counts as agent",
  ]);
});

test("functions and roles named like members of every object are compared as any other", async () => {
  expect(await changesTo({ more: [probe({ name: "constructor" })] })).toEqual([
    "widening: function constructor is new: open to agent",
  ]);
  expect(await changesTo({ cancelRoles: ["agent", "toString"] })).toEqual([
    "narrowing: role toString is new",
    "widening: toString gained cancel_order",
  ]);
});

test("the lock is the same text whatever the order in the code, and holds no argument and no message", async () => {
  const two = [probe({ name: "a" }), probe({ name: "b" })];
  const text = async (more: DeskChanges) => writeLock(lockOf(await accessMatrix(deskService(more))));

  expect(await text({ more: two, cancelRoles: ["agent", "customer"] })).toBe(
    await text({ more: two.toReversed(), cancelRoles: ["customer", "agent"] }),
  );
  expect(await text({})).not.toMatch(/W1|ada|not permitted/);
});

test.each([
  ["{", /it is no JSON/],
  ["[]", /expected object/],
  ['{"version":2,"functions":{}}', /version/],
  ['{"version":1,"functions":{"f":{"agent":"maybe"}}}', /functions\.f\.agent/],
  ['{"version":1,"functions":{},"more":1}', /more/],
])("the text %s is no lock, and the reason is said", (text, reason) => {
  expect(() => parseLock(text)).toThrow(reason);
});
