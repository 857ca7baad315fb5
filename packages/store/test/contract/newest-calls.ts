import type { CallOutcome } from "@patchbay/protocol";
import { expect, test } from "vitest";
import type { CallRecord } from "@patchbay/engine/ports/records";
import { openWorld, sampleCall, sampleRequest, type MakePlace, type World } from "./world.ts";

const failed = (code: Extract<CallOutcome, { ok: false }>["code"], rule?: string): CallOutcome => ({
  ok: false,
  code,
  message: "x",
  ...(rule !== undefined && { rule }),
});
const asked: Partial<CallRecord> = {
  attempt: 2,
  earlier: [{ attempt: 1, instanceId: "rt_1", endedAt: 1, ended: "approval" }],
};

/** What the checks decided, by the stored call. */
const DECISIONS: [change: Partial<CallRecord>, decision: string | undefined, rule: string | undefined][] = [
  [{ outcome: { ok: true, value: 1 } }, "allowed", undefined],
  [{ outcome: { ok: true, value: 1 }, ...asked }, "approval", undefined],
  [{ outcome: failed("rejected") }, "approval", "rejected"],
  [{ outcome: failed("approval_expired") }, "approval", "approval_expired"],
  [{ outcome: failed("denied", "authorize") }, "denied", "authorize"],
  [{ outcome: failed("denied") }, "denied", "authorize"],
  [{ outcome: failed("unknown_function", "roles") }, "denied", "roles"],
  [{ outcome: failed("invalid_arguments") }, "denied", "input"],
  [{ outcome: failed("function_failed") }, "allowed", "function_failed"],
  [{ outcome: failed("result_too_large", "run_results") }, "allowed", "result_too_large"],
  [{ outcome: failed("function_failed", "no_runtime") }, undefined, "function_failed"],
  [{ outcome: failed("call_limit") }, undefined, "call_limit"],
  [{ outcome: failed("timed_out") }, undefined, "timed_out"],
  [{ outcome: failed("outcome_unknown") }, undefined, "outcome_unknown"],
  [{ outcome: failed("cancelled", "answered") }, undefined, "cancelled"],
];

async function callsOf(world: World, agentId = world.agentId, limit = 4) {
  const pages = [];
  let cursor: string | undefined;
  do {
    const page = await world.store.calls.newest(agentId, { limit, ...(cursor !== undefined && { cursor }) });
    pages.push(page.items);
    cursor = page.nextCursor ?? undefined;
  } while (cursor !== undefined);
  return pages;
}

export function newestCallContract(place: MakePlace): void {
  test("the ended calls come newest first in pages, with their caller and what the checks decided", async () => {
    await using world = await openWorld(place);
    const request = sampleRequest({ role: "manager", context: { shop: 7, note: "a\u0000b" } });
    const run = await world.start({ request, manifestHash: "set_1" });
    for (const [position, [change]] of DECISIONS.entries()) {
      world.clock.advance(1);
      await world.store.runs.commit(run, { calls: [sampleCall(`c${position + 10}`, { position, ...change })] });
    }
    await world.store.runs.commit(run, { calls: [sampleCall("open", { position: 99 })] });

    const pages = await callsOf(world);

    expect(pages.map(({ length }) => length)).toEqual([4, 4, 4, 3]);
    const read = pages.flat().toReversed();
    expect(read.map(({ decision, rule }) => [decision, rule])).toEqual(DECISIONS.map(([, ...said]) => said));
    expect(read[0]).toEqual({
      finishedAt: expect.any(Number) as number,
      cursor: expect.any(String) as string,
      callId: "c10",
      runId: run.runId,
      functionName: "list_orders",
      role: "manager",
      context: request.context,
      arguments: { late: true },
      decision: "allowed",
      rule: undefined,
      succeeded: true,
      redacted: [],
      manifestHash: "set_1",
    });
  });

  test("the calls of another agent and of an erased thread are not read", async () => {
    await using world = await openWorld(place);
    await world.store.accounts.createAgent({
      agentId: "agt_2",
      orgId: world.orgId,
      name: "Other",
      instructions: "",
    });
    const [kept, erased] = [await world.start(), await world.start()];
    const outcome: CallOutcome = { ok: true, value: {}, redacted: ["note"] };
    await world.store.runs.commit(kept, { calls: [sampleCall("c1", { outcome })] });
    await world.store.runs.commit(erased, { calls: [sampleCall("c2", { outcome })] });
    await world.store.threads.erase(world.agentId, erased.threadId);

    const read = (await callsOf(world)).flat();

    expect(read).toMatchObject([{ callId: "c1", role: undefined, redacted: ["note"], manifestHash: undefined }]);
    expect(await callsOf(world, "agt_2")).toEqual([[]]);
    expect(await callsOf(world, "agt_unknown")).toEqual([[]]);
  });
}
