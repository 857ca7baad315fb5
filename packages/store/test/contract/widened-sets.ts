import { expect, test } from "vitest";
import { isoTime } from "@patchbay/kit";
import { manifestOf, note } from "./noted-sets.ts";
import { openWorld, type MakePlace } from "./world.ts";

export function widenedSetContract(place: MakePlace): void {
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

  test("of two sets that are stored at the same time, the second is compared with the first", async () => {
    await using world = await openWorld(place);
    await note(world, { deployment: "v1", roles: ["admin"] });

    await Promise.all([
      note(world, { deployment: "v2", roles: ["admin", "guest"] }),
      note(world, { deployment: "v3", roles: ["admin", "guest", "staff"] }),
    ]);

    const [, first, second] = await world.store.runtimes.functionSets(world.agentId);
    expect(second).toMatchObject({ replaces: first!.manifestHash });
    const texts = [...first!.widenings, ...second!.widenings].map(({ text }) => text).join(" ");
    expect(texts.match(/guest|staff/g)?.sort()).toEqual(["guest", "staff"]);
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

  test("different sets that are offered at the same time are compared each by itself", async () => {
    await using world = await openWorld(place);
    await world.store.accounts.updateAgent(world.agentId, { accessChanges: "confirm" });
    await note(world, { deployment: "v1", roles: ["admin"] });

    // A set that waits for a confirmation is not in use, so that the others are compared with the same set as it.
    const [wider, harmless, another] = await Promise.all([
      note(world, { deployment: "v2", roles: ["admin", "guest"] }),
      note(world, { deployment: "v3", roles: [] }),
      note(world, { deployment: "v4", roles: ["admin", "boss"] }),
    ]);

    expect([wider.confirmation, harmless.confirmation, another.confirmation]).toEqual(["pending", "none", "pending"]);
    expect(JSON.stringify(wider.widenings)).toContain("guest");
    expect(harmless.widenings).toEqual([]);
    expect(JSON.stringify(another.widenings)).toContain("boss");
  });

  test("a default role widens access where it opens a function of another service", async () => {
    await using world = await openWorld(place);
    await world.store.accounts.updateAgent(world.agentId, { accessChanges: "confirm" });
    await note(world, { service: "crm", deployment: "v1", functionName: "delete_user", roles: ["admin"] });
    const mail = { service: "mail", functionName: "send", roles: [] };
    await note(world, { ...mail, deployment: "v1" });
    const text = "a query without a role has the role admin, which may do more with delete_user of crm.";

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

  test("a confirmation is for all deployments that wait with the set, once, and names the member", async () => {
    await using world = await openWorld(place);
    const { accounts, runtimes } = world.store;
    const { console } = world;
    const { agentId, orgId, clock } = world;
    await accounts.updateAgent(agentId, { accessChanges: "confirm" });
    await note(world, { deployment: "v1", roles: ["a"] });
    await note(world, { deployment: "v2", roles: ["a", "b"] });
    await note(world, { deployment: "v3", roles: ["a", "b"] });
    await note(world, { deployment: "v4", roles: ["a", "c"] });
    clock.advance(5);

    expect(await runtimes.confirmSet(agentId, "desk:a", { by: "mem_1" })).toBe(false);
    expect(await runtimes.confirmSet("agt_none", "desk:a,b", { by: "mem_1" })).toBe(false);
    expect(await runtimes.confirmSet(agentId, "desk:a,b", { by: "mem_1" })).toBe(true);

    const first = await console.access.widened({ orgId, agentId }, { limit: 2 });
    const rest = await console.access.widened({ orgId, agentId }, { limit: 2, cursor: first.nextCursor! });
    expect([...first.items, ...rest.items].map(({ newest }) => newest)).toEqual([true, false, false]);
    const confirmed = { confirmation: "confirmed", confirmedBy: "mem_1", confirmedAt: isoTime(clock.now()) };
    expect(first.items).toMatchObject([
      { deployment: "v4", confirmation: "pending" },
      { deployment: "v3", ...confirmed },
    ]);
    expect(rest).toMatchObject({ items: [{ deployment: "v2", ...confirmed }], nextCursor: null });
    expect(await console.access.widened({ orgId: "org_none", agentId }, { limit: 9 })).toMatchObject({ items: [] });
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
}
