import { expect, test } from "vitest";
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
