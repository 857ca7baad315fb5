import type { CallOutcome } from "@patchbay/protocol";
import { expect, test } from "vitest";
import { manifestOf } from "../../../engine/test/run/fake-gateway.ts";
import { called, iso, keyOf } from "./console-samples.ts";
import { openWorld, sampleCall, sampleLink, type MakePlace, type World } from "./world.ts";

const DAY_MS = 86_400_000;
const PAGE = { limit: 50 };

/** What the console reads of agents, their credentials and runtimes. */
export function consoleAgentContract(place: MakePlace): void {
  test("agents are listed newest first with what is connected and asked now, a page at a time", async () => {
    await using world = await openWorld(place);
    const { accounts, runtimes } = world.store;
    const { console } = world;
    const manifest = manifestOf({ a: "everyone", b: ["x"] });
    await runtimes.saveManifest(world.agentId, "h1", manifest);
    await runtimes.connectionOpened(sampleLink());
    await runtimes.connectionOpened(sampleLink({ instanceId: "rt_2", connectionId: "con_2" }));
    await world.finish(await world.start());
    world.clock.advance(DAY_MS);
    await runtimes.renewConnections(["con_2"]);
    await failedRun(world);
    world.clock.advance(5);
    await world.start();
    await accounts.createAgent({ agentId: "agt_2", orgId: world.orgId, name: "Buyer", instructions: "Buy." });

    const first = await console.agents.list(world.orgId, { limit: 1 });
    const second = await console.agents.list(world.orgId, { limit: 1, cursor: first.nextCursor! });

    expect(first.items).toEqual([
      {
        agentId: "agt_2",
        name: "Buyer",
        instructions: "Buy.",
        accessChanges: "follow",
        createdAt: iso(world.clock.now()),
        runtimes: 0,
        functions: null,
        queries: 0,
        failed: 0,
        lastQueryAt: null,
      },
    ]);
    const { items, nextCursor } = second;
    expect(nextCursor).toBeNull();
    expect(items).toMatchObject([
      { name: "Clerk", runtimes: 1, functions: 2, queries: 2, failed: 1, lastQueryAt: iso(world.clock.now()) },
    ]);
    expect(await console.agents.get(world)).toEqual({ ...items[0], settings: {} });
  });

  test("agents are found by their name, whatever its capitals and signs, or by an id's beginning", async () => {
    await using world = await openWorld(place);
    const { accounts } = world.store;
    const { console } = world;
    await accounts.createAgent({ agentId: "agt_2", orgId: world.orgId, name: "100%_Buyer", instructions: "" });
    const named = async (q: string) =>
      (await console.agents.list(world.orgId, { ...PAGE, q })).items.map(({ agentId }) => agentId);

    expect(await named("cLER")).toEqual([world.agentId]);
    expect(await named("%_b")).toEqual(["agt_2"]);
    expect(await named("%")).toEqual(["agt_2"]);
    expect(await named("agt_2")).toEqual(["agt_2"]);
    expect(await named("unknown")).toEqual([]);
  });

  test("nothing of another organisation, and no deleted agent, is shown", async () => {
    await using world = await openWorld(place);
    const { accounts, runtimes } = world.store;
    const { console } = world;
    await accounts.createOrg({ orgId: "org_2", name: "Other", tier: "sandbox" });
    await accounts.createCredential(keyOf(world.agentId));
    await runtimes.saveManifest(world.agentId, "h1", manifestOf({ a: "everyone" }));
    await runtimes.connectionOpened(sampleLink());
    await called(world, "a", { ok: true, value: 1 }, 1);
    const { agentId } = world;
    const everyCall = { range: { from: 0, to: world.clock.now() + 1 }, functions: ["a"], roles: [], limit: 10 };

    expect(await console.agents.list("org_2", PAGE)).toEqual({ items: [], nextCursor: null });
    expect(await console.agents.get({ orgId: "org_2", agentId })).toBeUndefined();
    expect(await console.credentials.list({ orgId: "org_2", agentId }, PAGE)).toMatchObject({ items: [] });
    expect(await console.credentials.get({ orgId: "org_2", agentId }, "key_1")).toBeUndefined();
    expect(await console.runtimes.list({ orgId: "org_2", agentId }, PAGE)).toMatchObject({ items: [] });
    expect(await console.functions.set({ orgId: "org_2", agentId }, "h1")).toBeUndefined();
    expect(await console.functions.sets({ orgId: "org_2", agentId }, PAGE)).toMatchObject({ items: [] });
    expect(
      await console.functions.figures({ orgId: "org_2", agentId }, { from: 0, to: world.clock.now() + 1 }),
    ).toEqual(new Map());
    expect(await console.access.callsByRole({ orgId: "org_2", agentId }, everyCall)).toEqual({ items: [], cut: false });
    expect([...(await console.live.versions("org_2")).values()].filter((row) => row.agent_id !== "")).toEqual([]);
    expect(await console.live.versions("org_none")).toEqual(new Map());

    await accounts.deleteAgent(agentId);
    expect(await console.agents.list(world.orgId, PAGE)).toMatchObject({ items: [] });
    expect(await console.agents.get({ orgId: world.orgId, agentId })).toBeUndefined();
  });

  test("credentials of all kinds are one list, newest first, each with its state", async () => {
    await using world = await openWorld(place);
    const { accounts } = world.store;
    const { console } = world;
    const { clock, orgId, agentId } = world;
    await accounts.createCredential(keyOf(agentId, { roles: ["clerk"], label: "till" }));
    clock.advance(1);
    const ends = { expiresAt: clock.now() + 2 };
    await accounts.createCredential(keyOf(agentId, { credentialId: "tok_1", hash: "h2", kind: "access", ...ends }));
    clock.advance(1);
    await accounts.createCredential(keyOf(agentId, { credentialId: "rtk_1", hash: "h3", kind: "runtime" }));
    await accounts.revokeCredential("runtime", "rtk_1");
    clock.advance(1);

    const first = await console.credentials.list({ orgId, agentId }, { limit: 2 });
    const second = await console.credentials.list({ orgId, agentId }, { limit: 2, cursor: first.nextCursor! });

    expect(first.items).toMatchObject([
      { credentialId: "rtk_1", kind: "runtime", state: "revoked", roles: null },
      { credentialId: "tok_1", kind: "access", state: "expired", expiresAt: iso(ends.expiresAt) },
    ]);
    expect(second).toEqual({
      items: [
        {
          credentialId: "key_1",
          kind: "api",
          agentId,
          hint: "abcd…wxyz",
          label: "till",
          roles: ["clerk"],
          can: null,
          taskModel: null,
          createdAt: iso(clock.now() - 3),
          lastUsedAt: null,
          expiresAt: null,
          revokedAt: null,
          state: "active",
        },
      ],
      nextCursor: null,
    });
    expect((await console.credentials.list({ orgId, agentId }, { ...PAGE, kinds: ["api"] })).items).toEqual(
      second.items,
    );
  });

  test("runtimes are listed with their calls, connected ones first, forgotten ones not", async () => {
    await using world = await openWorld(place);
    const { runtimes } = world.store;
    const { console } = world;
    await runtimes.connectionOpened(sampleLink({ instanceId: "rt_old", connectionId: "c_old" }));
    world.clock.advance(7 * DAY_MS);
    await runtimes.connectionOpened(
      sampleLink({ instanceId: "rt_gone", connectionId: "c_gone", replicaId: "replica-b" }),
    );
    world.clock.advance(1_000);
    await runtimes.connectionOpened({ ...sampleLink(), sdk: "patchbay-functions/9", host: "shop-1" });
    await runtimes.connectionDraining("con_1");
    await runtimes.connectionClosed("c_gone");
    const run = await world.start();
    await world.store.runs.commit(run, {
      calls: [sampleCall("call_1"), sampleCall("call_2", { position: 1 }), ended("call_3", { ok: true, value: 1 })],
    });
    world.clock.advance(2_000);

    const first = await console.runtimes.list(world, { limit: 1 });
    const second = await console.runtimes.list(world, { limit: 1, cursor: first.nextCursor! });

    expect(first.items).toEqual([
      {
        instanceId: "rt_1",
        connected: true,
        draining: true,
        replicaId: "replica-a",
        sdk: "patchbay-functions/9",
        host: "shop-1",
        service: "desk",
        deployment: null,
        manifestHash: "h1",
        concurrency: 8,
        inFlight: 2,
        connectedAt: iso(world.clock.now() - 2_000),
        lastSeenAt: iso(world.clock.now() - 2_000),
        pending: false,
        silentMs: 2_000,
      },
    ]);
    expect(second.items).toMatchObject([
      { instanceId: "rt_gone", connected: false, replicaId: null, sdk: null, connectedAt: null, inFlight: 0 },
    ]);
    expect(second.nextCursor).toBeNull();
  });

  test("the calls of a run that ended are no longer in flight", async () => {
    await using world = await openWorld(place);
    await world.store.runtimes.connectionOpened(sampleLink());
    const run = await world.start();
    await world.store.runs.commit(run, { calls: [sampleCall("call_1")] });
    await world.finish(run);

    expect((await world.console.runtimes.list(world, PAGE)).items).toMatchObject([{ inFlight: 0 }]);
  });
}

const ended = (callId: string, outcome: CallOutcome) => sampleCall(callId, { position: 2, outcome });

async function failedRun(world: World): Promise<void> {
  const run = await world.start();
  const finish = { status: "failed" as const, result: undefined, history: [], releaseIdempotencyKey: false };
  await world.finish(run, { finish });
}
