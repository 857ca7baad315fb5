import { expect, test } from "vitest";
import type { RunRecord } from "@patchbay/engine/ports/records";
import type { NewRun } from "@patchbay/engine/ports/store/run-store";
import { waiting, yes } from "./asking-runs.ts";
import { event, openWorld, sampleCall, sampleTurn, takeOver, type MakePlace, type World } from "./world.ts";

const LEASE_MS = 15_000;
const HOUR_MS = 3_600_000;
const claim = { owner: "replica-b", leaseMs: LEASE_MS, limit: 10 };

export function suspectContract(place: MakePlace): void {
  test("an expired lease counts as a crash of its run; a released lease does not", async () => {
    await using world = await openWorld(place);
    const run = await world.start();
    world.clock.advance(LEASE_MS);
    const [second] = await takeOver(world.store, claim);
    await world.store.runs.commit(second!, { events: [event(1)] });
    await world.store.runs.release("replica-b", [run.runId]);
    const [third] = await takeOver(world.store, claim);

    expect(third).toMatchObject({ fence: 3, crashes: 1, claims: 0 });

    await world.store.runs.release("replica-b", [run.runId], { crashed: true });
    expect(await runOf(world, run.runId)).toMatchObject({ crashes: 2 });
  });

  test("a process keeps the runs it works on when the clock jumps past their leases", async () => {
    await using world = await openWorld(place);
    const [mine, lost] = [await world.start(), await world.start()];
    const other = await world.start({ owner: "replica-b" });
    world.clock.advance(LEASE_MS);

    await world.store.runs.endLeases({ owner: "replica-a", working: [mine.runId] });

    const claimed = await world.store.runs.claim(claim);
    expect(claimed.map(({ runId }) => runId).toSorted()).toEqual([lost.runId, other.runId].toSorted());
  });

  test("a run that was in progress at two crashes is claimed as a suspect only, those with fewest claims first", async () => {
    await using world = await openWorld(place);
    const [first, second] = await suspects(world, 2);
    const { runs } = world.store;

    expect(await runs.claim(claim)).toEqual([]);
    expect(await runs.waiting()).toEqual([]);
    expect(await group(world, 1)).toEqual([first]);
    expect(await runOf(world, first!)).toMatchObject({ crashes: 2, claims: 1 });
    await crash(world);
    expect(await group(world, 1)).toEqual([second]);
    expect(await runOf(world, first!)).toMatchObject({ crashes: 3, claims: 1 });
    expect(await runs.claimSuspects({ ...claim, limit: 1 })).toMatchObject({ runs: [{ runId: first }], waiting: 0 });
    expect(await runOf(world, first!)).toMatchObject({ crashes: 3, claims: 2 });
    expect(await runs.claimSuspects(claim)).toEqual({ runs: [], waiting: 0 });
  });

  test("a crash halves the group of its suspects, and counts only against the one of a group of one", async () => {
    await using world = await openWorld(place);
    const all = await suspects(world, 5);
    const { runs } = world.store;

    const first = await runs.claimSuspects({ ...claim, limit: 4 });
    expect([ids(first.runs), first.waiting]).toEqual([all.slice(0, 4), 1]);
    await crash(world);
    expect(await group(world, 4)).toEqual(all.slice(0, 2));
    // Another process takes its own group, and does not share a crash of this one.
    expect(await group(world, 4, "replica-c")).toEqual(all.slice(2, 4));
    await crash(world, "replica-b");
    expect(await group(world, 4)).toEqual(all.slice(0, 1));
    for (const runId of all.slice(0, 4)) expect(await runOf(world, runId)).toMatchObject({ crashes: 2 });
    await crash(world, "replica-b");

    expect(await runOf(world, all[0]!)).toMatchObject({ crashes: 3, claims: 1 });
    expect(await runOf(world, all[1]!)).toMatchObject({ crashes: 2, claims: 0 });
    await runs.clearSuspects("replica-c", all.slice(2, 4));
    await crash(world, "replica-c");
    expect(await group(world, 4)).toEqual(all.slice(1, 2));
    expect(await group(world, 4)).toEqual(all.slice(4));
    expect(await group(world, 4)).toEqual(all.slice(2, 4));
  });

  test.each([0, 127, 200])(
    "of 256 suspects, no. %i that crashes its process is found after at most 9 crashes",
    async (at) => {
      await using world = await openWorld(place);
      const { runs } = world.store;
      await Promise.all(Array.from({ length: 256 }, (_, n) => world.start({ runId: `run_${1_000 + n}` })));
      await world.place.execute("update runs set crashes = 2, owner = null, lease_until = 1");
      const culprit = `run_${1_000 + at}`;

      const crashes: string[][] = [];
      for (let limit = 1; crashes.length < 12 && (await runs.claimExpired(claim)).length === 0; limit *= 2) {
        const resumed = await group(world, limit);
        if (resumed.includes(culprit)) {
          crashes.push(resumed);
          await crash(world);
          limit = 0.5;
        } else await runs.clearSuspects(claim.owner, resumed);
      }

      expect(crashes.length).toBeLessThanOrEqual(9);
      expect(crashes.slice(-2)).toEqual([[culprit], [culprit]]);
      expect(await world.place.rows("select id from runs where claims > 1")).toEqual([{ id: culprit }]);
    },
  );

  test("two replicas never claim the same suspect", async () => {
    await using world = await openWorld(place);
    const other = await world.another();
    const all = await suspects(world, 8);

    const claimed = await Promise.all(
      [world.store, other, world.store, other].map((store) => store.runs.claimSuspects({ ...claim, limit: 2 })),
    );
    const found = claimed.flatMap(({ runs }) => ids(runs));
    // One that finds only what another is claiming finds nothing.
    for (let more = await group(world, 2); more.length > 0; more = await group(world, 2)) found.push(...more);

    expect(found.toSorted()).toEqual(all.toSorted());
  });

  test("claims and groups in quarantine are forgotten when a process survives the run or releases it", async () => {
    await using world = await openWorld(place);
    const { runs } = world.store;
    const [runId] = (await suspects(world, 1)) as [string];
    await group(world, 1);

    await runs.clearSuspects("replica-c", [runId]);
    expect([await runOf(world, runId), await runs.openCounts()]).toMatchObject([{ claims: 1 }, { quarantined: 1 }]);
    await runs.clearSuspects("replica-b", [runId]);
    expect([await runOf(world, runId), await runs.openCounts()]).toMatchObject([
      { claims: 0, crashes: 2 },
      { quarantined: 0 },
    ]);

    await runs.release("replica-b", [runId]);
    expect(await runs.openCounts()).toMatchObject({ running: 1, quarantined: 1 });
    expect((await runs.claimSuspects(claim)).runs).toMatchObject([{ claims: 1 }]);
    await runs.release("replica-b", [runId]);
    expect(await runOf(world, runId)).toMatchObject({ claims: 0 });
  });

  test("time in quarantine does not count against the deadline", async () => {
    await using world = await openWorld(place);
    const { runs } = world.store;
    const [late, waits] = await suspects(world, 2, { timeoutMs: 100_000 });
    const left = 100_000;

    world.clock.advance(3_600_000);
    expect(await runs.claimExpired(claim)).toEqual([]);
    const resumed = (await runs.claimSuspects({ ...claim, limit: 1 })).runs[0]!;
    expect(resumed.deadlineAt - world.clock.now()).toBe(left);

    world.clock.advance(left);
    await runs.endLeases({ owner: "replica-c", working: [] });
    expect(await runs.claimExpired(claim)).toMatchObject([{ runId: late }]);
    expect((await runs.claimSuspects(claim)).runs).toMatchObject([{ runId: waits }]);
  });

  test("time in quarantine counts from the end of an approval's wait", async () => {
    await using world = await openWorld(place);
    const { runs, approvals } = world.store;
    const run = await waiting(world, ["a"]);
    await world.place.execute(`update runs set crashes = 2 where id = '${run.runId}'`);
    await approvals.decide(world.agentId, "apr_a", yes);

    await runs.wake();
    world.clock.advance(3_600_000);

    expect(await runs.claimExpired(claim)).toEqual([]);
    const [resumed] = (await runs.claimSuspects(claim)).runs;
    expect(resumed!.deadlineAt - world.clock.now()).toBe(100_000);
  });

  test("a suspect that crashed by itself twice, or is asked to be cancelled, can be ended while others are in quarantine", async () => {
    await using world = await openWorld(place);
    const { runs } = world.store;
    const [culprit, cancelled, other] = (await suspects(world, 3)) as [string, string, string];
    await runs.requestCancel(world.agentId, cancelled);

    expect(await runs.claimExpired(claim)).toMatchObject([{ runId: cancelled, claims: 0 }]);
    expect(await group(world, 1)).toEqual([culprit]);
    await crash(world);
    expect(await runs.claimExpired(claim)).toMatchObject([{ runId: cancelled }]);
    expect(await group(world, 1)).toEqual([other]);
    expect(await group(world, 1)).toEqual([culprit]);
    await crash(world);
    const ended = await runs.claimExpired(claim);

    expect(ended.find(({ runId }) => runId === culprit)).toMatchObject({ claims: 3, crashes: 4 });
    expect(await group(world, 1)).toEqual([other]);
  });

  test("a run is forgiven one crash for each hour in which it survives", async () => {
    await using world = await openWorld(place);
    const { runs } = world.store;
    const [runId] = (await suspects(world, 1)) as [string];
    await group(world, 1);
    const crashes = async () => {
      await runs.renew("replica-b", [runId], LEASE_MS);
      return (await runOf(world, runId)).crashes;
    };

    world.clock.advance(HOUR_MS - 2);
    expect(await crashes()).toBe(2);
    world.clock.advance(2);
    expect([await crashes(), await crashes()]).toEqual([1, 1]);
    world.clock.advance(HOUR_MS);
    expect(await crashes()).toBe(0);
    world.clock.advance(24 * HOUR_MS);
    expect(await crashes()).toBe(0);
  });

  test("the outline of a run has its usage and its number of calls", async () => {
    await using world = await openWorld(place);
    const run = await world.start();
    const calls = [sampleCall("c1"), sampleCall("c2", { position: 1 })];
    const { reservedMicros: _, ...turn } = sampleTurn(0, { costMicros: 7 });
    await world.store.runs.commit(run, { turn: { ...turn, reservedMicros: 0 }, calls });

    expect(await world.store.runs.outline(run.runId)).toEqual({ turns: [{ ...turn, messages: [] }], calls: 2 });
  });
}

