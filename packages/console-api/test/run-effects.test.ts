import type { RunEffects, TestCallResult } from "@patchbay/protocol/console";
import { expect, test } from "vitest";
import { sampleCall, sampleRun, sampleTurn } from "../../store/test/contract/world.ts";
import { openDesk } from "./support/console-desk.ts";

async function caller() {
  const desk = await openDesk();
  const developer = await desk.member("developer");
  return {
    ...desk,
    developer,
    async call(functionName: string, role: string, given: object) {
      const path = `${desk.agent}/functions/${functionName}/test-calls`;
      const { runId } = await developer.json<TestCallResult>("POST", path, { body: { role, arguments: given } });
      return runId;
    },
    effects: (...runIds: string[]) =>
      developer.json<RunEffects>("GET", `${desk.agent}/run-effects?runIds=${runIds.join(",")}`),
  };
}

test("the calls of runs that write or destroy are listed, undeclared effects as writes, and no calls that read", async () => {
  await using desk = await caller();
  const reads = await desk.call("show_order", "manager", { id: 9 });
  const refunds = await desk.call("refund", "agent", { amount: 30 });
  const refused = await desk.call("refund", "agent", { amount: 300 });
  const closes = await desk.call("close_shop", "manager", {});
  const fails = await desk.call("break_down", "agent", {});

  expect(await desk.effects(reads)).toEqual({ calls: [], omitted: 0 });
  const { calls, omitted } = await desk.effects(reads, refunds, refused, closes, fails);
  expect(omitted).toBe(0);
  expect(calls.map(({ callId: _callId, ...one }) => one)).toEqual([
    { runId: refunds, functionName: "refund", effect: "write", arguments: { amount: 30 }, state: "ok" },
    { runId: refused, functionName: "refund", effect: "write", arguments: { amount: 300 }, state: "denied" },
    { runId: closes, functionName: "close_shop", effect: "destructive", arguments: {}, state: "ok" },
    { runId: fails, functionName: "break_down", effect: "write", arguments: {}, state: "failed" },
  ]);
});

test("without its function set the effect of a call is unknown, and at most 50 calls are listed, with long arguments cut", async () => {
  await using desk = await caller();
  const run = sampleRun({ orgId: desk.orgId, agentId: desk.agentId, keyId: "key_1", leaseMs: 60_000 });
  await desk.store.runs.start(run);
  const calls = Array.from({ length: 51 }, (_, position) => ({
    ...sampleCall(`call_${position}`),
    position,
    arguments: { text: "x".repeat(5_000) },
  }));
  await desk.store.runs.commit({ runId: run.runId, fence: 1 }, { turn: sampleTurn(0), calls });

  const listed = await desk.effects(run.runId);

  expect([listed.calls.length, listed.omitted]).toEqual([50, 1]);
  expect(listed.calls[0]).toMatchObject({ callId: "call_0", effect: null });
  expect(JSON.stringify(listed.calls[0]?.arguments).length).toBeLessThan(1_000);
});

test("runs of another agent have no calls here", async () => {
  await using desk = await caller();
  const refunds = await desk.call("refund", "agent", { amount: 30 });
  const { agentId } = await desk.admin.createAgent("Other", { orgId: desk.orgId });

  const path = `/agents/${agentId}/run-effects?runIds=${refunds}`;
  expect(await desk.developer.json("GET", path)).toEqual({ calls: [], omitted: 0 });
});
