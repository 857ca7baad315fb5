import { expect, test } from "vitest";
import type { NewCredential } from "../../../src/ports/stores.ts";
import { openWorld, type MakePlace } from "./world.ts";

export function accountContract(place: MakePlace): void {
  const key = (agentId: string, change: Partial<NewCredential> = {}): NewCredential => ({
    credentialId: "key_1",
    kind: "api",
    agentId,
    hash: "h1",
    hint: "abcd…wxyz",
    ...change,
  });

  test("organisations and agents are found as they were made", async () => {
    await using world = await openWorld(place);
    const { accounts } = world.store;
    const agent = { agentId: world.agentId, orgId: world.orgId, name: "Clerk", instructions: "" };

    expect(await accounts.listOrgs()).toEqual([{ orgId: world.orgId, name: "Desk", tier: "starter" }]);
    expect(await accounts.getOrg("org_none")).toBeUndefined();
    expect(await accounts.listAgents()).toEqual([agent]);
    expect(await accounts.listAgents("org_none")).toEqual([]);
    expect(await accounts.updateAgent(world.agentId, { instructions: "Be brief." })).toBe(true);
    expect(await accounts.updateAgent(world.agentId, {})).toBe(true);
    expect(await accounts.updateAgent("agt_none", { name: "x" })).toBe(false);
    expect(await accounts.getAgent(world.agentId)).toEqual({ ...agent, instructions: "Be brief." });
  });

  test("a credential is found by its kind and hash, with its organisation's tier", async () => {
    await using world = await openWorld(place);
    const { accounts } = world.store;
    const created = key(world.agentId, { roles: ["manager"], label: "till", expiresAt: world.clock.now() + 1 });
    await accounts.createCredential(created);

    const found = await accounts.findCredential("api", "h1");

    expect(found).toEqual({ ...created, orgId: world.orgId, tier: "starter", createdAt: world.clock.now() });
    expect(await accounts.findCredential("runtime", "h1")).toBeUndefined();
    expect(await accounts.findCredential("api", "h2")).toBeUndefined();
    expect(await accounts.listCredentials("api", world.agentId)).toEqual([found]);
    expect(await accounts.listCredentials("runtime", world.agentId)).toEqual([]);
  });

  test("a revoked, expired or orphaned credential opens nothing", async () => {
    await using world = await openWorld(place);
    const { accounts } = world.store;
    await accounts.createCredential(key(world.agentId));
    await accounts.createCredential(
      key(world.agentId, { credentialId: "key_2", hash: "h2", expiresAt: world.clock.now() + 5 }),
    );
    await accounts.createCredential(key(world.agentId, { credentialId: "key_3", hash: "h3" }));

    expect(await accounts.revokeCredential("runtime", "key_1")).toBeUndefined();
    expect(await accounts.revokeCredential("api", "key_1")).toEqual({ orgId: world.orgId, agentId: world.agentId });
    world.clock.advance(5);

    expect(await accounts.findCredential("api", "h1")).toBeUndefined();
    expect(await accounts.findCredential("api", "h2")).toBeUndefined();
    expect(await accounts.findCredential("api", "h3")).toBeDefined();
    expect(await accounts.deleteAgent(world.agentId)).toBe(true);
    expect(await accounts.findCredential("api", "h3")).toBeUndefined();
    expect(await accounts.deleteAgent(world.agentId)).toBe(false);
    expect(await accounts.getAgent(world.agentId)).toBeUndefined();
    expect(await accounts.listAgents()).toEqual([]);
  });

  test("the last use is remembered to the minute", async () => {
    await using world = await openWorld(place);
    const { accounts } = world.store;
    await accounts.createCredential(key(world.agentId));
    const used = world.clock.now();
    const lastUse = async () => (await accounts.findCredential("api", "h1"))?.lastUsedAt;

    await accounts.touchCredential("key_1");
    world.clock.advance(59_999);
    await accounts.touchCredential("key_1");
    expect(await lastUse()).toBe(used);
    world.clock.advance(1);
    await accounts.touchCredential("key_1");

    expect(await lastUse()).toBe(used + 60_000);
  });

  test("two secrets cannot share a hash, and none is stored for an agent that is not there", async () => {
    await using world = await openWorld(place);
    await world.store.accounts.createCredential(key(world.agentId));

    await expect(
      world.store.accounts.createCredential(key(world.agentId, { credentialId: "key_2" })),
    ).rejects.toThrow();
    await expect(world.store.accounts.createCredential(key("agt_none", { hash: "h2" }))).rejects.toThrow();
  });
}
