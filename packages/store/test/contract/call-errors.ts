import { expect, test } from "vitest";
import { openWorld, sampleCall, type MakePlace } from "./world.ts";

const ERROR = { name: "TypeError", message: "no \u0000 order", stack: "TypeError: no order\n    at shop.ts:7" };

export function callErrorContract(place: MakePlace): void {
  test("an error is stored for an open call of the runtime that has it, the newest report last, and erased with the thread", async () => {
    await using world = await openWorld(place);
    const { store, agentId, orgId, console } = world;
    const run = await world.start({});
    await store.runs.commit(run, { calls: [sampleCall("c1"), sampleCall("c2", { position: 1 })] });
    const call = { agentId, instanceId: "rt_1", callId: "c1" };
    const errors = async () => (await console.runs.parts({ orgId, agentId }, run.runId))?.errors;

    await store.calls.recordError(call, { ...ERROR, message: "first" });
    await store.calls.recordError(call, ERROR);
    await store.calls.recordError({ ...call, instanceId: "rt_2" }, { ...ERROR, message: "of another runtime" });
    await store.calls.recordError({ ...call, agentId: "agt_other" }, { ...ERROR, message: "of another agent" });
    await store.calls.recordError({ ...call, callId: "c9" }, { ...ERROR, message: "of an unknown call" });
    const outcome = { ok: false as const, code: "function_failed" as const, message: "Failed." };
    await store.runs.commit(run, { calls: [{ ...sampleCall("c2", { position: 1 }), outcome }] });
    await store.calls.recordError({ ...call, callId: "c2" }, { ...ERROR, message: "of an ended call" });

    expect(await errors()).toEqual(new Map([["c1", ERROR]]));
    await store.threads.erase(agentId, run.threadId);
    expect(await errors()).toBeUndefined();
    expect(await store.engine.db.selectFrom("call_errors").selectAll().execute()).toEqual([]);
  });
}
