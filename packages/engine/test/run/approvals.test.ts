import type { CallOutcome } from "@patchbay/protocol";
import { expect, test } from "vitest";
import { StoreUnavailable } from "../../src/ports/store/run-store.ts";
import { provenCaller } from "../../../server/test/accounts/proven-caller.ts";
import { asks, desk, refund, turnsOf } from "./approval-desk.ts";

test("a run waits for an approval without a lease, and continues with the decision", async () => {
  await using core = await desk();
  const run = await core.begin();

  const waits = await core.result(run);
  expect(waits).toMatchObject({
    success: false,
    response: "",
    code: "approval_required",
    errorMessage: "Waiting for approval",
    approvals: [{ toolName: "refund", parameters: { amount: 200 }, reason: "Over 100.", by: ["manager", "caller"] }],
    toolInteractions: [{ toolName: "refund", success: false, code: "approval_required" }],
  });
  expect(await core.runs.find(core.caller, run.runId)).toMatchObject({ status: "waiting" });
  expect(core.runtime.acknowledged).toHaveLength(1);
  await core.decide({ approved: true, arguments: { orderId: "o1", amount: 150 } });
  const ended = await core.ended(run);

  expect(ended).toMatchObject({
    success: true,
    response: "Done.",
    toolInteractions: [{ success: true, result: "refund done" }],
  });
  const [first, second] = core.runtime.orders;
  expect(core.runtime.orders).toHaveLength(2);
  expect(second).toMatchObject({
    callId: first!.callId,
    attempt: 2,
    arguments: { orderId: "o1", amount: 200 },
    afterMs: expect.any(Number),
    approval: {
      approvalId: first!.callId.replace("call_", "apr_"),
      edited: { orderId: "o1", amount: 150 },
      decidedAs: "manager",
      decidedBy: "key_2",
      requestedBy: "key_1",
    },
  });
  expect(second!.approval!.argumentsHash).toMatch(/^[0-9a-f]{64}$/);
  const events = await core.events(run.runId);
  expect(events.map(({ type }) => type)).toEqual([
    "toolCall",
    "approvalRequest",
    "approvalDecision",
    "toolResult",
    "finalResponse",
  ]);
  expect(events[2]).toMatchObject({ decision: "approved", parameters: { amount: 150 }, toolCallId: first!.callId });
  const audit = await core.store.audit.list({ runId: run.runId, action: "approval", limit: 9 });
  expect(audit.items.map(({ action, keyId }) => [action, keyId])).toEqual([
    ["approval.approved", "key_2"],
    ["approval.requested", "key_1"],
  ]);
});

test("the runtime's answer is acknowledged when the run is cancelled before its approval is stored", async () => {
  await using core = await desk();
  const { runs } = core.store;
  const commit = runs.commit.bind(runs);
  const refused = Promise.withResolvers<void>();
  runs.commit = async (lease, change) => {
    if (!change.approvals) return await commit(lease, change);
    refused.resolve();
    throw new StoreUnavailable("The store is unavailable: the disk is full.");
  };
  const run = await core.begin();
  await refused.promise;

  await core.runs.cancel(core.caller, run.runId);

  expect(await core.result(run)).toMatchObject({ code: "cancelled" });
  expect(core.runtime.acknowledged).toHaveLength(1);
});

test("siblings run at once, and a rejection drops only its own call", async () => {
  await using core = await desk(turnsOf(refund(200), ["look_up", {}], refund(300)));
  const run = await core.begin();

  const waits = await core.result(run);
  expect(waits?.toolInteractions.map(({ code, success }) => code ?? success)).toEqual([
    "approval_required",
    true,
    "approval_required",
  ]);
  const byAmount = async (amount: number) =>
    (await core.pending()).find(({ parameters }) => (parameters as { amount: number }).amount === amount)!.approvalId;
  await core.approvals.decide(core.principal, await byAmount(200), {
    approved: false,
    as: "clerk",
    reason: "Not this one.",
  });
  expect(await core.runs.find(core.caller, run.runId)).toMatchObject({ status: "waiting" });
  await core.approvals.decide(core.principal, await byAmount(300), { approved: true, as: "manager" });
  const ended = await core.ended(run);

  expect(ended?.toolInteractions.map(({ code, success }) => code ?? success)).toEqual(["rejected", true, true]);
  expect(ended?.toolInteractions[0]?.errorMessage).toMatch(/Not this one\..*Do not ask for the same call again/);
});

