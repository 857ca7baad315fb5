import type { CallOutcome } from "@patchbay/protocol";
import { expect, test } from "vitest";
import type { RunRecord } from "@patchbay/engine/ports/records";
import { openWorld, sampleCall, sampleRequest, type MakePlace, type World } from "./world.ts";

const DONE: CallOutcome = { ok: true, value: { late: 2 } };
const UNKNOWN: CallOutcome = { ok: false, code: "outcome_unknown", message: "It may have run." };

export function callContract(place: MakePlace): void {
  test("an accepted call comes with everything of its order", async () => {
    await using world = await openWorld(place);
    const request = sampleRequest({ role: "manager", context: { shop: 7, note: "a\u0000b" } });
    const run = await intend(world, { request, sessionId: "s1" });

    const accepted = await accept(world, run);

    expect(accepted).toEqual({
      callId: "c1",
      attempt: 1,
      fence: 1,
      instanceId: "rt_1",
      agentId: world.agentId,
      functionName: "list_orders",
      arguments: { late: true },
      context: request.context,
      role: "manager",
      threadId: run.threadId,
      sessionId: "s1",
      runId: run.runId,
    });
    expect(await accept(world, await intend(world, {}, "c2"), { callId: "c2" })).not.toHaveProperty("role");
  });

  test("an attempt is accepted by the first replica only", async () => {
    await using world = await openWorld(place);
    const run = await intend(world);

    expect(await accept(world, run)).toBeDefined();

    expect(await accept(world, run)).toBeUndefined();
    expect(await accept(world, run, { replicaId: "replica-c" })).toBeUndefined();
  });

  test("nothing is accepted of another attempt, under another fence, of an unknown call or without a runtime", async () => {
    await using world = await openWorld(place);
    const run = await intend(world);
    await world.store.runs.commit(run, { calls: [{ ...sampleCall("c0"), instanceId: undefined } as never] });

    expect(await accept(world, run, { attempt: 2 })).toBeUndefined();
    expect(await accept(world, run, { fence: 2 })).toBeUndefined();
    expect(await accept(world, run, { callId: "c9" })).toBeUndefined();
    expect(await accept(world, run, { callId: "c0" })).toBeUndefined();
    expect(await accept(world, run)).toBeDefined();
  });

  test("a call is not accepted when its run was claimed again or ended, or has the call's outcome or result", async () => {
    await using world = await openWorld(place);
    const claimed = await intend(world, {}, "c1");
    const [ended, settled, answered] = [
      await intend(world, {}, "c2"),
      await intend(world, {}, "c3"),
      await intend(world, {}, "c4"),
    ];
    await world.store.runs.release("replica-a", [claimed.runId]);
    await world.store.runs.claim({ owner: "replica-b", leaseMs: 15_000, limit: 1, runId: claimed.runId });
    await world.finish(ended);
    await world.store.runs.commit(settled, { calls: [sampleCall("c3", { outcome: DONE })] });
    await arrive(world, "c4");

    expect(await accept(world, claimed, { callId: "c1" })).toBeUndefined();
    expect(await accept(world, ended, { callId: "c2" })).toBeUndefined();
    expect(await accept(world, settled, { callId: "c3" })).toBeUndefined();
    expect(await accept(world, answered, { callId: "c4" })).toBeUndefined();
    expect(await accept(world, claimed, { callId: "c1", fence: 2 })).toBeDefined();
  });

  test("a withdrawn attempt cannot be accepted, and the next attempt can be accepted once", async () => {
    await using world = await openWorld(place);
    const run = await intend(world);

    expect(await world.store.calls.withdraw({ callId: "c1", attempt: 1 })).toBe(true);
    expect(await world.store.calls.withdraw({ callId: "c1", attempt: 1 })).toBe(false);
    expect(await accept(world, run)).toBeUndefined();
    await world.store.runs.commit(run, { calls: [sampleCall("c1", { attempt: 2, instanceId: "rt_2" })] });

    expect(await accept(world, run, { attempt: 2 })).toMatchObject({ attempt: 2, instanceId: "rt_2" });
    expect(await accept(world, run, { attempt: 2 })).toBeUndefined();
  });

  test("an accepted, settled or answered attempt cannot be withdrawn", async () => {
    await using world = await openWorld(place);
    const run = await intend(world);
    const [settled] = [await intend(world, {}, "c2"), await intend(world, {}, "c3")];
    await accept(world, run);
    await world.store.runs.commit(settled, { calls: [sampleCall("c2", { outcome: DONE })] });
    await arrive(world, "c3");

    for (const callId of ["c1", "c2", "c3", "c9"])
      expect(await world.store.calls.withdraw({ callId, attempt: 1 }), callId).toBe(false);
  });

  test("storing an accepted attempt again does not free it; the next attempt is free", async () => {
    await using world = await openWorld(place);
    const run = await intend(world);
    await accept(world, run);

    await world.store.runs.commit(run, { calls: [sampleCall("c1")] });
    expect(await accept(world, run)).toBeUndefined();
    await world.store.runs.commit(run, { calls: [sampleCall("c1", { attempt: 2 })] });

    expect(await accept(world, run)).toBeUndefined();
    expect(await accept(world, run, { attempt: 2 })).toBeDefined();
  });

  test("a stored attempt is never lowered", async () => {
    await using world = await openWorld(place);
    const run = await intend(world);
    await world.store.calls.withdraw({ callId: "c1", attempt: 1 });

    await world.store.runs.commit(run, { calls: [sampleCall("c1")] });

    expect((await world.store.runs.checkpoint(run.runId)).calls).toMatchObject([{ attempt: 2 }]);
    expect(await accept(world, run)).toBeUndefined();
  });

  test("a runtime's first result is kept for the run's owner until it becomes the outcome", async () => {
    await using world = await openWorld(place);
    const run = await intend(world);
    await accept(world, run);

    expect(await arrive(world, "c1")).toEqual({ over: false, owner: "replica-a" });
    expect(await arrive(world, "c1", UNKNOWN)).toEqual({ over: false, owner: "replica-a" });
    expect(await world.store.calls.arrivals(["c0", "c1"])).toEqual([{ callId: "c1", outcome: DONE }]);
    await world.store.runs.commit(run, { calls: [sampleCall("c1", { outcome: DONE })] });

    expect(await world.store.calls.arrivals(["c1"])).toEqual([]);
    expect(await world.place.rows("select arrived from calls")).toEqual([{ arrived: null }]);
    expect(await arrive(world, "c1")).toEqual({ over: true });
  });

  test("a result survives the end of the owner's lease and a repeated commit", async () => {
    await using world = await openWorld(place);
    const run = await intend(world);
    await world.store.runs.release("replica-a", [run.runId]);

    expect(await arrive(world, "c1")).toEqual({ over: false });
    const [claimed] = await world.store.runs.claim({ owner: "replica-b", leaseMs: 15_000, limit: 1 });
    if (claimed) await world.store.runs.commit(claimed, { calls: [sampleCall("c1", { attempt: 2 })] });

    expect(await world.store.calls.arrivals(["c1"])).toEqual([{ callId: "c1", outcome: DONE }]);
    expect(await arrive(world, "c1")).toEqual({ over: false, owner: "replica-b" });
  });

  test("a provisional outcome ends with its attempt, and one of an earlier attempt is not stored", async () => {
    await using world = await openWorld(place);
    const run = await intend(world);
    const { runs, calls } = world.store;
    const retried: CallOutcome = { ok: false, code: "function_failed", message: "busy", retryAfterMs: 50 };
    await arrive(world, "c1", retried);
    expect(await calls.arrivals(["c1"])).toEqual([{ callId: "c1", outcome: retried, attempt: 1 }]);
    await runs.commit(run, { calls: [sampleCall("c1", { attempt: 2 })] });
    expect(await arrive(world, "c1", retried)).toEqual({ over: true });
    expect(await accept(world, run, { attempt: 2 })).toMatchObject({ attempt: 2 });
    await calls.arrive(addressOf(world, "c1", 2), DONE);
    expect(await calls.arrivals(["c1"])).toEqual([{ callId: "c1", outcome: DONE }]);
  });

  test("only the runtime of a call can answer it", async () => {
    await using world = await openWorld(place);
    await intend(world);
    const { calls } = world.store;
    const address = addressOf(world, "c1");

    expect(await calls.arrive({ ...address, instanceId: "rt_2" }, DONE)).toEqual({ over: true });
    expect(await calls.arrive({ ...address, agentId: "agt_2" }, DONE)).toEqual({ over: true });
    expect(await calls.arrive({ ...address, callId: "c9" }, DONE)).toEqual({ over: true });

    expect(await calls.arrivals(["c1", "c9"])).toEqual([]);
    expect(await world.place.rows("select id from audit")).toEqual([]);
  });

  test("a late result is audited once, without its value", async () => {
    await using world = await openWorld(place);
    const run = await intend(world, { request: sampleRequest({ role: "manager" }) });
    await world.store.runs.commit(run, { calls: [sampleCall("c1", { outcome: UNKNOWN })] });
    const other = await world.another();

    const answers = await Promise.all(
      [world.store, other, world.store].map((store) => store.calls.arrive(addressOf(world, "c1"), DONE)),
    );

    expect(answers).toEqual([{ over: true }, { over: true }, { over: true }]);
    expect((await world.store.audit.list({ agentId: world.agentId, limit: 9 })).items).toEqual([
      {
        id: expect.any(String),
        at: world.clock.now(),
        action: "call.late",
        agentId: world.agentId,
        runId: run.runId,
        callId: "c1",
        functionName: "list_orders",
        keyId: "key_1",
        role: "manager",
      },
    ]);
    expect((await world.store.runs.checkpoint(run.runId)).calls).toMatchObject([{ outcome: UNKNOWN }]);
  });

  test("a result after the run's end is late; a repeated result is not", async () => {
    await using world = await openWorld(place);
    const cancelled = await intend(world);
    await world.finish(cancelled);
    const settled = await intend(world, {}, "c2");
    await world.store.runs.commit(settled, { calls: [sampleCall("c2", { outcome: DONE })] });

    expect(await arrive(world, "c1")).toEqual({ over: true });
    expect(await arrive(world, "c2")).toEqual({ over: true });

    const { items } = await world.store.audit.list({ agentId: world.agentId, action: "call.late", limit: 9 });
    expect(items).toMatchObject([{ callId: "c1" }]);
  });

  test("exactly one of two replicas accepts an attempt, 200 times", async () => {
    await using world = await openWorld(place);
    const { run, ids } = await intendMany(world, 200);
    const other = await world.another();

    for (const callId of ids) {
      const order = { callId, attempt: 1, fence: run.fence };
      const taken = await Promise.all([
        world.store.calls.accept({ ...order, replicaId: "replica-a" }),
        other.calls.accept({ ...order, replicaId: "replica-b" }),
      ]);
      expect(taken.filter((one) => one !== undefined)).toHaveLength(1);
    }
  });

  test("either the acceptance or the withdrawal of an attempt succeeds, 200 times", async () => {
    await using world = await openWorld(place);
    const { run, ids } = await intendMany(world, 200);
    const other = await world.another();

    for (const [i, callId] of ids.entries()) {
      const [first, second] = i % 2 === 0 ? [world.store, other] : [other, world.store];
      const accepting = first.calls.accept({ callId, attempt: 1, fence: run.fence, replicaId: "replica-b" });
      const [accepted, withdrawn] = await Promise.all([accepting, second.calls.withdraw({ callId, attempt: 1 })]);
      expect(withdrawn).toBe(accepted === undefined);
    }
  });

  test("a result that arrives while the call is given up is audited once as late", async () => {
    await using world = await openWorld(place);
    const { run, ids } = await intendMany(world, 60);
    const other = await world.another();

    for (const callId of ids) {
      const outcome = sampleCall(callId, { outcome: UNKNOWN });
      await Promise.all([
        other.calls.arrive(addressOf(world, callId), DONE),
        world.store.runs.commit(run, { calls: [outcome] }),
      ]);
      const late = await world.store.audit.list({ agentId: world.agentId, action: "call.late", limit: 100 });
      expect(late.items.filter((item) => item.callId === callId)).toHaveLength(1);
      expect(await world.store.calls.arrivals([callId])).toEqual([]);
    }
  });
}

/** A running run whose call is stored and not sent. */
async function intend(world: World, change: Parameters<World["start"]>[0] = {}, callId = "c1"): Promise<RunRecord> {
  const run = await world.start(change);
  await world.store.runs.commit(run, { calls: [sampleCall(callId)] });
  return run;
}

async function intendMany(world: World, count: number): Promise<{ run: RunRecord; ids: string[] }> {
  const run = await world.start();
  const ids = Array.from({ length: count }, (_, i) => `c${i}`);
  await world.store.runs.commit(run, { calls: ids.map((id, position) => sampleCall(id, { position })) });
  return { run, ids };
}

function accept(
  { store }: World,
  { fence }: RunRecord,
  change: Partial<Parameters<World["store"]["calls"]["accept"]>[0]> = {},
) {
  return store.calls.accept({ callId: "c1", attempt: 1, fence, replicaId: "replica-b", ...change });
}

const addressOf = ({ agentId }: World, callId: string, attempt = 1) => ({
  agentId,
  callId,
  instanceId: "rt_1",
  attempt,
});

function arrive(world: World, callId: string, outcome: CallOutcome = DONE) {
  return world.store.calls.arrive(addressOf(world, callId), outcome);
}
