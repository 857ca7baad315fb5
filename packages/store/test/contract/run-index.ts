import { expect, test } from "vitest";
import type { Budget } from "@patchbay/engine/ports/store/upkeep";
import { indexedTo } from "../../src/runs/run-index.ts";
import { found, run } from "./run-facts.ts";
import { ending, type MakePlace, openWorld, type World } from "./world.ts";

const HOUR_MS = 3_600_000;

/** A budget that is used up by some batches. */
function batches(count: number) {
  const stop = new AbortController();
  const budget: Budget = {
    async spend(_kind, batch) {
      if (count-- === 0) stop.abort();
      return stop.signal.aborted ? 0 : batch();
    },
  };
  return { budget, signal: stop.signal };
}

const countOf = async ({ place }: World, table: string): Promise<number> =>
  (await place.rows(`select run_id from ${table}`)).length;
const WORDS = "run_facts where id in (select id from run_texts)";

/** A second replica at the place, whose runs are those of the world. */
async function second(world: World): Promise<World> {
  return { ...world, store: await world.another() };
}

export function runIndexContract(place: MakePlace): void {
  test("with more new runs than the budget stores, facts and words both progress", async () => {
    await using world = await openWorld(place);
    for (let pass = 1; pass <= 3; pass++) {
      for (let i = 0; i < 40; i++) await run(world, `${pass}_${i}`);
      await world.store.index.record(batches(1));

      expect(await countOf(world, "run_facts")).toBe(32 * pass);
      expect(await countOf(world, WORDS)).toBe(32 * pass);
      expect(world.store.index.backlog()).toBe(8 * pass);
    }
    await world.store.index.record();
    expect(await countOf(world, WORDS)).toBe(120);
    expect(world.store.index.backlog()).toBe(0);
  });

  test("the runs of a replica that dies hours behind are indexed, also when others were not behind", async () => {
    await using world = await openWorld(place);
    await world.store.index.catchUp();
    for (const name of ["old", "older"]) await run(world, name);
    world.clock.advance(3 * HOUR_MS);
    // The other replica stores its own run at once, and dies as well.
    const current = await second(world);
    await startedAt(current, "new");
    await current.store.index.record();
    world.clock.advance(60_000);

    const next = await world.another();
    await next.index.catchUp();
    await next.index.record();

    expect(await countOf(world, WORDS)).toBe(3);
  });

  test("the first start of this version finds whatever an earlier one has left", async () => {
    await using world = await openWorld(place);
    await run(world, "lost");
    world.clock.advance(30 * 24 * HOUR_MS);
    const current = await second(world);
    await startedAt(current, "new");
    await current.store.index.record();

    await current.store.index.catchUp();
    await current.store.index.record();

    expect(await countOf(world, WORDS)).toBe(2);
  });

  test("runs that wait stay in the search of the next replica until they are stored", async () => {
    await using world = await openWorld(place);
    await run(world, "a");
    const searching = await world.another();
    await searching.index.catchUp();
    world.clock.advance(2 * HOUR_MS);
    await searching.index.catchUp();

    const next = await world.another();
    await next.index.catchUp();

    expect(next.index.backlog()).toBe(1);
    await next.index.record();
    await next.index.catchUp();
    expect(next.index.backlog()).toBe(0);
  });

  test("a run that cannot be stored does not hold up the others", async () => {
    await using world = await openWorld(place);
    for (let i = 0; i < 40; i++) await run(world, `${i}`);
    await world.place.execute("update runs set request = '{' where id = 'run_5'");

    for (let pass = 0; pass < 8; pass++) await world.store.index.record().catch(() => {});

    expect(await countOf(world, WORDS)).toBe(39);
    expect(world.store.index.backlog()).toBe(1);
    await expect(world.store.index.record()).rejects.toThrow();
  });

  test("lists are complete until the end of the oldest run that is not indexed, by organisation", async () => {
    await using world = await openWorld(place);
    const { engine, index, accounts } = world.store;
    await accounts.createOrg({ orgId: "org_2", name: "Other", tier: "starter" });
    await index.catchUp();
    await run(world, "a");
    await index.record();
    world.clock.advance(1);
    await run(world, "b");
    const endedAt = world.clock.now();
    await run(world, "c");
    const toOf = (orgId: string) => world.store.within(orgId, () => indexedTo(engine, orgId));

    expect(await toOf(world.orgId)).toBeUndefined();
    world.clock.advance(2 * HOUR_MS);
    expect(await toOf(world.orgId)).toBe(endedAt);
    expect(await toOf("org_2")).toBeUndefined();
    const totals = await world.console.runs.totals(world, {});
    expect(totals.indexedTo).toBe(new Date(endedAt).toISOString());
    await index.catchUp();
    expect(await toOf(world.orgId)).toBe(endedAt);
    await index.record();
    expect(await toOf(world.orgId)).toBeUndefined();
    expect(await world.console.runs.totals(world, {})).not.toHaveProperty("indexedTo");
    expect(await found(world)).toEqual(["run_c", "run_b", "run_a"]);
  });

  test("one replica does a work for all, until it ends or has been silent for a minute", async () => {
    await using world = await openWorld(place);
    const [first, other] = [world.store, await world.another()];
    const done = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    const working = first.exclusively("sweep", async () => {
      begun.resolve();
      await done.promise;
    });
    await begun.promise;

    expect(await other.exclusively("sweep", () => Promise.reject(new Error("ran")))).toBe(false);
    expect(await other.exclusively("seals", async () => {})).toBe(true);
    done.resolve();
    expect(await working).toBe(true);
    expect(await other.exclusively("sweep", async () => {})).toBe(true);
    await expect(other.exclusively("sweep", () => Promise.reject(new Error("failed")))).rejects.toThrow("failed");
    expect(await first.exclusively("sweep", async () => {})).toBe(true);

    await world.place.execute(`update upkeep set owner = 'dead', until = ${world.clock.now() + 60_000}`);
    expect(await first.exclusively("sweep", async () => {})).toBe(false);
    world.clock.advance(60_001);
    expect(await first.exclusively("sweep", async () => {})).toBe(true);
  });
}

/** Starts and ends a run through one replica. */
const startedAt = async (world: World, name: string): Promise<void> => {
  const started = await world.store.runs.start(world.newRun({ runId: `run_${name}` }));
  if (started.kind !== "started") throw new Error(`the run is ${started.kind}`);
  await world.store.runs.commit(started.run, ending(started.run));
};
