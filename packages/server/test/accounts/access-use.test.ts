import type { FunctionManifest, Manifest } from "@patchbay/protocol";
import { expect, test } from "vitest";
import { type AccessUse, accessUse } from "../../src/accounts/access-use.ts";
import { openWorld, type World } from "../../../store/test/contract/world.ts";
import { sqlitePlace } from "../../../store/test/sqlite-place.ts";

const DAY_MS = 86_400_000;

test("a right is used, unused since it was granted, or new", async () => {
  await using world = await openWorld(sqlitePlace);
  await connect(world, "v1", serviceOf({ read: ["clerk", "boss"], write: ["clerk", "boss"] }));
  world.clock.advance(100 * DAY_MS);
  await call(world, "read", "clerk");
  const usedAt = new Date(world.clock.now()).toISOString();
  const manifest = serviceOf({ read: ["clerk", "boss", "guest"], write: ["clerk", "boss"], wipe: ["boss"] });
  await connect(world, "v2", manifest);
  world.clock.advance(5 * DAY_MS);

  const { rights, suggestion } = await askedOf(world, manifest, 90);

  const unused = { verdict: "unused", calls: 0, lastUsedAt: null, grantedDays: 105, atLeast: false };
  expect(rights).toEqual([
    { ...unused, functionName: "read", role: "boss" },
    { ...unused, functionName: "read", role: "clerk", verdict: "used", calls: 1, lastUsedAt: usedAt },
    { ...unused, functionName: "read", role: "guest", verdict: "new", grantedDays: 5 },
    { ...unused, functionName: "wipe", role: "boss", verdict: "new", grantedDays: 5 },
    { ...unused, functionName: "write", role: "boss" },
    { ...unused, functionName: "write", role: "clerk" },
  ]);
  expect(suggestion).toEqual({ read: ["clerk", "guest"], wipe: ["boss"], write: [] });
});

test("a right that was withdrawn in between counts from its return", async () => {
  await using world = await openWorld(sqlitePlace);
  for (const roles of [["clerk"], ["boss"], ["boss", "clerk"]]) {
    await connect(world, `v${roles.join()}`, serviceOf({ read: roles }));
    world.clock.advance(50 * DAY_MS);
  }

  const { rights } = await askedOf(world, serviceOf({ read: ["boss", "clerk"] }), 90);

  expect(rights.map(({ role, grantedDays, verdict }) => [role, grantedDays, verdict])).toEqual([
    ["boss", 100, "unused"],
    ["clerk", 50, "new"],
  ]);
});

test("a right is at least as old as the oldest stored set, and unknown when none was connected", async () => {
  await using world = await openWorld(sqlitePlace);
  const manifest = serviceOf({ read: ["clerk"] });
  await connect(world, "v1", manifest);
  world.clock.advance(DAY_MS);
  await connect(world, "v2", serviceOf({ read: ["clerk"], other: ["clerk"] }));
  await world.place.execute(`delete from manifests where hash = 'hash_v1'`);

  const known = await askedOf(world, manifest, 90);
  const unknown = await askedOf(world, serviceOf({ never: ["clerk"] }), 90);

  expect(known.rights).toMatchObject([{ grantedDays: 0, atLeast: true, verdict: "unused" }]);
  expect(unknown.rights).toMatchObject([{ grantedDays: null, verdict: "new" }]);
});

test("a function for everyone stays so while queries without a known role use it", async () => {
  await using world = await openWorld(sqlitePlace);
  const manifest = serviceOf({ hours: "everyone", help: "everyone", read: ["clerk"] });
  await connect(world, "v1", manifest);
  world.clock.advance(100 * DAY_MS);
  await call(world, "hours", "stranger");
  await call(world, "help", "clerk");

  const { rights, suggestion } = await askedOf(world, manifest, 90);

  expect(suggestion).toEqual({ hours: "everyone", help: ["clerk"], read: [] });
  expect(rights.filter(({ verdict }) => verdict === "used")).toMatchObject([
    { functionName: "help", role: "clerk" },
    { functionName: "hours", role: null },
  ]);
});

