import { expect, test } from "vitest";
import type { Store } from "@patchbay/engine/ports/store/stores";
import { note, startMany } from "./noted-sets.ts";
import { openWorld, sampleLink, type MakePlace, type World } from "./world.ts";

export function functionSetContract(place: MakePlace): void {
  test("a deployment keeps the place of its first connection when its runtimes reconnect", async () => {
    await using world = await openWorld(place);
    await note(world, { deployment: "v1", roles: "everyone" });
    await note(world, { deployment: "v2", roles: ["admin"] });

    const again = await note(world, { deployment: "v1", roles: "everyone" });

    expect(again).toMatchObject({ fresh: false });
    expect(await order(world.store, world)).toEqual(["v1", "v2"]);
    const other = await world.another();
    expect(await order(other, world)).toEqual(["v1", "v2"]);
  });

  test("an unnamed runtime counts from its own first connection", async () => {
    await using world = await openWorld(place);
    await note(world, { instance: "rt_1", roles: "everyone" });
    await note(world, { instance: "rt_2", roles: ["admin"] });

    await note(world, { instance: "rt_1", roles: "everyone" });
    await note(world, { instance: "rt_3", roles: "everyone" });

    expect(await order(world.store, world)).toEqual(["rt_1", "rt_2", "rt_3"]);
  });

  test("a runtime that changes its set counts as new, also when it returns to an earlier set", async () => {
    await using world = await openWorld(place);
    await note(world, { instance: "rt_1", roles: ["a"] });
    await note(world, { instance: "rt_2", roles: ["b"] });
    await note(world, { instance: "rt_1", roles: ["c"] });
    expect(await newest(world)).toBe("rt_1 desk:c");

    await note(world, { instance: "rt_1", roles: ["a"] });

    expect(await newest(world)).toBe("rt_1 desk:a");
  });

  test("a second set of a named deployment follows the first one", async () => {
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
    await world.store.runtimes.connectionOpened(sampleLink({ deployment: "v1", manifestHash: "desk:a" }));

    const sets = await world.store.runtimes.setOrder(world.agentId);

    expect(sets.map(({ deployment }) => deployment).sort()).toEqual(["v1", "v3"]);
    expect(await world.store.runtimes.setOrder("agt_none")).toEqual([]);
  });

  test("sets stored by several replicas at the same time get different positions", async () => {
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

  test("many runtimes that offer the same new set at once are all accepted", async () => {
    await using world = await openWorld(place);
    await note(world, { deployment: "v1", roles: ["a"] });

    const noted = await Promise.all(
      Array.from({ length: 150 }, (_, i) => note(world, { instance: `instance-${i}`, roles: ["a", "b"] })),
    );

    expect(noted.filter(({ fresh }) => fresh)).toHaveLength(150);
  });

  test("the oldest sets of a service are deleted after 1,000 newer ones, except connected ones and those in use", async () => {
    await using world = await openWorld(place);
    const { runtimes } = world.store;
    await note(world, { service: "mail", instance: "only", functionName: "send", roles: [] });
    await note(world, { instance: "connected", roles: ["a"] });
    await runtimes.connectionOpened(sampleLink({ instanceId: "connected", manifestHash: "desk:a" }));
    await note(world, { instance: "gone", roles: ["a"] });
    await note(world, { instance: "kept", roles: ["a"] });
    await startMany(world, 998);

    await note(world, { instance: "new", roles: ["a"] });

    const kept = (await runtimes.functionSets(world.agentId)).map(({ deployment }) => deployment);
    expect(kept.filter((deployment) => !deployment.startsWith("start"))).toEqual(["connected", "kept", "new", "only"]);
    expect(kept).toHaveLength(998 + 4);
  });

  test("starts of unnamed processes never delete a named deployment", async () => {
    await using world = await openWorld(place);
    const mail = { service: "mail", functionName: "send" };
    const named = [
      { ...mail, deployment: "v1", roles: ["admin", "guest"] },
      { ...mail, deployment: "v2", roles: ["admin"] },
      { deployment: "v1", roles: ["a"] },
    ];
    for (const one of named) await note(world, one);
    await startMany(world, 10_500);

    await note(world, { instance: "new", roles: ["a"] });

    const sets = await world.store.runtimes.functionSets(world.agentId);
    expect(sets).toHaveLength(1_000 + named.length);
    for (const one of named) expect(await note(world, one)).toMatchObject({ fresh: false });
  });

  test("a new set counts as seen before its runtime is stored", async () => {
    await using world = await openWorld(place);
    const { agentId, clock, store } = world;
    await note(world, { deployment: "v1", roles: "everyone" });
    clock.advance(70_000);
    await note(world, { deployment: "v2", roles: ["admin"] });
    clock.advance(10);

    expect((await store.runtimes.lastSeen(agentId, ["desk:admin"]))?.agoMs).toBe(10);
    expect((await store.runtimes.lastSeen(agentId, ["desk:everyone"]))?.agoMs).toBe(70_010);
    expect((await store.runtimes.lastSeen(agentId))?.agoMs).toBe(10);
  });

  test("a set of an unknown agent is rejected", async () => {
    await using world = await openWorld(place);

    await expect(note({ ...world, agentId: "agt_none" }, { deployment: "v1", roles: ["a"] })).rejects.toThrow();
  });
}

async function order({ runtimes }: Store, { agentId }: World): Promise<string[]> {
  return (await runtimes.functionSets(agentId)).map(({ deployment }) => deployment);
}

async function newest({ store, agentId }: World): Promise<string | undefined> {
  const sets = await store.runtimes.functionSets(agentId);
  const last = sets.at(-1);
  return last && `${last.deployment} ${last.manifestHash}`;
}