test("after a rejection the same call is refused without asking again", async () => {
  await using core = await desk([
    { calls: [refund(200)] },
    { calls: [["refund", { amount: 200, orderId: "o1" }]] },
    { text: "Done." },
  ]);
  const run = await core.begin();
  await core.result(run);
  await core.decide({ approved: false });

  const ended = await core.ended(run);

  expect(ended?.toolInteractions.map(({ code }) => code)).toEqual(["rejected", "rejected"]);
  expect(core.runtime.orders).toHaveLength(1);
});

test("an approval of a function without one, and a second one for a call, are failures", async () => {
  await using core = await desk(turnsOf(["look_up", {}], refund(200)), { answer: () => asks() });
  const run = await core.begin();
  await core.result(run);
  await core.decide({ approved: true });

  const ended = await core.ended(run);

  expect(ended?.toolInteractions.map(({ code }) => code)).toEqual(["function_failed", "function_failed"]);
});

test.each(["rejected", "approval_expired", "approval_required"] as const)(
  "a runtime cannot give a call the outcome %s by itself",
  async (code) => {
    const outcome: CallOutcome = { ok: false, code, message: "No." };
    await using core = await desk(turnsOf(["look_up", {}]), { answer: () => ({ kind: "outcome", outcome }) });

    const ended = await core.result(await core.begin());

    expect(ended?.toolInteractions).toMatchObject([{ code: "function_failed" }]);
  },
);

test("an Idempotency-Key joins a waiting run", async () => {
  await using core = await desk();
  const idempotency = { key: "k", bodyHash: "h" };
  await core.result(await core.begin({ idempotency }));

  const again = await core.result(await core.begin({ idempotency }));

  expect(again).toMatchObject({ code: "approval_required" });
  expect(core.model.requests).toHaveLength(1);
});

test("a decided call reads as open while its run waits for another decision", async () => {
  await using core = await desk(turnsOf(refund(200), refund(300)));
  const run = await core.begin();
  await core.result(run);
  await core.decide({ approved: true });

  const waits = await core.result(run);

  expect(waits?.approvals).toHaveLength(1);
  expect(waits?.toolInteractions.map(({ code }) => code)).toEqual(["approval_required", "approval_required"]);
});

test("a caller's approval is decided by the proven caller of the run, or by another approver", async () => {
  await using core = await desk();
  const as = (subject: string) => ({ ...core.principal, proven: provenCaller(subject) });
  const run = await core.runs.start(as("ada"), { query: "Refund o1", role: "clerk", analysisMode: false });
  await core.result(run);
  const [{ approvalId } = expect.fail("without an approval")] = await core.pending();
  const decides = (subject: string, role: string) =>
    core.approvals.decide(as(subject), approvalId, { approved: true, as: role });

  await expect(decides("eve", "clerk")).rejects.toMatchObject({ code: "role_not_allowed" });
  expect(await core.pending()).toHaveLength(1);
  const decidable = (subject: string) => core.approvals.decidable({ ...as(subject), roles: ["clerk"] }, approvalId);
  await expect(decidable("eve")).rejects.toMatchObject({ code: "not_found" });
  expect(await decidable("ada")).toMatchObject({ status: "pending" });
  expect(await decides("ada", "clerk")).toMatchObject({ status: "approved" });
  await expect(decides("eve", "manager")).rejects.toMatchObject({ code: "conflict" });
});

test("a rejection with changed arguments is stored without them, and refused if they may not change", async () => {
  await using core = await desk();
  const run = await core.begin();
  await core.result(run);

  await expect(core.decide({ approved: false, arguments: { orderId: "o2", amount: 200 } })).rejects.toMatchObject({
    code: "invalid_request",
    details: [{ path: "arguments.orderId" }],
  });
  await core.decide({ approved: false, arguments: { orderId: "o1", amount: 1 } });

  await core.ended(run);
  const decision = (await core.events(run.runId)).find(({ type }) => type === "approvalDecision");
  expect(decision).toMatchObject({ decision: "rejected" });
  expect(decision).not.toHaveProperty("parameters");
});
