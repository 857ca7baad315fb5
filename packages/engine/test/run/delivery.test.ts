import type { FunctionManifest } from "@patchbay/protocol";
import { expect, test } from "vitest";
import type { Delivery } from "../../src/ports/function-gateway.ts";
import { afterDelivery, nextAttempt } from "../../src/run/calls/attempts.ts";
import { sampleCall } from "../../../store/test/contract/world.ts";
import { startScripted } from "./core.ts";
import { fakeGateway, manifestOf, ok } from "./fake-gateway.ts";

const MANIFEST = manifestOf({ pay: "everyone", idempotent_read: "everyone" });

/** A run that makes one call, whose deliveries end as `answer` returns. */
const startCall = (functionName: string, answer: Parameters<typeof fakeGateway>[1]) =>
  startScripted([{ calls: [[functionName, {}]] }, { text: "Done." }], { manifest: MANIFEST, answer });

test("a call that did not start is delivered to another runtime with the same call id", async () => {
  await using system = await startCall("pay", (order) => (order.attempt === 1 ? { kind: "undelivered" } : ok("paid")));

  const answer = await system.query("Pay");

  expect(answer.toolInteractions).toMatchObject([{ success: true, result: "paid" }]);
  const [first, second] = system.runtime.orders;
  expect(second).toMatchObject({ callId: first?.callId, attempt: 2 });
});

test("a call that may have run is not sent again, and its outcome is unknown", async () => {
  await using system = await startCall("pay", () => ({ kind: "unknown" }));

  const answer = await system.query("Pay");

  expect(answer).toMatchObject({ success: true, response: "Done." });
  expect(answer.toolInteractions).toMatchObject([{ success: false, code: "outcome_unknown" }]);
  expect(system.runtime.orders).toHaveLength(1);
});

test("an idempotent call that may have run is sent again, up to three times", async () => {
  await using system = await startCall("idempotent_read", () => ({ kind: "unknown" }));

  const answer = await system.query("Read");

  expect(system.runtime.orders.map((order) => order.attempt)).toEqual([1, 2, 3]);
  expect(answer.toolInteractions).toMatchObject([{ code: "outcome_unknown" }]);
});

test("a run ends when its runtime disconnects during a call, and the call is in its result", async () => {
  await using system = await startCall("pay", () => {
    system.runtime.connected = false;
    return { kind: "unknown" };
  });

  expect(await system.query("Pay")).toMatchObject({
    success: false,
    errorMessage: "Agent session not found",
    toolInteractions: [{ toolName: "pay", code: "outcome_unknown" }],
  });
});

test("a run ends when no runtime is left for a call", async () => {
  await using system = await startCall("pay", () => {
    system.runtime.connected = false;
    return { kind: "undelivered" };
  });

  expect(await system.query("Pay")).toMatchObject({
    success: false,
    code: "agent_session_not_found",
    toolInteractions: [{ toolName: "pay", success: false }],
  });
});

test("a call is stored before it is sent", async () => {
  let stored: unknown;
  await using system = await startCall("pay", async (order) => {
    stored = (await system.store.runs.checkpoint(order.runId)).calls;
    return ok("paid");
  });

  await system.query("Pay");

  expect(stored).toMatchObject([{ functionName: "pay", instanceId: "runtime-0" }]);
});

test("a result is stored before it is acknowledged", async () => {
  let outcome: unknown;
  await using system = await startCall("pay", () => ok("paid"));
  system.runtime.gateway.acknowledge = ({ callId }) => {
    outcome = callId;
  };

  const answer = await system.query("Pay");

  const { calls } = await system.store.runs.checkpoint(answer.runId);
  expect(calls).toMatchObject([{ callId: outcome, outcome: { ok: true, value: "paid" } }]);
});

test("a call that no runtime accepts fails after ten offers", async () => {
  await using system = await startCall("pay", () => ({ kind: "undelivered" }));

  const answer = await system.query("Pay");

  expect(answer).toMatchObject({ success: true, toolInteractions: [{ success: false, code: "function_failed" }] });
  expect(system.runtime.orders).toHaveLength(10);
});

test("the control plane measures the bytes of a result itself", async () => {
  await using system = await startCall("pay", () => ok("€".repeat(100_000)));

  expect((await system.query("Pay")).toolInteractions).toMatchObject([{ code: "result_too_large" }]);
});

