import type { Manifest } from "@patchbay/protocol";
import { expect, test } from "vitest";
import { event, openWorld, sampleCall, sampleLink, sampleTurn, type MakePlace } from "./world.ts";

const DAY_MS = 86_400_000;
const manifest: Manifest = { name: "desk", preparesContext: false, functions: [] };

export function upkeepContract(place: MakePlace): void {
  test("the time since an agent's last connected runtime is known", async () => {
    await using world = await openWorld(place);
    const { runtimes } = world.store;
    expect((await runtimes.lastSeen(world.agentId))?.agoMs).toBeUndefined();

    await runtimes.connectionOpened(sampleLink({ instanceId: "i1", connectionId: "c1" }));
    world.clock.advance(5000);
    await runtimes.connectionOpened(sampleLink({ instanceId: "i2", connectionId: "c2" }));
    world.clock.advance(700);

    expect((await runtimes.lastSeen(world.agentId))?.agoMs).toBe(700);
    await runtimes.connectionClosed("c1");
    expect((await runtimes.lastSeen(world.agentId))?.agoMs).toBe(0);
  });

  test("a sweep after months without service deletes no runtime that was connected at their beginning", async () => {
    await using world = await openWorld(place);
    const { runtimes } = world.store;
    await runtimes.recordServed({ begins: true });
    await runtimes.connectionOpened(sampleLink());
    world.clock.advance(1);
    await runtimes.recordServed({ begins: false });
    world.clock.advance(90 * DAY_MS);
    await runtimes.recordServed({ begins: true });

    await world.store.sweep({ days: 30 });

    expect(await runtimes.lastSeen(world.agentId)).toMatchObject({ agoMs: 1 });
  });

  test("a sweep deletes what ended long ago and nothing else", async () => {
    await using world = await openWorld(place);
    const { runtimes, runs, threads } = world.store;
    await runtimes.saveManifest(world.agentId, "old", manifest);
    const old = await world.start({ manifestHash: "old", sessionId: "s1" });
    await runs.commit(old, { events: [event(1)], turn: sampleTurn(0), calls: [sampleCall("c1")] });
    await world.finish({ ...old, lastSeq: 1 });
    const unended = await world.start({ manifestHash: "old" });
    world.clock.advance(30 * DAY_MS + 1);
    await runtimes.saveManifest(world.agentId, "new", manifest);
    const recent = await world.start({ threadId: old.threadId });

    expect(await world.store.sweep({ days: 30 })).toBe(1);

    expect(await runs.get(world.agentId, old.runId)).toBeUndefined();
    expect(await runs.events(old.runId, 0, 10)).toEqual([]);
    expect(await runs.get(world.agentId, unended.runId)).toBeDefined();
    expect(await runs.get(world.agentId, recent.runId)).toBeDefined();
    expect(await threads.exists(world.agentId, old.threadId)).toBe(true);
    expect(await runtimes.getManifest(world.agentId, "old")).toEqual(manifest);
    expect(await world.place.rows("select run_id from usage")).toEqual([{ run_id: old.runId }]);
    expect(await world.store.sweep({ days: 30 })).toBe(0);
  });

  test("a sweep deletes threads, sessions, runtimes and function sets that nothing refers to", async () => {
    await using world = await openWorld(place);
    await world.store.runtimes.saveManifest(world.agentId, "h1", manifest);
    await world.store.runtimes.connectionOpened(sampleLink());
    await world.store.accounts.countQuery(world.orgId);
    const ended = { code: "internal", event: event(1, "error"), result: undefined } as const;
    for (let i = 0; i < 205; i++)
      await world.store.runs.refuse(world.newRun({ manifestHash: "h1", sessionId: "s1" }), ended);
    world.clock.advance(DAY_MS + 1);

    expect(await world.store.sweep({ days: 1 })).toBe(205);

    for (const table of ["threads", "sessions", "runtimes", "manifests", "rate_windows"])
      expect(await world.place.rows(`select * from ${table}`), table).toEqual([]);
  });

  test("a sweep keeps an old function set that was offered again", async () => {
    await using world = await openWorld(place);
    await world.store.runtimes.saveManifest(world.agentId, "h1", manifest);
    world.clock.advance(30 * DAY_MS);

    await world.store.runtimes.saveManifest(world.agentId, "h1", manifest);
    await world.store.sweep({ days: 1 });

    expect(await world.store.runtimes.getManifest(world.agentId, "h1")).toEqual(manifest);
  });

  test("all stores on a database return its time", async () => {
    await using world = await openWorld(place);
    const other = await world.another();
    world.clock.advance(1_234);

    expect(await world.store.now()).toBe(world.clock.now());
    expect(await other.now()).toBe(world.clock.now());
  });

  test("work as one organisation can return a value or a promise", async () => {
    await using world = await openWorld(place);
    const { store } = world;

    expect(store.within(world.orgId, () => 1)).toBe(1);
    expect(await store.within(world.orgId, () => store.accounts.getAgent(world.agentId))).toBeDefined();
    await expect(store.within(world.orgId, () => Promise.reject(new Error("mine")))).rejects.toThrow("mine");
  });

  test("two stores on one database see each other's work", async () => {
    await using world = await openWorld(place);
    const other = await world.another();
    const run = await world.start();

    await other.runs.commit(run, { events: [event(1)] });

    expect(await world.store.runs.events(run.runId, 0, 10)).toEqual([event(1)]);
  });

  test("a store answers a ping until it is closed", async () => {
    await using world = await openWorld(place);
    const other = await world.another();
    await other.ping();

    await other.close();

    await expect(other.ping()).rejects.toThrow();
  });
}
