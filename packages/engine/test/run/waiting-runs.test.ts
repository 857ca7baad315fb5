import { expect, test } from "vitest";
import { createMemoryBus } from "@patchbay/gateway/bus/memory-bus";
import { desk, manifest, refund, turnsOf } from "./approval-desk.ts";
import { StoreUnavailable } from "../../src/ports/store/run-store.ts";
import { memoryStore } from "./core.ts";

test("a function that has changed since is not run", async () => {
  await using core = await desk();
  const run = await core.begin();
  await core.result(run);
  const changed = manifest({ effect: "destructive" });
  core.runtime.gateway.session = async () => ({ manifest: changed, manifestHash: "new", services: [], missing: [] });
  await core.decide({ approved: true });

  const ended = await core.ended(run);

  expect(ended?.toolInteractions).toMatchObject([
    { code: "function_failed", errorMessage: expect.stringContaining("has changed") },
  ]);
  expect(core.runtime.orders).toHaveLength(1);
});

test("a run whose key is revoked while it waits ends cancelled, and its approval too", async () => {
  await using core = await desk();
  await core.store.accounts.createCredential({
    credentialId: "key_1",
    kind: "api",
    agentId: "agt_1",
    hash: "h",
    hint: "x",
  });
  const run = await core.begin();
  await core.result(run);

  await core.store.accounts.revokeCredential("api", "key_1");
  const ended = await core.ended(run);

  expect(ended).toMatchObject({ code: "cancelled", toolInteractions: [{ toolName: "refund", code: "cancelled" }] });
  const events = await core.events(run.runId);
  expect(events.slice(-2)).toMatchObject([{ type: "approvalDecision", decision: "cancelled" }, { type: "error" }]);
  expect((await core.approvals.list(core.principal, { limit: 9 })).items).toMatchObject([{ status: "cancelled" }]);
});

test.each([true, false])(
  "another process knows whether the stream's client asked to cancel: %s",
  async (cancelWhenGone) => {
    await using core = await desk();
    const run = await core.begin({ cancelWhenGone });
    await core.result(run);

    expect(await core.runs.cancelsWhenGone(run)).toBe(cancelWhenGone);
    expect((await core.store.runs.get("agt_1", run.runId))?.request.cancelWhenGone).toBe(cancelWhenGone || undefined);
  },
);

test("a run that is cancelled while it waits ends at once, and nothing can be decided", async () => {
  await using core = await desk();
  const run = await core.begin();
  await core.result(run);
  const [asked] = await core.pending();

  expect(await core.runs.cancel(core.caller, run.runId)).toMatchObject({ success: true });
  const ended = await core.ended(run);

  expect(ended).toMatchObject({ code: "cancelled", toolInteractions: [{ toolName: "refund", code: "cancelled" }] });
  await expect(
    core.approvals.decide(core.principal, asked!.approvalId, { approved: true, as: "manager" }),
  ).rejects.toMatchObject({
    code: "conflict",
    status: "cancelled",
  });
});

test("a new query on the thread is refused at once, and with supersede takes its place", async () => {
  await using core = await desk(() => ({ calls: [refund(200)] }));
  const run = await core.begin();
  await core.result(run);

  expect(await core.query("Again", { role: "clerk", threadId: run.threadId })).toMatchObject({
    code: "thread_busy",
    errorMessage: expect.stringContaining("waits for an approval"),
  });
  const next = await core.begin({ threadId: run.threadId, supersede: true });

  expect(await core.result(next)).toMatchObject({ code: "approval_required" });
  expect(await core.result(run)).toMatchObject({ code: "cancelled" });
});

test("a pinned key cannot supersede a waiting run that it may not see", async () => {
  await using core = await desk();
  const run = await core.begin();
  await core.result(run);

  const refused = await core.query("Again", { threadId: run.threadId, supersede: true, as: { roles: ["guest"] } });

  expect(refused).toMatchObject({ code: "thread_busy" });
  expect(await core.pending()).toHaveLength(1);
});

test("the deadline does not come closer while a run waits", async () => {
  await using core = await desk(turnsOf(refund(200)), { runTimeoutMs: 60_000 });
  const run = await core.begin();
  await core.result(run);
  const waiting = await core.store.runs.get("agt_1", run.runId);
  core.runtime.connected = false;
  await core.decide({ approved: true });
  await core.ended(run);

  const ended = await core.store.runs.get("agt_1", run.runId);
  expect(ended!.deadlineAt).toBeGreaterThan(waiting!.deadlineAt);
});

test("no credit is reserved while a run waits", async () => {
  await using core = await desk(turnsOf(refund(200), ["look_up", {}]), { tier: "starter" });
  await core.store.accounts.grant("org_1", 1_000_000);
  const run = await core.begin();
  const waits = await core.result(run);

  expect(await core.store.accounts.balance("org_1")).toBe(1_000_000 - Math.round(waits!.usage.costUsd * 1_000_000));
});

test("another replica continues a run after a decision, and runs its handler once", async () => {
  await using store = await memoryStore();
  const bus = createMemoryBus();
  const turns = turnsOf(refund(200));
  let runId: string;
  let threadId: string;
  {
    await using first = await desk(turns, { store, bus, owner: "replica-1" });
    const run = await first.begin();
    ({ runId, threadId } = run);
    expect(await first.result(run)).toMatchObject({ code: "approval_required" });
  }
  await using second = await desk(() => ({ text: "Done." }), { store, bus, owner: "replica-2" });
  await second.decide({ approved: true });

  const run = { runId, threadId, agentId: "agt_1" };
  const ended = await second.ended(run);

  expect(ended).toMatchObject({ success: true, toolInteractions: [{ success: true }] });
  expect(second.runtime.orders).toMatchObject([{ attempt: 2, approval: { decidedAs: "manager" } }]);
});

test("a run that ends before its decision is reported says what was decided", async () => {
  await using core = await desk();
  const run = await core.begin();
  await core.result(run);
  const [asked] = await core.pending();
  await core.store.approvals.decide("agt_1", asked!.approvalId, { approved: true, by: "key_2", as: "manager" });

  await core.runs.cancel(core.caller, run.runId);
  await core.ended(run);

  expect((await core.events(run.runId)).slice(-2)).toMatchObject([{ decision: "approved" }, { type: "error" }]);
});

test("a run that ends because a decision could not be stored reports it with its end", async () => {
  await using store = await memoryStore();
  const failing = Promise.withResolvers<void>();
  const commit: typeof store.runs.commit = async (lease, change) => {
    if (!change.approvals?.reported || change.finish) return await store.runs.commit(lease, change);
    failing.resolve();
    throw new StoreUnavailable("down");
  };
  await using core = await desk(undefined, { store: { ...store, runs: { ...store.runs, commit } } });
  const run = await core.begin();
  await core.result(run);
  await core.decide({ approved: true });
  await failing.promise;

  await core.runs.cancel(core.caller, run.runId);
  await core.ended(run);

  expect((await core.events(run.runId)).slice(-2)).toMatchObject([{ decision: "approved" }, { type: "error" }]);
});
