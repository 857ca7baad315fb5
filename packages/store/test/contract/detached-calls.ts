import type { CallOutcome } from "@patchbay/protocol";
import { expect, test } from "vitest";
import type { CallRecord, RunRecord } from "@patchbay/engine/ports/records";
import { asking, yes } from "./asking-runs.ts";
import { type MakePlace, openWorld, sampleCall, sampleLink, type World } from "./world.ts";

const HOUR_MS = 3_600_000;
const GONE_MS = 300_000;
const DONE: CallOutcome = { ok: true, value: "exported" };
const claim = { owner: "replica-b", leaseMs: 15_000, limit: 10 };
const link = sampleLink();
const of = (callId: string, attempt = 1) => ({ agentId: link.agentId, callId, instanceId: link.instanceId, attempt });

/** Calls that run for so long from now on. */
const running = (world: World, forMs: Record<string, number>): CallRecord[] =>
  Object.entries(forMs).map(([callId, ms], position) => ({
    ...sampleCall(callId, { position, instanceId: link.instanceId }),
    runsUntil: world.clock.now() + ms,
  }));

/** A run that waits for these calls, with 100 s left. */
async function waiting(world: World, forMs: Record<string, number>): Promise<RunRecord> {
  const run = await world.start();
  await world.store.runs.commit(run, { calls: running(world, forMs) });
  await world.store.runs.commit(run, { wait: { remainingMs: 100_000 } });
  return run;
}