test("a role keeps the functions of a role that it includes while that one uses them", async () => {
  await using world = await openWorld(sqlitePlace);
  const roleOptions = { boss: { includes: ["clerk"] } };
  const manifest = { ...serviceOf({ read: ["clerk", "boss"], write: ["clerk", "boss"] }), roleOptions };
  await connect(world, "v1", manifest);
  world.clock.advance(100 * DAY_MS);
  await call(world, "read", "clerk");
  await call(world, "write", "boss");

  const { rights, suggestion, refused } = await askedOf(world, manifest, 90);

  expect(rights.map(({ functionName, role, verdict, from }) => [functionName, role, verdict, from])).toEqual([
    ["read", "boss", "unused", ["clerk"]],
    ["read", "clerk", "used", undefined],
    ["write", "boss", "used", ["clerk"]],
    ["write", "clerk", "unused", undefined],
  ]);
  expect(suggestion).toEqual({ read: ["clerk", "boss"], write: ["boss"] });
  expect(refused.allCalls).toBe(0);
});

test("kept roles and functions stay, and what the suggestion would have refused is counted", async () => {
  await using world = await openWorld(sqlitePlace);
  const manifest = serviceOf({ read: ["clerk", "boss"], write: ["clerk", "boss"], wipe: ["clerk", "oncall"] });
  await connect(world, "v1", manifest);
  await call(world, "read", "boss");
  await call(world, "read", "boss");
  const lastAt = new Date(world.clock.now()).toISOString();
  world.clock.advance(100 * DAY_MS);
  await call(world, "read", "clerk");
  await call(world, "wipe", "boss", "roles");

  const { suggestion, refused, denied } = await askedOf(world, manifest, 90, ["write", "oncall"]);

  expect(suggestion).toEqual({ read: ["clerk"], wipe: ["oncall"], write: ["clerk", "boss"] });
  const lost = [{ functionName: "read", role: "boss", allCalls: 2, lastAt }];
  expect(refused).toEqual({ calls: 0, allCalls: 2, rights: lost });
  expect(denied).toMatchObject([{ functionName: "wipe", role: "boss", rule: "roles", calls: 1 }]);
});

test("a suggestion refuses no call of its period, whatever was called", async () => {
  await using world = await openWorld(sqlitePlace);
  const roles = ["a", "b", "c"];
  const manifest = serviceOf({ one: roles, two: "everyone", three: ["a"], four: [...roles, "d"] });
  await connect(world, "v1", manifest);
  world.clock.advance(20 * DAY_MS);
  let seed = 7;
  const next = (below: number): number => (seed = (seed * 16_807) % 2_147_483_647) % below;
  for (let i = 0; i < 60; i++) {
    const name = ["one", "two", "three", "four"][next(4)]!;
    await call(world, name, [undefined, "a", "b", "c", "x"][next(5)]);
    if (i % 20 === 0) world.clock.advance(DAY_MS);
    if (i === 40) await world.store.audit.seal();
    const { refused } = await askedOf(world, manifest, 2);
    expect(refused.calls, `after call ${i + 1}`).toBe(0);
  }
});

const functionOf = (name: string, roles: FunctionManifest["roles"]): FunctionManifest => ({
  name,
  description: name,
  inputSchema: { type: "object" },
  roles,
  conditional: false,
  effect: "read",
  idempotent: true,
  timeoutMs: 1_000,
});

const serviceOf = (functions: Record<string, FunctionManifest["roles"]>): Manifest => ({
  name: "desk",
  preparesContext: false,
  functions: Object.entries(functions).map(([name, roles]) => functionOf(name, roles)),
});

async function connect({ store, agentId }: World, deployment: string, manifest: Manifest): Promise<void> {
  const manifestHash = `hash_${deployment}`;
  await store.runtimes.saveManifest(agentId, manifestHash, manifest);
  await store.runtimes.noteSet(agentId, { service: "desk", deployment, named: true, manifestHash }, manifest, {
    keyId: "rtk_1",
  });
}

const call = ({ store, orgId, agentId }: World, functionName: string, role?: string, rule?: string) =>
  store.audit.record([
    {
      orgId,
      agentId,
      functionName,
      action: rule === undefined ? "call.succeeded" : "call.denied",
      ...(role !== undefined && { role }),
      ...(rule !== undefined && { rule }),
    },
  ]);

const askedOf = (
  { store, agentId, clock }: World,
  manifest: Manifest,
  days: number,
  keep: string[] = [],
): Promise<AccessUse> => accessUse(store, { agentId, manifest, since: clock.now() - days * DAY_MS, keep });
