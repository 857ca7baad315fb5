import { expect, test } from "vitest";
import type { NewRun } from "../../../src/ports/run-store.ts";
import { event, openWorld, sampleCall, sampleTurn, takeOver, type MakePlace, type World } from "./world.ts";

const LEASE_MS = 15_000;
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
    expect(await only(world)).toMatchObject({ crashes: 2 });
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
    const [first, second] = [await suspect(world), await suspect(world)];
    const { runs } = world.store;

    expect(await runs.claim(claim)).toEqual([]);
    expect(await runs.waiting()).toEqual([]);
    expect(await runs.claimSuspect(claim)).toMatchObject({ runId: first, crashes: 2, claims: 1 });
    world.clock.advance(LEASE_MS);
    await runs.endLeases({ owner: "replica-c", working: [] });
    expect(await runs.claimSuspect(claim)).toMatchObject({ runId: second, crashes: 2, claims: 1 });
    expect(await runs.claimSuspect(claim)).toMatchObject({ runId: first, crashes: 3, claims: 2 });
    expect(await runs.claimSuspect(claim)).toBeUndefined();
  });

  test("two replicas never claim the same suspect", async () => {
    await using world = await openWorld(place);
    const other = await world.another();
    const suspects = [];
    for (let i = 0; i < 4; i++) suspects.push(await suspect(world));

    const claimed = await Promise.all(
      [world.store, other, world.store, other].map((store) => store.runs.claimSuspect(claim)),
    );
    // One that finds only what another is claiming finds nothing.
    for (let more = await world.store.runs.claimSuspect(claim); more; more = await world.store.runs.claimSuspect(claim))
      claimed.push(more);

    expect(claimed.flatMap((run) => run?.runId ?? []).toSorted()).toEqual(suspects.toSorted());
  });

  test("claims in quarantine are reset when a process survives the run or releases it", async () => {
    await using world = await openWorld(place);
    const { runs } = world.store;
    await suspect(world);
    const claimed = (await runs.claimSuspect(claim))!;

    await runs.clearSuspect({ ...claimed, fence: claimed.fence - 1 });
    expect(await only(world)).toMatchObject({ claims: 1 });
    await runs.clearSuspect(claimed);
    expect(await only(world)).toMatchObject({ claims: 0, crashes: 2 });

    await runs.release("replica-b", [claimed.runId]);
    expect(await runs.claimSuspect(claim)).toMatchObject({ claims: 1 });
    await runs.release("replica-b", [claimed.runId]);
    expect(await only(world)).toMatchObject({ claims: 0 });
  });

  test("a suspect past its deadline, or asked to be cancelled, can be ended while another is in quarantine", async () => {
    await using world = await openWorld(place);
    const { runs } = world.store;
    const cancelled = await suspect(world);
    expect(await runs.claimExpired(claim)).toEqual([]);

    await runs.requestCancel(world.agentId, cancelled);
    expect(await runs.claimExpired(claim)).toMatchObject([{ runId: cancelled, claims: 0 }]);

    const late = await suspect(world, { timeoutMs: LEASE_MS });
    world.clock.advance(LEASE_MS);
    expect(await runs.claimExpired(claim)).toMatchObject([{ runId: late, claims: 0 }]);
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

/** A run that was in progress when two processes ended, and has no owner. */
async function suspect(world: World, change: Partial<NewRun> = {}): Promise<string> {
  const { runs } = world.store;
  const { runId } = await world.start(change);
  await runs.release("replica-a", [runId], { crashed: true });
  await runs.claim({ ...claim, runId });
  await runs.release("replica-b", [runId], { crashed: true });
  world.clock.advance(1);
  return runId;
}

async function only(world: World) {
  const [run] = await world.store.runs.list(world.agentId, { limit: 1 });
  if (!run) throw new Error("there is no run");
  return run;
}
