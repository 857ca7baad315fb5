import type { Manifest } from "@patchbay/protocol";
import { expect, test } from "vitest";
import { openWorld, sampleLink, type MakePlace, type World } from "./world.ts";

const MINUTE_MS = 60_000;
const manifest: Manifest = { name: "desk", preparesContext: false, functions: [] };

export function manifestContract(place: MakePlace): void {
  test("manifests are kept by agent and hash, as they were saved last", async () => {
    await using world = await openWorld(place);
    const { runtimes } = world.store;

    await runtimes.saveManifest(world.agentId, "h1", { ...manifest, instructions: "verdicts of an earlier runtime" });
    await runtimes.saveManifest(world.agentId, "h1", manifest);

    expect(await runtimes.getManifest(world.agentId, "h1")).toEqual(manifest);
    expect(await runtimes.getManifest(world.agentId, "h2")).toBeUndefined();
    expect(await runtimes.getManifest("agt_2", "h1")).toBeUndefined();
  });

  test("a set has the cases that its newest runtime reported, apart from its manifest", async () => {
    await using world = await openWorld(place);
    const { store, orgId, agentId } = world;
    const own = { name: "own", input: { id: 1 }, context: {} };
    const read = () =>
      world.console.functions.reportedCases({ orgId, agentId }, { manifestHash: "h1", functionName: "get" });

    const cases = [
      { functionName: "get", ...own },
      { functionName: "put", ...own },
    ];
    await store.runtimes.saveManifest(agentId, "h1", manifest, { cases });
    expect(await read()).toEqual([own]);
    expect(await store.runtimes.getManifest(agentId, "h1")).toEqual(manifest);
    expect(
      await world.console.functions.reportedCases(
        { orgId: "org_2", agentId },
        { manifestHash: "h1", functionName: "get" },
      ),
    ).toEqual([]);

    await store.runtimes.saveManifest(agentId, "h1", manifest);
    expect(await read()).toEqual([]);
  });

  test("a set has the lock that its newest runtime reported, with the time of the first report", async () => {
    await using world = await openWorld(place);
    const { store, orgId, agentId, clock } = world;
    const lock = { version: 2, functions: {} };
    const read = (org = orgId) => world.console.access.locks({ orgId: org, agentId }, ["h1", "h2"]);
    const since = new Date(clock.now()).toISOString();

    await store.runtimes.saveManifest(agentId, "h1", manifest, { lock });
    clock.advance(2 * MINUTE_MS);
    await store.runtimes.saveManifest(agentId, "h1", manifest, { lock });
    await store.runtimes.saveManifest(agentId, "h2", manifest);

    expect(await read()).toMatchObject([{ manifestHash: "h1", manifest, lock, since }]);
    expect(await read("org_2")).toEqual([]);

    await store.runtimes.saveManifest(agentId, "h1", manifest, { lock: { version: 3 } });
    expect(await read()).toMatchObject([{ lock: { version: 3 }, since: new Date(clock.now()).toISOString() }]);

    await store.runtimes.saveManifest(agentId, "h1", manifest);
    expect(await read()).toEqual([]);
  });

  test("two replicas that store the same new lock at the same time write one audit entry", async () => {
    await using world = await openWorld(place);
    const { store, agentId } = world;
    const replicas = [store.runtimes, (await world.another()).runtimes];

    for (const version of [1, 2])
      await Promise.all(replicas.map((one) => one.saveManifest(agentId, "h1", manifest, { lock: { version } })));

    const { items } = await store.audit.list({ agentId, action: "access.locked", limit: 10 });
    expect(items.map(({ detail }) => detail?.["lock"])).toEqual([expect.any(String), expect.any(String)]);
  });

  test("surplus manifests are deleted unreferenced ones first, then the oldest", async () => {
    await using world = await openWorld(place);
    await offer(world, "of an open run", "connected", "the newest of a service", "of an ended run", "unnamed old");
    await offer(world, "of a runtime that left", "unnamed new");
    world.clock.advance(2 * MINUTE_MS);
    await world.start({ manifestHash: "of an open run" });
    await world.finish(await world.start({ manifestHash: "of an ended run" }));
    await link(world, "connected");
    await world.store.runtimes.connectionClosed(await link(world, "of a runtime that left"));
    const newest = { service: "desk", deployment: "v1", named: true, manifestHash: "the newest of a service" };
    await world.store.runtimes.noteSet(world.agentId, newest, manifest, { keyId: "key_1" });

    const gone: string[][] = [];
    for (let keep = 7; keep >= 0; keep--) {
      const before = await stored(world);
      await world.store.runtimes.trimManifests(world.agentId, keep);
      const after = await stored(world);
      gone.push(before.filter((hash) => !after.includes(hash)));
    }

    expect(gone).toEqual([
      [],
      ["unnamed old"],
      ["unnamed new"],
      ["of an ended run"],
      ["of a runtime that left"],
      ["the newest of a service"],
      [],
      [],
    ]);
  });

  test("a function set that is offered again counts as new", async () => {
    await using world = await openWorld(place);
    await offer(world, "first", "second", "third");
    await offer(world, "first");

    expect(await world.store.runtimes.trimManifests(world.agentId, 2)).toBe(1);

    expect(await stored(world)).toEqual(["first", "third"]);
  });

  test("a manifest offered within the last minute is deleted after unreferenced ones", async () => {
    await using world = await openWorld(place);
    await offer(world, "of a run");
    await world.finish(await world.start({ manifestHash: "of a run" }));
    await offer(world, "just offered");

    await world.store.runtimes.trimManifests(world.agentId, 1);

    expect(await stored(world)).toEqual(["just offered"]);
  });

  test("manifests of other agents are neither counted nor deleted", async () => {
    await using world = await openWorld(place);
    const { accounts, runtimes } = world.store;
    await accounts.createAgent({ agentId: "agt_2", orgId: world.orgId, name: "Other", instructions: "" });
    await offer(world, "first", "second");
    await runtimes.saveManifest("agt_2", "of another agent", manifest);

    expect(await runtimes.trimManifests(world.agentId, 2)).toBe(0);
    expect(await runtimes.trimManifests(world.agentId, 1)).toBe(1);

    expect(await stored(world)).toEqual(["of another agent", "second"]);
  });
}

/** Stores the sets one after the other, some minutes apart. */
async function offer({ store, clock, agentId }: World, ...hashes: string[]): Promise<void> {
  for (const hash of hashes) {
    clock.advance(2 * MINUTE_MS);
    await store.runtimes.saveManifest(agentId, hash, manifest);
  }
}

async function link({ store }: World, manifestHash: string): Promise<string> {
  const connectionId = `connection of ${manifestHash}`;
  await store.runtimes.connectionOpened(sampleLink({ instanceId: manifestHash, connectionId, manifestHash }));
  return connectionId;
}

async function stored({ place }: World): Promise<string[]> {
  return (await place.rows("select hash from manifests order by hash")).map(({ hash }) => hash as string);
}
