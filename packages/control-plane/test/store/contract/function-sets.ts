import type { FunctionManifest, Manifest, Roles } from "@patchbay/protocol";
import { expect, test } from "vitest";
import type { Store } from "../../../src/ports/stores.ts";
import { openWorld, sampleLink, type MakePlace, type World } from "./world.ts";

export function functionSetContract(place: MakePlace): void {
  test("a deployment keeps the place of its first hello, whenever its runtimes come back", async () => {
    await using world = await openWorld(place);
    await note(world, { deployment: "v1", roles: "everyone" });
    await note(world, { deployment: "v2", roles: ["admin"] });

    const again = await note(world, { deployment: "v1", roles: "everyone" });

    expect(again).toMatchObject({ fresh: false });
    expect(await order(world.store, world)).toEqual(["v1", "v2"]);
    const other = await world.another();
    expect(await order(other, world)).toEqual(["v1", "v2"]);
  });

  test("without a name each runtime counts from its own first hello", async () => {
    await using world = await openWorld(place);
    await note(world, { instance: "rt_1", roles: "everyone" });
    await note(world, { instance: "rt_2", roles: ["admin"] });

    await note(world, { instance: "rt_1", roles: "everyone" });
    await note(world, { instance: "rt_3", roles: "everyone" });

    expect(await order(world.store, world)).toEqual(["rt_1", "rt_2", "rt_3"]);
  });

  test("a runtime that serves another set from now on counts from there, also where it goes back", async () => {
    await using world = await openWorld(place);
    await note(world, { instance: "rt_1", roles: ["a"] });
    await note(world, { instance: "rt_2", roles: ["b"] });
    await note(world, { instance: "rt_1", roles: ["c"] });
    expect(await newest(world)).toBe("rt_1 desk:c");

    await note(world, { instance: "rt_1", roles: ["a"] });

    expect(await newest(world)).toBe("rt_1 desk:a");
  });

  test("a named deployment with a second set stays in its place, behind its first one", async () => {
    await using world = await openWorld(place);
    await note(world, { deployment: "v1", roles: ["a"] });
    await note(world, { deployment: "v2", roles: ["b"] });

    await note(world, { deployment: "v1", roles: "everyone" });

    expect(await order(world.store, world)).toEqual(["v1", "v1", "v2"]);
    expect(await newest(world)).toBe("v2 desk:b");
    // It replaces nothing, so that nothing is compared.
    expect((await world.store.runtimes.functionSets(world.agentId))[1]).toMatchObject({ widenings: [] });
  });

  test("a name and an instance id that are equal are two deployments", async () => {
    await using world = await openWorld(place);
    await note(world, { deployment: "rt_1", roles: ["a"] });

    await note(world, { instance: "rt_1", roles: ["a"] });

    expect(await world.store.runtimes.functionSets(world.agentId)).toMatchObject([{ named: true }, { named: false }]);
  });

  test("a set that widens access is stored with what it replaces and what it allows", async () => {
    await using world = await openWorld(place);
    const first = await note(world, { deployment: "v1", roles: ["admin"] });
    world.clock.advance(5);

    const second = await note(world, { deployment: "v2", roles: ["admin", "guest"] });
    const third = await note(world, { deployment: "v3", roles: ["admin"] });

    expect(first).toMatchObject({ fresh: true, widenings: [], confirmation: "none" });
    expect(first).not.toHaveProperty("replaces");
    expect(second).toMatchObject({ fresh: true, replaces: "desk:admin", confirmation: "none" });
    expect(second.widenings).toMatchObject([{ functionName: "wipe" }]);
    expect(third).toMatchObject({ replaces: "desk:admin,guest", widenings: [] });
    expect((await world.store.audit.list({ action: "access", limit: 9 })).items).toMatchObject([
      {
        action: "access.widened",
        agentId: world.agentId,
        keyId: "key_1",
        manifestHash: "desk:admin,guest",
        detail: { service: "desk", deployment: "v2", replaces: "desk:admin", count: 1 },
      },
    ]);
    expect(await world.store.runtimes.functionSets(world.agentId)).toMatchObject([
      { deployment: "v1", position: 1 },
      { deployment: "v2", position: 2, firstSeenAt: world.clock.now(), widenings: second.widenings },
      { deployment: "v3", position: 3 },
    ]);
  });

  test("the functions of a new service are new functions of the agent, and wait where changes are confirmed", async () => {
    await using world = await openWorld(place);
    await world.store.accounts.updateAgent(world.agentId, { accessChanges: "confirm" });
    const first = await note(world, { service: "desk", deployment: "v1", roles: ["admin"] });

    const renamed = await note(world, { service: "shop", deployment: "v1", roles: ["admin"] });
    const other = await note(world, { service: "mail", deployment: "v1", functionName: "send", roles: ["guest"] });
    const closed = await note(world, { service: "maps", deployment: "v1", functionName: "find", roles: [] });

    expect(first).toMatchObject({ widenings: [], confirmation: "none" });
    expect(renamed).toMatchObject({ widenings: [{ kind: "function", functionName: "wipe" }], confirmation: "pending" });
    expect(other).toMatchObject({ widenings: [{ kind: "function", functionName: "send" }], confirmation: "pending" });
    expect(closed).toMatchObject({ widenings: [], confirmation: "none" });
  });

  test("a default role widens access where it opens a function of another service", async () => {
    await using world = await openWorld(place);
    await world.store.accounts.updateAgent(world.agentId, { accessChanges: "confirm" });
    await note(world, { service: "crm", deployment: "v1", functionName: "delete_user", roles: ["admin"] });
    const mail = { service: "mail", functionName: "send", roles: [] };
    await note(world, { ...mail, deployment: "v1" });
    const text = 'A query without a role now has the role "admin", which may do more with delete_user of crm.';

    const redeployed = await note(world, { ...mail, deployment: "v2", defaultRole: "admin" });
    const added = await note(world, { ...mail, service: "maps", deployment: "v1", defaultRole: "admin" });
    const harmless = await note(world, { ...mail, deployment: "v3", defaultRole: "guest" });

    for (const wider of [redeployed, added])
      expect(wider).toMatchObject({ widenings: [{ kind: "defaultRole", text }], confirmation: "pending" });
    expect(harmless).toMatchObject({ widenings: [], confirmation: "none" });
  });

  test("a default role that another service already has widens nothing", async () => {
    await using world = await openWorld(place);
    const { agentId, store } = world;
    await note(world, {
      service: "crm",
      deployment: "v1",
      functionName: "list",
      roles: ["guest"],
      defaultRole: "guest",
    });
    await note(world, { service: "mail", deployment: "v1", functionName: "send", roles: ["guest"] });

    const same = await note(world, {
      service: "mail",
      deployment: "v2",
      functionName: "send",
      roles: ["guest"],
      defaultRole: "guest",
    });

    expect(same).toMatchObject({ fresh: true, widenings: [] });
    expect(await store.runtimes.functionSets(agentId)).toHaveLength(3);
  });

  test("each service has an order of its own", async () => {
    await using world = await openWorld(place);
    await note(world, { service: "desk", deployment: "v1", roles: ["a"] });
    await note(world, { service: "mail", deployment: "v1", functionName: "send", roles: ["a"] });
    await note(world, { service: "desk", deployment: "v2", roles: ["b"] });

    const sets = await world.store.runtimes.functionSets(world.agentId);

    expect(sets.map((set) => [set.service, set.deployment, set.position])).toEqual([
      ["desk", "v1", 1],
      ["desk", "v2", 2],
      ["mail", "v1", 1],
    ]);
  });

  test("the order names the newest set of each service and those that runtimes have", async () => {
    await using world = await openWorld(place);
    for (const [version, roles] of [
      ["v1", ["a"]],
      ["v2", ["b"]],
      ["v3", ["c"]],
    ] as const)
      await note(world, { deployment: version, roles: [...roles] });
    await world.store.runtimes.linkOpened(sampleLink({ deployment: "v1", manifestHash: "desk:a" }));

    const sets = await world.store.runtimes.setOrder(world.agentId);

    expect(sets.map(({ deployment }) => deployment).sort()).toEqual(["v1", "v3"]);
    expect(await world.store.runtimes.setOrder("agt_none")).toEqual([]);
  });

  test("sets that are noted at the same time by several replicas have places of their own", async () => {
    await using world = await openWorld(place);
    const replicas = [world.store, await world.another(), await world.another()];
    const names = Array.from({ length: 12 }, (_, i) => `v${i}`);

    await Promise.all(
      names.flatMap((deployment, i) =>
        // The same deployment says hello to two replicas.
        [0, 1].map((by) => note({ ...world, store: replicas[(i + by) % 3]! }, { deployment, roles: [`role${i}`] })),
      ),
    );

    const sets = await world.store.runtimes.functionSets(world.agentId);
    expect(sets.map(({ deployment }) => deployment).sort()).toEqual([...names].sort());
    expect(sets.map(({ position }) => position)).toEqual(names.map((_, i) => i + 1));
  });

  test("where the agent confirms changes of access, a set that widens it waits, and the set before it stays in use", async () => {
    await using world = await openWorld(place);
    const { accounts, runtimes } = world.store;
    await accounts.updateAgent(world.agentId, { accessChanges: "confirm" });
    await note(world, { deployment: "v1", roles: ["a"] });

    const wider = await note(world, { deployment: "v2", roles: ["a", "b"] });
    const next = await note(world, { deployment: "v3", roles: ["a", "b", "c"] });
    const narrower = await note(world, { deployment: "v4", roles: [] });

    expect(wider).toMatchObject({ replaces: "desk:a", confirmation: "pending" });
    // What waits is not in use: the next set is compared with the one before.
    expect(next).toMatchObject({ replaces: "desk:a", confirmation: "pending" });
    expect(narrower).toMatchObject({ replaces: "desk:a", confirmation: "none" });
    expect((await runtimes.setOrder(world.agentId)).map((set) => [set.deployment, set.pending])).toEqual(
      expect.arrayContaining([
        ["v4", false],
        ["v3", true],
      ]),
    );
  });

  test("a confirmation is for the newest deployment that waits with the set, once, and names the member", async () => {
    await using world = await openWorld(place);
    const { accounts, console, runtimes } = world.store;
    const { agentId, orgId, clock } = world;
    await accounts.updateAgent(agentId, { accessChanges: "confirm" });
    await note(world, { deployment: "v1", roles: ["a"] });
    await note(world, { deployment: "v2", roles: ["a", "b"] });
    await note(world, { deployment: "v3", roles: ["a", "b"] });
    clock.advance(5);

    expect(await runtimes.confirmSet(agentId, "desk:a", { by: "mem_1" })).toBe(false);
    expect(await runtimes.confirmSet("agt_none", "desk:a,b", { by: "mem_1" })).toBe(false);
    expect(await runtimes.confirmSet(agentId, "desk:a,b", { by: "mem_1" })).toBe(true);

    const first = await console.functions.widened(orgId, agentId, { limit: 1 });
    const rest = await console.functions.widened(orgId, agentId, { limit: 1, cursor: first.nextCursor! });
    expect(first.items).toMatchObject([
      { deployment: "v3", confirmation: "confirmed", confirmedBy: "mem_1", confirmedAt: clock.now() },
    ]);
    expect(rest).toMatchObject({ items: [{ deployment: "v2", confirmation: "pending" }], nextCursor: null });
    expect(await console.functions.widened("org_none", agentId, { limit: 9 })).toMatchObject({ items: [] });
    expect(await runtimes.confirmSet(agentId, "desk:a,b", { by: "mem_2" })).toBe(true);
    expect(await runtimes.confirmSet(agentId, "desk:a,b", { by: "mem_2" })).toBe(false);
  });

  test("a set that waits for a confirmation waits on where the agent asks for none any more", async () => {
    await using world = await openWorld(place);
    const { accounts, runtimes } = world.store;
    await accounts.updateAgent(world.agentId, { accessChanges: "confirm" });
    await note(world, { deployment: "v1", roles: ["a"] });
    await note(world, { deployment: "v2", roles: ["a", "b"] });

    await accounts.updateAgent(world.agentId, { accessChanges: "follow" });

    const order = await runtimes.setOrder(world.agentId);
    expect(order.map((set) => [set.deployment, set.pending])).toEqual(
      expect.arrayContaining([
        ["v1", false],
        ["v2", true],
      ]),
    );
  });

  test("a set whose predecessor is no longer stored widens all that it allows", async () => {
    await using world = await openWorld(place);
    const { agentId, store } = world;
    await note(world, { deployment: "v1", roles: ["a"] });
    const set = { service: "desk", deployment: "v2", named: true, manifestHash: "not stored" };
    await store.runtimes.noteSet(agentId, set, manifestOf("desk", "wipe", []), { keyId: "key_1" });

    const next = await note(world, { deployment: "v3", roles: ["a"] });

    expect(next.widenings).toMatchObject([{ functionName: "wipe" }]);
  });

  test("the oldest sets are forgotten after 1,000 further ones, but not those that are connected or the newest of a service", async () => {
    await using world = await openWorld(place);
    const { runtimes } = world.store;
    await note(world, { service: "mail", deployment: "only", functionName: "send", roles: ["a"] });
    await note(world, { deployment: "connected", roles: ["a"] });
    await runtimes.linkOpened(sampleLink({ deployment: "connected", manifestHash: "desk:a" }));
    await note(world, { deployment: "gone", roles: ["a"] });

    await world.place.execute("update agents set last_set_position = 1003");

    await note(world, { deployment: "new", roles: ["a"] });

    const kept = (await runtimes.functionSets(world.agentId)).map(({ deployment }) => deployment);
    expect(kept).toEqual(["connected", "new", "only"]);
  });

  test("no set is noted for an agent that is not there", async () => {
    await using world = await openWorld(place);

    await expect(note({ ...world, agentId: "agt_none" }, { deployment: "v1", roles: ["a"] })).rejects.toThrow();
  });
}

