import { expect, test } from "vitest";
import type { NewCredential } from "@patchbay/engine/ports/store/stores";
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

  test("organisations and agents are read as they were created", async () => {
    await using world = await openWorld(place);
    const { accounts } = world.store;
    const { agentId, orgId } = world;
    const agent = { agentId, orgId, name: "Clerk", instructions: "", accessChanges: "follow", settings: {} };

    expect(await accounts.listOrgs()).toEqual([{ orgId: world.orgId, name: "Desk", tier: "starter" }]);
    expect(await accounts.getOrg("org_none")).toBeUndefined();
    expect(await accounts.listAgents()).toEqual([agent]);
    expect(await accounts.listAgents("org_none")).toEqual([]);
    const brief = { ...agent, instructions: "Be brief." };
    expect(await accounts.updateAgent(agentId, { instructions: "Be brief." })).toEqual({ before: agent, after: brief });
    expect(await accounts.updateAgent(agentId, {})).toEqual({ before: brief, after: brief });
    expect(await accounts.updateAgent("agt_none", { name: "x" })).toBeUndefined();
    expect(await accounts.getAgent(agentId)).toEqual(brief);
    await accounts.updateAgent(agentId, { accessChanges: "confirm" });
    expect(await accounts.getAgent(world.agentId)).toMatchObject({ name: "Clerk", accessChanges: "confirm" });
    expect(await world.console.agents.get({ orgId, agentId })).toMatchObject({ accessChanges: "confirm" });
  });

  test("an organisation's audit key is made once, also by several stores", async () => {
    await using world = await openWorld(place);
    const { accounts } = world.store;
    const keys = await Promise.all([1, 2, 3].map(() => accounts.auditKey(world.orgId)));

    expect(keys[0]).toMatch(/^[0-9a-f]{64}$/);
    expect(new Set(keys).size).toBe(1);
    expect(await accounts.auditKey(world.orgId)).toBe(keys[0]);
    await expect(accounts.auditKey("org_none")).rejects.toThrow("has no row");
  });

  test("settings of an agent are changed one by one, and null clears one", async () => {
    await using world = await openWorld(place);
    const { accounts } = world.store;
    const { console } = world;
    const { agentId, orgId } = world;
    const responseSchema = { type: "object", properties: { "10": {}, b: { const: "\u6f22" }, a: {} } };
    const fallback = [{ provider: "openai" as const, model: "m-2" }, { provider: "gemini" as const }];

    await accounts.updateAgent(agentId, { settings: { temperature: 0.2, steps: 3, responseSchema, fallback } });
    const changed = await accounts.updateAgent(agentId, {
      settings: { temperature: null, steps: 4, locked: ["model"] },
    });

    const settings = { steps: 4, responseSchema, fallback, locked: ["model"] };
    expect(changed).toMatchObject({ before: { settings: { temperature: 0.2, steps: 3 } } });
    expect(changed?.after.settings).toEqual(settings);
    expect((await accounts.getAgent(agentId))?.settings).toEqual(settings);
    expect((await console.agents.get({ orgId, agentId }))?.settings).toEqual(settings);
    expect(JSON.stringify((await accounts.getAgent(agentId))?.settings.responseSchema)).toBe(
      JSON.stringify(responseSchema),
    );
    await accounts.updateAgent(agentId, {
      name: "Desk",
      settings: { fallback: [], locked: null, responseSchema: null },
    });
    expect(await accounts.getAgent(agentId)).toMatchObject({ name: "Desk", settings: { steps: 4 } });
    expect((await accounts.getAgent(agentId))?.settings).toEqual({ steps: 4 });
  });

  test("simultaneous changes of different settings all apply", async () => {
    await using world = await openWorld(place);
    const { accounts } = world.store;
    const changes = [{ temperature: 1 }, { steps: 7 }, { maxTokens: 5 }, { historyTokens: 2_000 }, { maxCostUsd: 0.5 }];

    await Promise.all(changes.map((settings) => accounts.updateAgent(world.agentId, { settings })));

    expect((await accounts.getAgent(world.agentId))?.settings).toEqual(Object.assign({}, ...changes));
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

  test("a credential of an agent that requires callers needs a proof, whatever else its settings hold", async () => {
    await using world = await openWorld(place);
    const { accounts } = world.store;
    await accounts.createCredential(key(world.agentId));
    const needs = async () => (await accounts.findCredential("api", "h1"))?.needsProof;
    const description = '"callers":"required"';

    await accounts.updateAgent(world.agentId, { settings: { responseSchema: { type: "object", description } } });
    expect(await needs()).toBeUndefined();
    await accounts.updateAgent(world.agentId, { settings: { callers: "required" } });
    expect(await needs()).toBe(true);
    await accounts.updateAgent(world.agentId, { settings: { callers: "optional" } });
    expect(await needs()).toBeUndefined();
  });

  test("a rotated credential is valid until its overlap ends, and its successor after that", async () => {
    await using world = await openWorld(place);
    const { accounts } = world.store;
    await accounts.createCredential(key(world.agentId, { roles: ["manager"], label: "till" }));
    const fresh = { credentialId: "key_2", hash: "h2", hint: "efgh…stuv" };

    const rotated = await accounts.rotateCredential("api", "key_1", fresh, 5_000);

    const owner = { orgId: world.orgId, agentId: world.agentId };
    expect(rotated).toEqual({ kind: "rotated", ...owner, roles: ["manager"], oldEndsAt: world.clock.now() + 5_000 });
    expect(await accounts.findCredential("api", "h2")).toMatchObject({ ...fresh, roles: ["manager"], label: "till" });
    world.clock.advance(4_999);
    expect(await accounts.findCredential("api", "h1")).toBeDefined();
    expect(await accounts.validCredentials(["key_1", "key_2"])).toEqual(new Set(["key_1", "key_2"]));
    world.clock.advance(1);
    expect(await accounts.findCredential("api", "h1")).toBeUndefined();
    expect(await accounts.validCredentials(["key_1", "key_2"])).toEqual(new Set(["key_2"]));
    expect(await accounts.rotateCredential("api", "key_1", { ...fresh, credentialId: "key_3", hash: "h3" }, 0)).toEqual(
      {
        kind: "over",
      },
    );
  });

  test("a credential rotated without overlap is revoked; an unknown one or another kind is not found", async () => {
    await using world = await openWorld(place);
    const { accounts } = world.store;
    await accounts.createCredential(key(world.agentId));
    const fresh = { credentialId: "key_2", hash: "h2", hint: "" };

    expect(await accounts.rotateCredential("runtime", "key_1", fresh, 0)).toBeUndefined();
    expect(await accounts.rotateCredential("api", "key_none", fresh, 0)).toBeUndefined();
    expect(await accounts.rotateCredential("api", "key_1", fresh, 0)).toMatchObject({ kind: "rotated" });

    expect(await accounts.listCredentials("api", world.agentId)).toMatchObject([
      { credentialId: "key_1", revokedAt: world.clock.now() },
      { credentialId: "key_2" },
    ]);
    expect(await accounts.findCredential("api", "h1")).toBeUndefined();
  });

  test("a revoked or expired credential, or one of a deleted agent, is invalid", async () => {
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

  test("the valid ones of many credentials are returned", async () => {
    await using world = await openWorld(place);
    const { accounts } = world.store;
    await accounts.createAgent({ agentId: "agt_2", orgId: world.orgId, name: "Gone", instructions: "" });
    const expiresAt = world.clock.now() + 5;
    await accounts.createCredential(key(world.agentId));
    await accounts.createCredential(key(world.agentId, { credentialId: "key_2", hash: "h2", kind: "runtime" }));
    await accounts.createCredential(key(world.agentId, { credentialId: "revoked", hash: "h3" }));
    await accounts.createCredential(key(world.agentId, { credentialId: "expired", hash: "h4", expiresAt }));
    await accounts.createCredential(key("agt_2", { credentialId: "orphan", hash: "h5" }));
    await accounts.revokeCredential("api", "revoked");
    await accounts.deleteAgent("agt_2");
    const strangers = Array.from({ length: 40_000 }, (_, i) => `key_none_${i}`);
    const asked = ["expired", "key_1", "revoked", ...strangers, "orphan", "key_2"];

    expect(await accounts.validCredentials(asked)).toEqual(new Set(["expired", "key_1", "key_2"]));
    world.clock.advance(5);

    expect(await accounts.validCredentials(asked)).toEqual(new Set(["key_1", "key_2"]));
    expect(await accounts.validCredentials([])).toEqual(new Set());
  });

  test("queries are counted by the minute of the database's clock, over all stores", async () => {
    await using world = await openWorld(place);
    const other = await world.another();
    await world.store.accounts.createOrg({ orgId: "org_2", name: "Other", tier: "starter" });
    world.clock.advance(59_000);

    const counted = await Promise.all(
      [world.store, other, world.store, other].map((store) => store.accounts.countQuery(world.orgId)),
    );

    expect(new Set(counted.map(({ count }) => count))).toEqual(new Set([1, 2, 3, 4]));
    for (const { msLeft } of counted) expect(msLeft).toBe(1_000);
    expect(await other.accounts.countQuery("org_2")).toEqual({ count: 1, msLeft: 1_000 });
    world.clock.advance(1_000);
    expect(await world.store.accounts.countQuery(world.orgId)).toEqual({ count: 1, msLeft: 60_000 });
    await expect(world.store.accounts.countQuery("org_none")).rejects.toThrow();
  });

  test("an agent is read with the balance of its organisation", async () => {
    await using world = await openWorld(place);
    const { accounts } = world.store;
    const [agent] = await accounts.listAgents(world.orgId);
    const before = await accounts.agentWithBalance(agent!.agentId);
    await accounts.grant(world.orgId, 500);
    await world.store.webhooks.set({ ...world, url: "https://example.com", secret: "s" });

    expect(before).toEqual({ ...agent, hasWebhook: false, balanceMicros: (await accounts.balance(world.orgId)) - 500 });
    expect(await accounts.agentWithBalance(agent!.agentId)).toEqual({
      ...agent,
      hasWebhook: true,
      balanceMicros: before!.balanceMicros + 500,
    });
    await accounts.deleteAgent(agent!.agentId);
    expect(await accounts.agentWithBalance(agent!.agentId)).toBeUndefined();
  });

  test("each of many queries that arrive together gets its own count", async () => {
    await using world = await openWorld(place);
    const other = await world.another();
    const count = (store: typeof other) => store.accounts.countQuery(world.orgId);

    const counted = await Promise.all(Array.from({ length: 100 }, (_, at) => count(at % 2 ? world.store : other)));

    expect(counted.map(({ count }) => count).toSorted((one, next) => one - next)).toEqual(
      Array.from({ length: 100 }, (_, at) => at + 1),
    );
    await Promise.all(
      Array.from({ length: 3 }, () => expect(world.store.accounts.countQuery("org_none")).rejects.toThrow()),
    );
    expect(await count(world.store)).toMatchObject({ count: 101 });
  });

  test("the last use is stored once a minute", async () => {
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

  test("two secrets cannot share a hash, and an unknown agent gets no credential", async () => {
    await using world = await openWorld(place);
    await world.store.accounts.createCredential(key(world.agentId));

    await expect(
      world.store.accounts.createCredential(key(world.agentId, { credentialId: "key_2" })),
    ).rejects.toThrow();
    await expect(world.store.accounts.createCredential(key("agt_none", { hash: "h2" }))).rejects.toThrow();
  });

  test("the first requests of one caller without a key store one credential, also at the same time", async () => {
    await using world = await openWorld(place);
    await world.store.accounts.updateAgent(world.agentId, { settings: { callers: "keyless" } });
    const caller = key(world.agentId, { credentialId: "clr_1", kind: "caller", hash: "of-caller" });

    await Promise.all(Array.from({ length: 5 }, () => world.store.accounts.createCredential(caller)));

    expect(await world.store.accounts.findCredential("caller", "of-caller")).toMatchObject({ credentialId: "clr_1" });
  });
}
