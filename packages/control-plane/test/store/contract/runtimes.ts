import { expect, test } from "vitest";
import { openWorld, sampleLink, type MakePlace } from "./world.ts";

export function runtimeContract(place: MakePlace): void {
  test("the links of an agent are found in the order in which they opened, as they were noted", async () => {
    await using world = await openWorld(place);
    const { runtimes, accounts } = world.store;
    await accounts.createAgent({ agentId: "agt_2", orgId: world.orgId, name: "Other", instructions: "" });
    const first = sampleLink({ instanceId: "z", connectionId: "c9", draining: true });
    const second = sampleLink({ instanceId: "a", connectionId: "c1", replicaId: "replica-b", concurrency: 1 });

    await runtimes.linkOpened(first);
    world.clock.advance(1);
    await runtimes.linkOpened(second);
    await runtimes.linkOpened(sampleLink({ agentId: "agt_2", connectionId: "c2" }));

    expect(await runtimes.links(world.agentId)).toEqual([first, second]);
    expect(await runtimes.links("agt_none")).toEqual([]);
  });

  test("a link that gave no sign of life for 30 s is no link, until it gives one", async () => {
    await using world = await openWorld(place);
    const { runtimes } = world.store;
    const [first, second] = [
      sampleLink({ instanceId: "i1", connectionId: "c1" }),
      sampleLink({ instanceId: "i2", connectionId: "c2" }),
    ];
    await runtimes.linkOpened(first);
    world.clock.advance(1);
    await runtimes.linkOpened(second);

    world.clock.advance(29_999);
    expect(await runtimes.links(world.agentId)).toEqual([second]);
    await runtimes.linksAlive(["c1", "c2", "c_none"]);
    world.clock.advance(29_999);

    expect(await runtimes.links(world.agentId)).toEqual([first, second]);
    await runtimes.linksAlive([]);
  });

  test("a newer link of a runtime replaces the older one, which can change nothing any more", async () => {
    await using world = await openWorld(place);
    const { runtimes } = world.store;
    await runtimes.linkOpened(sampleLink({ connectionId: "old" }));
    const link = sampleLink({ connectionId: "new", replicaId: "replica-b", manifestHash: "h2" });
    await runtimes.linkOpened(link);

    await runtimes.linkDraining("old");
    await runtimes.linkClosed("old");
    world.clock.advance(20_000);
    await runtimes.linksAlive(["old"]);

    expect(await runtimes.links(world.agentId)).toEqual([link]);
    expect(await runtimes.lastSeenAgoMs(world.agentId)).toBe(20_000);
  });

  test("a runtime that drains is marked; its next link is not", async () => {
    await using world = await openWorld(place);
    const { runtimes } = world.store;
    await runtimes.linkOpened(sampleLink());

    await runtimes.linkDraining("con_1");
    expect(await runtimes.links(world.agentId)).toMatchObject([{ connectionId: "con_1", draining: true }]);
    await runtimes.linkOpened(sampleLink({ connectionId: "con_2" }));

    expect(await runtimes.links(world.agentId)).toMatchObject([{ connectionId: "con_2", draining: false }]);
  });

  test("a closed link is gone and does not come back by a belated sign of life", async () => {
    await using world = await openWorld(place);
    const { runtimes } = world.store;
    await runtimes.linkOpened(sampleLink());

    await runtimes.linkClosed("con_1");
    world.clock.advance(10);
    await runtimes.linksAlive(["con_1"]);
    await runtimes.linkClosed("con_1");

    expect(await runtimes.links(world.agentId)).toEqual([]);
    expect(await runtimes.lastSeenAgoMs(world.agentId)).toBe(10);
  });

  test("no link is noted for an agent that is not there", async () => {
    await using world = await openWorld(place);

    await expect(world.store.runtimes.linkOpened(sampleLink({ agentId: "agt_none" }))).rejects.toThrow();
  });

  test("two replicas keep thousands of links alive at once", async () => {
    await using world = await openWorld(place);
    const other = await world.another();
    const links = Array.from({ length: 120 }, (_, i) => sampleLink({ instanceId: `i${i}`, connectionId: `c${i}` }));
    for (const link of links) await world.store.runtimes.linkOpened(link);
    const known = links.map(({ connectionId }) => connectionId);
    const strangers = Array.from({ length: 20_000 }, (_, i) => `gone_${i}`);
    world.clock.advance(29_000);

    await Promise.all([
      world.store.runtimes.linksAlive([...known, ...strangers]),
      other.runtimes.linksAlive([...strangers, ...known.toReversed()]),
    ]);
    world.clock.advance(29_000);

    expect(await other.runtimes.links(world.agentId)).toHaveLength(120);
  });
}
