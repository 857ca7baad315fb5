import { widenings } from "@patchbay/access";
import { expect, test } from "vitest";
import { z } from "zod";
import { accessMatrix, compareAccess, lockOf, parseLock, renderMatrix, writeLock } from "../../src/access/index.ts";
import { defineFunction, defineService, visibleTo, type FunctionOptions, type JsonObject } from "../../src/index.ts";
import { orderService, type ServiceChanges } from "./order-service.ts";

async function changesTo(after: ServiceChanges, before: ServiceChanges = {}): Promise<string[]> {
  const locked = parseLock(writeLock(await lockOf(orderService(before))));
  const changes = compareAccess(locked, await lockOf(orderService(after)));
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
const withProbe = (more: Probe): ServiceChanges => ({ more: [probe(more)] });
const one = { input: { id: "1" } };

test("without changes there are no differences", async () => {
  expect(await changesTo({})).toEqual([]);
});

test("a role that is added to a role list gains the function", async () => {
  const changes = await changesTo({ cancelRoles: ["agent", "customer"] });

  expect(changes).toEqual(["widening: customer gained cancel_order"]);
});

test("a role that is removed from a role list loses the function", async () => {
  expect(await changesTo({ cancelRoles: ["agent"] }, { cancelRoles: ["agent", "customer"] })).toEqual([
    "narrowing: customer lost cancel_order",
  ]);
});

test("a wider or narrower authorize changes the verdicts of cases", async () => {
  const loose = { readsAll: ["agent", "customer"] };

  expect(await changesTo(loose)).toEqual(["widening: customer gained case foreignOrder of get_order_details"]);
  expect(await changesTo({}, loose)).toEqual(["narrowing: customer lost case foreignOrder of get_order_details"]);
});

test("a mark with more roles shows them the field", async () => {
  const loose = { noteFor: ["agent", "customer"] };

  expect(await changesTo(loose)).toEqual(["widening: customer now sees note of get_order_details"]);
  expect(await changesTo({}, loose)).toEqual(["narrowing: customer does not see note of get_order_details"]);
});

test("marks of a function without authorize are compared", async () => {
  const service = (roles: string[]) => {
    const output = z.object({ email: visibleTo(z.string(), roles) });
    const users = { name: "users", description: "x", input: z.object({}), roles: ["agent", "boss"], output };
    return defineService({ name: "x", functions: [defineFunction({ ...users, handler: () => ({ email: "" }) })] });
  };
  const locked = await lockOf(service(["boss"]));

  expect(compareAccess(parseLock(writeLock(locked)), await lockOf(service(["boss", "agent"])))).toEqual([
    {
      kind: "widening",
      about: "redaction",
      functionName: "users",
      sentence: "agent now sees email of users",
    },
  ]);
});

test("a removed hook widens access, a new one narrows it", async () => {
  const service = (hooks: object) => defineService({ name: "desk", functions: [probe({})], ...hooks });
  const [without, checked] = [service({}), service({ beforeAnswer: () => undefined })];
  const lock = async (one: typeof without) => parseLock(writeLock(await lockOf(one)));

  expect(compareAccess(await lock(checked), await lockOf(without))).toEqual([
    { kind: "widening", about: "hook", sentence: "hook beforeAnswer is gone" },
  ]);
  expect(compareAccess(await lock(without), await lockOf(checked))).toEqual([
    { kind: "narrowing", about: "hook", sentence: "hook beforeAnswer is new" },
  ]);
  expect(compareAccess(await lock(checked), await lockOf(checked))).toEqual([]);
  expect(renderMatrix(await accessMatrix(checked))).toContain("- Hooks of the service: beforeAnswer.");
});

test("new and removed functions are listed with their roles", async () => {
  expect(await changesTo(withProbe({}))).toEqual(["widening: function probe is new: open to agent"]);
  expect(await changesTo(withProbe({ roles: "everyone" }))).toEqual([
    "widening: function probe is new: open to everyone",
  ]);
  expect(await changesTo(withProbe({ authorize: () => true }))).toEqual([
    "widening: function probe is new: open to agent, decided call by call",
  ]);
  expect(await changesTo({ without: ["cancel_order"] })).toEqual(["narrowing: function cancel_order is gone"]);
});

test("an added or removed authorize is listed", async () => {
  const [always, judged] = [withProbe({}), withProbe({ authorize: () => true, cases: { one } })];

  expect(await changesTo(judged, always)).toEqual([
    "narrowing: agent lost calls of probe: it is now decided call by call",
  ]);
  expect(await changesTo(always, judged)).toEqual([
    "widening: agent gained every call of probe: nothing decides call by call any more",
  ]);
});

test("an authorize is compared although a conditional approval still decides each call", async () => {
  const approval = { by: ["agent"], when: () => false };
  const manifestOf = (more: Probe) => orderService(withProbe({ approval, ...more })).manifest;
  const [judged, unjudged] = [manifestOf({ authorize: () => true }), manifestOf({})];
  const removed = "agent gained calls of probe: it has no authorize any more";

  expect(widenings(judged, unjudged)).toEqual([{ kind: "authorize", functionName: "probe", text: `${removed}.` }]);
  expect(widenings(unjudged, judged)).toEqual([]);
  expect(await changesTo(withProbe({ approval }), withProbe({ approval, authorize: () => true }))).toEqual([
    `widening: ${removed}`,
  ]);
  expect(await changesTo(withProbe({ approval, authorize: () => true }), withProbe({ approval }))).toEqual([
    "narrowing: agent lost calls of probe: it has an authorize",
  ]);
});

test("queries without a role gain a function that is opened to everyone", async () => {
  expect(await changesTo(withProbe({ roles: "everyone" }), withProbe({}))).toEqual([
    "widening: a query without a role, customer gained probe",
  ]);
});

test("a role that gains a conditional function is decided call by call", async () => {
  const before = withProbe({ authorize: () => true });
  const after = withProbe({ roles: ["agent", "customer"], authorize: () => true });

  expect(await changesTo(after, before)).toEqual(["widening: customer gained probe, decided call by call"]);
});

test("new and removed cases are listed with their verdicts", async () => {
  const judged = (cases: Probe["cases"], allows = true): ServiceChanges =>
    withProbe({ authorize: () => allows, ...(cases && { cases }) });

  expect(await changesTo(judged({ one, two: one }), judged({ one }))).toEqual([
    "narrowing: case two of probe is new for agent: allowed",
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

test("a new role is compared with the access without a role", async () => {
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

test("the default role is compared", async () => {
  expect(await changesTo({ defaultRole: "customer" })).toEqual([
    "widening: a query without a role has the role customer, which may do more with get_order_details",
  ]);
  expect(await changesTo({}, { defaultRole: "agent" })).toEqual([
    "narrowing: a query without a role has no role instead of agent, which may do less with cancel_order, get_order_details",
  ]);
});

test("functions and roles with inherited names are compared", async () => {
  expect(await changesTo({ more: [probe({ name: "constructor" })] })).toEqual([
    "widening: function constructor is new: open to agent",
  ]);
  expect(await changesTo({ cancelRoles: ["agent", "toString"] })).toEqual([
    "narrowing: role toString is new",
    "widening: toString gained cancel_order",
  ]);
});

test("the lock does not depend on the order in the code, and has no arguments and messages", async () => {
  const two = [probe({ name: "a" }), probe({ name: "b" })];
  const text = async (more: ServiceChanges) => writeLock(await lockOf(orderService(more)));

  expect(await text({ more: two, cancelRoles: ["agent", "customer"] })).toBe(
    await text({ more: two.toReversed(), cancelRoles: ["customer", "agent"] }),
  );
  expect(await text({})).not.toMatch(/W1|ada|not permitted/);
});

test.each([
  ["{", /it is not JSON/],
  ["[]", /not a JSON object/],
  ['{"version":4,"functions":{}}', /version/],
  ['{"version":1,"functions":{"f":{"agent":"maybe"}}}', /functions\.f\.agent/],
  ['{"version":1,"functions":{},"more":1}', /more/],
])("the text %s is not a lock, for a reason", (text, reason) => {
  expect(() => parseLock(text)).toThrow(reason);
});

test("the lock of 50 functions and six roles is compared quickly", async () => {
  const roles = ["a", "b", "c", "d", "e", "f"];
  const functions = (most: number) =>
    Array.from({ length: 50 }, (_, i) => {
      const members = Array.from({ length: 8 }, (_, n) => [`m${n}`, z.number().max(most)] as const);
      const marked = members.map(([name, schema], n) => [name, visibleTo(schema, roles.slice(n % 6))] as const);
      return defineFunction({
        name: `f${i}`,
        description: "x",
        input: z.object(Object.fromEntries(members)),
        output: z.object({ items: z.array(z.object(Object.fromEntries(marked))) }),
        roles,
        authorize: ({ role }) => role === "a",
        handler: () => ({ items: [] }),
      });
    });
  const began = process.cpuUsage();
  const [before, after] = [100, 200].map((most) =>
    lockOf(defineService({ name: "large", functions: functions(most) })),
  );
  const changes = compareAccess(await before!, await after!);

  expect(changes.filter(({ kind }) => kind === "widening").length).toBeGreaterThan(400);
  expect(process.cpuUsage(began).user / 1000).toBeLessThan(2000);
});