test("a long message of a failed call is cut for the model", async () => {
  await using system = await startCall("pay", () => ({
    kind: "outcome",
    outcome: { ok: false, code: "function_failed", message: "x".repeat(100_000) },
  }));

  const answer = await system.query("Pay");

  expect(answer.toolInteractions[0]?.errorMessage).toHaveLength(100_000);
  const [results] = system.model.requests[1]!.messages.filter((message) => message.role === "results");
  expect(results?.results[0]?.content).toMatch(/\[cut: 32768 of 100000 bytes shown\]$/);
});

/** A run whose only call is of a function with `retries`. */
function startRetried(answer: Parameters<typeof fakeGateway>[1], change: Partial<FunctionManifest> = {}) {
  const manifest = manifestOf({ idempotent_read: "everyone" });
  Object.assign(manifest.functions[0]!, { retries: { max: 4 }, ...change });
  return startScripted([{ calls: [["idempotent_read", {}]] }, { text: "Done." }], { manifest, answer });
}

const failure = (retryAfterMs?: number, message = "Busy."): Delivery => ({
  kind: "outcome",
  outcome: { ok: false, code: "function_failed", message, ...(retryAfterMs !== undefined && { retryAfterMs }) },
});

test("a failure that the runtime marks is followed by another attempt, which is stored and whose result is used", async () => {
  const stored: unknown[] = [];
  await using system = await startRetried(async ({ attempt, runId }) => {
    stored.push((await system.store.runs.checkpoint(runId)).calls[0]);
    return attempt < 3 ? failure(1) : ok("read");
  });

  const answer = await system.query("Read");

  expect(answer.toolInteractions).toMatchObject([{ success: true, result: "read" }]);
  expect(stored).toMatchObject([
    { attempt: 1 },
    { attempt: 2, earlier: [{ attempt: 1, ended: "failed", message: "Busy.", retryAfterMs: 1 }] },
    { attempt: 3, earlier: [{ attempt: 1 }, { attempt: 2, ended: "failed" }] },
  ]);
  // Once for each failure, so that a runtime that drains does not wait for the end of the call.
  expect(system.runtime.acknowledged).toHaveLength(3);
});

test("the caller sees the failure of the last of `max` attempts, without the time of a retry", async () => {
  await using system = await startRetried(({ attempt }) => failure(1, `Failure ${attempt}.`));

  const answer = await system.query("Read");

  expect(system.runtime.orders).toHaveLength(4);
  expect(answer.toolInteractions).toMatchObject([{ code: "function_failed", errorMessage: "Failure 4." }]);
  const { calls } = await system.store.runs.checkpoint(answer.runId);
  expect(calls[0]?.outcome).toEqual({ ok: false, code: "function_failed", message: "Failure 4." });
});

test("attempts with an unknown outcome count, and attempts that were not delivered do not", async () => {
  const ends: Delivery[] = [{ kind: "unknown" }, { kind: "undelivered" }, failure(1), { kind: "unknown" }, ok("read")];
  await using system = await startRetried(({ attempt }) => ends[attempt - 1]!);

  const answer = await system.query("Read");

  expect(system.runtime.orders).toHaveLength(5);
  expect(answer.toolInteractions).toMatchObject([{ success: true, result: "read" }]);
});

test.each<[string, Partial<FunctionManifest>]>([
  ["may not run twice", { idempotent: false }],
  ["has no retries", { retries: undefined }],
])("a failure that the runtime marks is final if the function %s", async (_, change) => {
  await using system = await startRetried(() => failure(1), change);

  expect((await system.query("Read")).toolInteractions).toMatchObject([{ errorMessage: "Busy." }]);
  expect(system.runtime.orders).toHaveLength(1);
});

test("a refusal that asks for another attempt is final", async () => {
  const denied = { ok: false, code: "denied", message: "No.", retryAfterMs: 1 } as const;
  await using system = await startRetried(() => ({ kind: "outcome", outcome: denied }));

  expect((await system.query("Read")).toolInteractions).toMatchObject([{ code: "denied" }]);
  expect(system.runtime.orders).toHaveLength(1);
});