/** Runs that were in progress when two processes ended, and have no owner: the oldest first. */
async function suspects(world: World, count: number, change: Partial<NewRun> = {}): Promise<string[]> {
  const { runs } = world.store;
  const made: string[] = [];
  for (let n = 0; n < count; n++) {
    const { runId } = await world.start(change);
    await runs.release("replica-a", [runId], { crashed: true });
    await runs.claim({ ...claim, runId });
    await runs.release("replica-b", [runId], { crashed: true });
    made.push(runId);
    world.clock.advance(1);
  }
  return made;
}

const ids = (runs: readonly Pick<RunRecord, "runId">[]): string[] => runs.map(({ runId }) => runId);

/** Claims a group of suspects; returns their ids. */
async function group(world: World, limit: number, owner = claim.owner): Promise<string[]> {
  const { runs } = await world.store.runs.claimSuspects({ ...claim, owner, limit });
  return ids(runs);
}

/** The process of this owner, by default of any, ends without releasing its runs. */
async function crash({ store, place }: World, owner?: string): Promise<void> {
  await place.execute(`update runs set lease_until = 1 where owner ${owner ? `= '${owner}'` : "is not null"}`);
  await store.runs.endLeases({ owner: "replica-z", working: [] });
}

async function runOf({ store, agentId }: World, runId: string): Promise<RunRecord> {
  const run = await store.runs.get(agentId, runId);
  if (!run) throw new Error("the run is unknown");
  return run;
}
