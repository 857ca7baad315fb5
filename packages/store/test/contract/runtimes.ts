import { expect, test } from "vitest";
import { StoreHealth } from "../../src/health.ts";
import { openWorld, sampleLink, type MakePlace, type World } from "./world.ts";

/** Advances the clock, and records every five seconds that a replica serves. */
async function serveFor({ store, clock }: World, ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 5_000) {
    clock.advance(5_000);
    await store.runtimes.recordServed({ begins: false });
  }
}

export function runtimeContract(place: MakePlace): void {
  test("an agent's connections are listed in the order of their opening", async () => {
    await using world = await openWorld(place);
    const { runtimes, accounts } = world.store;
    await accounts.createAgent({ agentId: "agt_2", orgId: world.orgId, name: "Other", instructions: "" });
    const first = sampleLink({ instanceId: "z", connectionId: "c9", draining: true });
    const second = sampleLink({ instanceId: "a", connectionId: "c1", replicaId: "replica-b", concurrency: 1 });

    await runtimes.connectionOpened(first);
    world.clock.advance(1);
    await runtimes.connectionOpened(second);
    await runtimes.connectionOpened(sampleLink({ agentId: "agt_2", connectionId: "c2" }));

    expect(await runtimes.connections(world.agentId)).toEqual([first, second]);
    expect(await runtimes.connections("agt_none")).toEqual([]);
  });

  test("a connection without a heartbeat for 30 s counts as closed until the next heartbeat", async () => {
    await using world = await openWorld(place);
    const { runtimes } = world.store;
    const [first, second] = [
      sampleLink({ instanceId: "i1", connectionId: "c1" }),
      sampleLink({ instanceId: "i2", connectionId: "c2" }),
    ];
    await runtimes.connectionOpened(first);
    world.clock.advance(1);
    await runtimes.connectionOpened(second);

    world.clock.advance(29_999);
    expect(await runtimes.connections(world.agentId)).toEqual([second]);
    await runtimes.renewConnections(["c1", "c2", "c_none"]);
    world.clock.advance(29_999);

    expect(await runtimes.connections(world.agentId)).toEqual([first, second]);
    await runtimes.renewConnections([]);
  });

  test("a connection that no replica could renew counts as open until three heartbeats after the outage", async () => {
    await using world = await openWorld(place);
    const { runtimes, engine } = world.store;
    const { agentId, clock } = world;
    const health = (engine.health = new StoreHealth({ now: () => clock.now() }));
    const link = sampleLink();
    await runtimes.connectionOpened(link);
    clock.advance(1_000);

    health.failed();
    clock.advance(120_000);
    expect(await runtimes.connections(agentId)).toEqual([link]);
    health.succeeded();
    clock.advance(14_999);
    expect(await runtimes.connections(agentId)).toEqual([link]);

    clock.advance(1);
    expect(await runtimes.connections(agentId)).toEqual([]);
  });

  test("a runtime is not older for the time in which no replica served", async () => {
    await using world = await openWorld(place);
    const { agentId, clock } = world;
    await world.store.runtimes.recordServed({ begins: true });
    await world.store.runtimes.connectionOpened(sampleLink());
    clock.advance(5_000);
    await world.store.runtimes.recordServed({ begins: false });
    clock.advance(4_000);
    const at = clock.now();
    await world.store.runtimes.renewConnections(["con_1"]);
    clock.advance(600_000);

    const { runtimes } = await world.another();
    await runtimes.recordServed({ begins: true });
    expect(await runtimes.lastSeen(agentId)).toEqual({ at, agoMs: 0, startedAgoMs: 0 });
    expect(await runtimes.connections(agentId)).toEqual([]);
    clock.advance(12_000);
    await runtimes.recordServed({ begins: false });
    expect(await runtimes.lastSeen(agentId)).toEqual({ at, agoMs: 12_000, startedAgoMs: 12_000 });

    await runtimes.connectionOpened(sampleLink({ connectionId: "con_2" }));
    clock.advance(10);
    expect(await runtimes.lastSeen(agentId)).toEqual({ at: clock.now() - 10, agoMs: 10 });
  });

  test("a runtime that left before the gap is older by the time that was served", async () => {
    await using world = await openWorld(place);
    const { agentId, clock } = world;
    const { runtimes } = world.store;
    await runtimes.recordServed({ begins: true });
    await runtimes.connectionOpened(sampleLink());
    await runtimes.connectionClosed("con_1");
    const at = clock.now();
    await serveFor(world, 70_000);
    clock.advance(600_000);

    // Its process was frozen, or the database was away.
    expect(await runtimes.lastSeen(agentId)).toMatchObject({ at, agoMs: 70_000 });
    await runtimes.recordServed({ begins: false });
    clock.advance(1_000);

    expect(await runtimes.lastSeen(agentId)).toEqual({ at, agoMs: 71_000, startedAgoMs: 1_000 });
  });

  test("a start next to a replica that served on changes no age", async () => {
    await using world = await openWorld(place);
    const { agentId, clock } = world;
    const { runtimes } = world.store;
    await runtimes.recordServed({ begins: true });
    clock.advance(1_000);
    await runtimes.connectionOpened(sampleLink());
    const at = clock.now();
    await serveFor(world, 600_000);

    const started = (await world.another()).runtimes;
    await started.recordServed({ begins: false });

    expect(await started.lastSeen(agentId)).toEqual({ at, agoMs: 600_000 });
  });

  test("a newer connection of a runtime replaces the older one, which can change nothing afterwards", async () => {
    await using world = await openWorld(place);
    const { runtimes } = world.store;
    await runtimes.connectionOpened(sampleLink({ connectionId: "old" }));
    const link = sampleLink({ connectionId: "new", replicaId: "replica-b", manifestHash: "h2" });
    await runtimes.connectionOpened(link);

    await runtimes.connectionDraining("old");
    await runtimes.connectionClosed("old");
    world.clock.advance(20_000);
    await runtimes.renewConnections(["old"]);

    expect(await runtimes.connections(world.agentId)).toEqual([link]);
    expect((await runtimes.lastSeen(world.agentId))?.agoMs).toBe(20_000);
  });

  test("a draining runtime is marked; its next connection is not", async () => {
    await using world = await openWorld(place);
    const { runtimes } = world.store;
    await runtimes.connectionOpened(sampleLink());

    await runtimes.connectionDraining("con_1");
    expect(await runtimes.connections(world.agentId)).toMatchObject([{ connectionId: "con_1", draining: true }]);
    await runtimes.connectionOpened(sampleLink({ connectionId: "con_2" }));

    expect(await runtimes.connections(world.agentId)).toMatchObject([{ connectionId: "con_2", draining: false }]);
  });

  test("a late heartbeat does not reopen a closed connection", async () => {
    await using world = await openWorld(place);
    const { runtimes } = world.store;
    await runtimes.connectionOpened(sampleLink());

    await runtimes.connectionClosed("con_1");
    world.clock.advance(10);
    await runtimes.renewConnections(["con_1"]);
    await runtimes.connectionClosed("con_1");

    expect(await runtimes.connections(world.agentId)).toEqual([]);
    expect((await runtimes.lastSeen(world.agentId))?.agoMs).toBe(10);
  });

  test("a connection of an unknown agent is rejected", async () => {
    await using world = await openWorld(place);

    await expect(world.store.runtimes.connectionOpened(sampleLink({ agentId: "agt_none" }))).rejects.toThrow();
  });

  test("two replicas renew thousands of connections at the same time", async () => {
    await using world = await openWorld(place);
    const other = await world.another();
    const links = Array.from({ length: 120 }, (_, i) => sampleLink({ instanceId: `i${i}`, connectionId: `c${i}` }));
    for (const link of links) await world.store.runtimes.connectionOpened(link);
    const known = links.map(({ connectionId }) => connectionId);
    const strangers = Array.from({ length: 20_000 }, (_, i) => `gone_${i}`);
    world.clock.advance(29_000);

    await Promise.all([
      world.store.runtimes.renewConnections([...known, ...strangers]),
      other.runtimes.renewConnections([...strangers, ...known.toReversed()]),
    ]);
    world.clock.advance(29_000);

    expect(await other.runtimes.connections(world.agentId)).toHaveLength(120);
  });
}