test("a failure is final if the run ends before the next attempt", async () => {
  await using system = await startRetried(() => failure(3_600_000));

  expect((await system.query("Read")).toolInteractions).toMatchObject([{ errorMessage: "Busy." }]);
  expect(system.runtime.orders).toHaveLength(1);
});

test.each([
  [
    { ended: "failed", message: "Busy.", retryAfterMs: 1 },
    { code: "function_failed", message: "Busy." },
  ],
  [{ ended: "unknown" }, { code: "outcome_unknown" }],
] as const)("a call that no runtime accepts after an attempt that %j ends as that attempt did", (end, outcome) => {
  const call = { ...sampleCall("c1"), instanceId: "runtime-0" };
  nextAttempt(call, end, 1);
  for (let offer = 1; offer < 10; offer++) nextAttempt(call, { ended: "undelivered" }, 1);
  const manifest = manifestOf({ idempotent_read: "everyone" }).functions[0]!;

  const next = afterDelivery(call, { kind: "undelivered" }, { manifest, remainingMs: 60_000, offeredMs: 0 });

  expect(next).toMatchObject({ outcome });
});

test("a read function with retries that may have run is sent again", async () => {
  const change = { idempotent: false, effect: "read", retries: { max: 2 } } as const;
  await using system = await startRetried(() => ({ kind: "unknown" }), change);

  expect((await system.query("Read")).toolInteractions).toMatchObject([{ code: "outcome_unknown" }]);
  expect(system.runtime.orders).toHaveLength(2);
});

function startReconciled(answer: Parameters<typeof fakeGateway>[1]) {
  const manifest = manifestOf({ pay: "everyone" });
  manifest.functions[0]!.reconciles = true;
  return startScripted([{ calls: [["pay", {}]] }, { text: "Done." }], { manifest, answer });
}

const unknownOutcome: Delivery = {
  kind: "outcome",
  outcome: { ok: false, code: "outcome_unknown", message: "Not known." },
};

test("a call that may have run is delivered again as unsure if its function can find out", async () => {
  await using system = await startReconciled(({ attempt }) => (attempt === 1 ? { kind: "unknown" } : ok("paid")));

  expect((await system.query("Pay")).toolInteractions).toMatchObject([{ success: true, result: "paid" }]);
  expect(system.runtime.orders.map(({ unsure = false }) => unsure)).toEqual([false, true]);
});

test("an unsure call that is not delivered is offered again as unsure", async () => {
  const ends: Delivery[] = [{ kind: "unknown" }, { kind: "undelivered" }, ok("paid")];
  await using system = await startReconciled(({ attempt }) => ends[attempt - 1]!);

  await system.query("Pay");

  expect(system.runtime.orders.map(({ unsure = false }) => unsure)).toEqual([false, true, true]);
});

test("an answered unknown outcome is acknowledged when another runtime gets the next attempt", async () => {
  await using system = await startReconciled(({ attempt }) => (attempt === 1 ? unknownOutcome : ok("paid")));

  await system.query("Pay");

  expect(system.runtime.acknowledged).toHaveLength(2);
});

test("a failure is acknowledged when its run is cancelled before the next attempt", async () => {
  await using system = await startRetried(() => failure(60_000));
  system.runtime.gateway.assign = async () => "runtime-0";
  const run = await system.start("Read");
  const stored = async () => (await system.store.runs.checkpoint(run.runId)).calls[0]?.attempt;
  await expect.poll(stored).toBe(2);

  await system.runs.cancel(system.caller, run.runId);

  expect(await system.result(run)).toMatchObject({ code: "cancelled" });
  expect(system.runtime.acknowledged).toHaveLength(1);
});

test("a function is asked once for each unknown outcome, at most as often as a call may run", async () => {
  await using system = await startReconciled(() => unknownOutcome);
  expect((await system.query("Pay")).toolInteractions).toMatchObject([{ errorMessage: "Not known." }]);
  expect(system.runtime.orders).toHaveLength(2);

  await using lost = await startReconciled(() => ({ kind: "unknown" }));
  expect((await lost.query("Pay")).toolInteractions).toMatchObject([{ code: "outcome_unknown" }]);
  expect(lost.runtime.orders).toHaveLength(3);
});
