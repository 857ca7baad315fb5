import type { CallOutcome } from "@patchbay/protocol";
import { expect, test } from "vitest";
import type { RunRecord } from "@patchbay/engine/ports/records";
import { ending, openWorld, sampleCall, sampleTurn, type MakePlace, type World } from "./world.ts";

const DONE: CallOutcome = { ok: true, value: { late: 2 } };

/** When things began that are stored at their end, and what was tried before. */
export function momentContract(place: MakePlace): void {
  test("the time of sending and earlier attempts are stored with the call's next change", async () => {
    await using world = await openWorld(place);
    const run = await begin(world);
    const at = world.clock.now();
    const earlier = [{ attempt: 1, instanceId: "rt_1", sentAt: at, endedAt: at + 5, ended: "unknown" as const }];

    await world.store.runs.commit(run, { calls: [sampleCall("c1", { attempt: 2, earlier })] });
    expect(await callsOf(world, run)).toEqual([sampleCall("c1", { attempt: 2, earlier })]);
    const done = sampleCall("c1", { attempt: 2, earlier, sentAt: at + 9, outcome: DONE });
    await world.store.runs.commit(run, { calls: [done] });

    expect(await callsOf(world, run)).toEqual([done]);
  });

  test("an attempt after one that may have run is accepted as unsure", async () => {
    await using world = await openWorld(place);
    const run = await begin(world);
    const { fence } = run;
    const earlier = [{ attempt: 1, instanceId: "rt_1", endedAt: 1, ended: "unknown" as const }];
    const offer = { attempt: 2, instanceId: "rt_1", endedAt: 2, ended: "undelivered" as const };
    await world.store.runs.commit(run, { calls: [sampleCall("c1", { attempt: 3, earlier: [...earlier, offer] })] });
    const attempt = { callId: "c1", attempt: 3, fence, replicaId: "replica-b" };

    expect(await world.store.calls.accept(attempt)).toMatchObject({ attempt: 3, unsure: true });
  });

  test("the time of sending stored with a result stays when the run's owner has none", async () => {
    await using world = await openWorld(place);
    const run = await begin(world);
    const sentAt = world.clock.now() + 3;

    await world.store.calls.arrive(addressOf(world, "c1"), DONE, sentAt);
    await world.store.runs.commit(run, { calls: [sampleCall("c1", { outcome: DONE })] });

    expect(await callsOf(world, run)).toEqual([sampleCall("c1", { outcome: DONE, sentAt })]);
  });

  test("an attempt never gets the sending time of another attempt", async () => {
    await using world = await openWorld(place);
    const run = await begin(world);
    const at = world.clock.now();
    await world.store.runs.commit(run, { calls: [sampleCall("c1", { sentAt: at })] });

    await world.store.runs.commit(run, { calls: [sampleCall("c1", { attempt: 2 })] });
    await world.store.calls.arrive(addressOf(world, "c1"), DONE, at);

    expect(await callsOf(world, run)).toEqual([sampleCall("c1", { attempt: 2 })]);
  });

  test("the parts of a run include the start and retries of each turn, also of an unanswered one", async () => {
    await using world = await openWorld(place);
    const run = await world.start();
    const at = run.createdAt;
    const retries = [{ at: at + 20, code: "overloaded" as const, waitedMs: 300 }];
    const unanswered = { beganAt: at + 900, retries };
    await world.store.runs.commit(run, {
      turn: sampleTurn(0, { timing: { beganAt: at + 10, retries, firstTokenMs: 7 } }),
    });
    await world.store.runs.commit(run, { turn: sampleTurn(1, { timing: { beganAt: at + 500, retries: [] } }) });
    await world.store.runs.commit(run, { turn: sampleTurn(2) });
    const { events, finish } = ending(run);
    await world.store.runs.commit(run, { ...(events && { events }), finish: { ...finish!, unanswered } });

    const parts = await world.console.runs.parts(world, run.runId);

    expect(parts?.turns.map(({ timing }) => timing)).toEqual([
      { beganAt: at + 10, retries, firstTokenMs: 7 },
      { beganAt: at + 500, retries: [] },
      undefined,
    ]);
    expect(parts?.unanswered).toEqual(unanswered);
  });
}

/** A running run whose call is stored. */
async function begin(world: World): Promise<RunRecord> {
  const run = await world.start();
  await world.store.runs.commit(run, { calls: [sampleCall("c1")] });
  return run;
}

const callsOf = async ({ store }: World, { runId }: RunRecord) => (await store.runs.checkpoint(runId)).calls;

const addressOf = ({ agentId }: World, callId: string) => ({ agentId, callId, instanceId: "rt_1", attempt: 1 });