export function detachedCallContract(place: MakePlace): void {
  test("a run that waits for detached calls is due when the time of the first is over", async () => {
    await using world = await openWorld(place);
    const { runs } = world.store;
    const run = await waiting(world, { a: HOUR_MS, b: 2 * HOUR_MS });

    expect(await runs.heads([run.runId])).toMatchObject([{ waitsFor: "function" }]);
    world.clock.advance(HOUR_MS - 1);
    expect(await runs.wake()).toEqual([]);
    world.clock.advance(1);
    expect(await runs.wake()).toEqual(["org_1"]);

    const [claimed] = await runs.claim(claim);
    expect(claimed!.deadlineAt - world.clock.now()).toBe(100_000);
    expect(claimed).toMatchObject({ waitedMs: HOUR_MS, crashes: 0 });
  });

  test("the result of a detached call makes its waiting run due, once", async () => {
    await using world = await openWorld(place);
    const { runs, calls } = world.store;
    const run = await waiting(world, { a: HOUR_MS, b: HOUR_MS });

    expect(await calls.arrive({ ...of("a"), instanceId: "other" }, DONE)).toEqual({ over: true });
    expect(await runs.wake()).toEqual([]);
    expect(await calls.arrive(of("a"), DONE)).toEqual({ over: false, due: true });
    expect(await calls.arrivals(["a", "b"])).toEqual([{ callId: "a", outcome: DONE }]);
    expect(await runs.wake()).toEqual(["org_1"]);
    const [claimed] = await runs.claim(claim);
    const [first] = (await runs.checkpoint(run.runId)).calls;
    await runs.commit(claimed!, { calls: [{ ...first!, outcome: DONE }] });
    await runs.commit(claimed!, { wait: { remainingMs: 1_000 } });

    expect(await runs.wake()).toEqual([]);
    expect(await calls.arrive(of("a"), DONE)).toEqual({ over: true });
    expect(await runs.wake()).toEqual([]);
  });

  test("a result that is stored while the run begins to wait is not missed", async () => {
    await using world = await openWorld(place);
    const other = await world.another();
    for (let round = 0; round < 10; round++) {
      const callId = `round${round}`;
      const run = await world.start();
      await world.store.runs.commit(run, { calls: running(world, { [callId]: HOUR_MS }) });
      await Promise.all([
        world.store.runs.commit(run, { wait: { remainingMs: 1_000 } }),
        other.calls.arrive(of(callId), DONE),
      ]);

      expect(await world.store.runs.wake()).toEqual(["org_1"]);
    }
  });

  test("a decision makes a run due that also waits for a detached call, and an open approval does not", async () => {
    await using world = await openWorld(place);
    const { runs, approvals } = world.store;
    const run = await asking(world, ["x", "y"]);
    await runs.commit(run, { calls: running(world, { a: 2 * HOUR_MS }) });
    await runs.commit(run, { wait: { remainingMs: 1_000 } });

    await approvals.decide(world.agentId, "apr_x", yes);
    expect([await runs.wake(), await runs.heads([run.runId])]).toMatchObject([[], [{ waitsFor: "approval" }]]);
    await approvals.decide(world.agentId, "apr_y", yes);
    expect(await runs.wake()).toEqual(["org_1"]);

    const [claimed] = await runs.claim(claim);
    await runs.commit(claimed!, { approvals: { reported: ["apr_x", "apr_y"] } });
    await runs.commit(claimed!, { wait: { remainingMs: 1_000 } });
    expect(await runs.wake()).toEqual([]);
  });

  test("the newest progress of an attempt is kept until the next one, and none of a call that is over", async () => {
    await using world = await openWorld(place);
    const { runs, calls } = world.store;
    const run = await waiting(world, { a: HOUR_MS });
    const progress = async () => (await runs.checkpoint(run.runId)).calls.map((call) => call.progress);

    expect(await calls.progressed({ ...of("a"), instanceId: "other" }, 1)).toBeUndefined();
    expect(await calls.progressed(of("a"), { done: 1 })).toBe(run.runId);
    expect(await calls.progressed(of("a"), null)).toBe(run.runId);
    expect(await calls.progressed(of("a"))).toBe(run.runId);
    expect(await progress()).toEqual([null]);

    await runs.wake({ all: true });
    const [claimed] = await runs.claim(claim);
    const [call] = (await runs.checkpoint(run.runId)).calls;
    await runs.commit(claimed!, { calls: [{ ...call!, runsUntil: 1 }] });
    expect(await progress()).toEqual([null]);
    const { runsUntil: _, ...next } = { ...call!, attempt: 2 };
    await runs.commit(claimed!, { calls: [next] });
    expect((await runs.checkpoint(run.runId)).calls).toEqual([{ ...sampleCall("a"), ...next, progress: undefined }]);
    await runs.commit(claimed!, { calls: [{ ...next, outcome: DONE }] });
    expect(await calls.progressed(of("a"), 2)).toBeUndefined();
  });

  test.each([
    ["is connected", 2 * GONE_MS, async () => {}, false],
    [
      "disconnected not long ago",
      GONE_MS - 1,
      async ({ store }: World) => store.runtimes.connectionClosed("c1"),
      false,
    ],
    ["disconnected", GONE_MS, async ({ store }: World) => store.runtimes.connectionClosed("c1"), true],
    ["drained and disconnected", 0, drainAndClose, true],
    ["drains", 0, async ({ store }: World) => store.runtimes.connectionDraining("c1"), false],
  ])("a detached call is lost with a runtime that is gone, one that %s", async (_, afterMs, change, isLost) => {
    await using world = await openWorld(place);
    const { runtimes, runs, permits } = world.store;
    const permit = { agentId: world.agentId, functionName: "export", callId: "a", start: 1, orgId: world.orgId };
    const held = async () => await permits.acquire({ ...permit, callId: "b" }, { limit: 1, holdMs: 1, waitMs: 1 });
    await runtimes.connectionOpened({ ...link, connectionId: "c1" });
    await waiting(world, { a: 100 * GONE_MS });
    await permits.acquire(permit, { limit: 1, holdMs: 200 * GONE_MS, waitMs: 1 });

    await change(world);
    for (let ms = 0; ms < afterMs; ms += 10_000) {
      world.clock.advance(Math.min(10_000, afterMs - ms));
      await runtimes.recordServed({ begins: false });
      await runtimes.renewConnections(["c1"]);
    }
    await runs.wakeLost();

    expect(await runtimes.isGone(world.agentId, link.instanceId)).toBe(isLost);
    expect(await runs.wake()).toEqual(isLost ? ["org_1"] : []);
    expect(await held()).toBe(isLost);
  });

  test("the time in which no replica served does not count as absence of a runtime", async () => {
    await using world = await openWorld(place);
    const { runtimes } = world.store;
    await runtimes.recordServed({ begins: true });
    await runtimes.connectionOpened({ ...link, connectionId: "c1" });
    await runtimes.connectionClosed("c1");
    world.clock.advance(10 * GONE_MS);
    await runtimes.recordServed({ begins: true });

    expect(await runtimes.isGone(world.agentId, link.instanceId)).toBe(false);
    expect(await runtimes.isGone(world.agentId, "unknown")).toBe(true);
  });
}

async function drainAndClose({ store: { runtimes } }: World): Promise<void> {
  await runtimes.connectionDraining("c1");
  await runtimes.connectionClosed("c1");
}