interface Noted {
  service?: string;
  deployment?: string;
  instance?: string;
  functionName?: string;
  roles: Roles;
  defaultRole?: string;
}

async function note({ store, agentId }: Pick<World, "store" | "agentId">, noted: Noted) {
  const { service = "desk", deployment, instance = "", functionName = "wipe", roles, defaultRole } = noted;
  const manifest: Manifest = {
    ...manifestOf(service, functionName, roles),
    ...(defaultRole !== undefined && { defaultRole }),
  };
  const manifestHash = `${service}:${String(roles)}${defaultRole === undefined ? "" : ` by default ${defaultRole}`}`;
  await store.runtimes.saveManifest(agentId, manifestHash, manifest);
  const named = deployment !== undefined;
  const set = { service, deployment: deployment ?? instance, named, manifestHash };
  return store.runtimes.noteSet(agentId, set, manifest, { keyId: "key_1" });
}

function manifestOf(name: string, functionName: string, roles: Roles): Manifest {
  const one: FunctionManifest = {
    name: functionName,
    description: "",
    inputSchema: { type: "object" },
    roles,
    conditional: false,
    effect: "write",
    idempotent: false,
    timeoutMs: 1_000,
  };
  return { name, preparesContext: false, functions: [one] };
}

async function order({ runtimes }: Store, { agentId }: World): Promise<string[]> {
  return (await runtimes.functionSets(agentId)).map(({ deployment }) => deployment);
}

async function newest({ store, agentId }: World): Promise<string | undefined> {
  const sets = await store.runtimes.functionSets(agentId);
  const last = sets.at(-1);
  return last && `${last.deployment} ${last.manifestHash}`;
}
