import { expect, test } from "vitest";
import { startCore } from "./core.ts";
import { fakeGateway, manifestOf, ok } from "./fake-gateway.ts";
import { scriptedModel } from "./scripted-model.ts";

const MANIFEST = manifestOf({ pay: "everyone", idempotent_read: "everyone" });

async function desk(call: string, answer: Parameters<typeof fakeGateway>[1]) {
  const model = scriptedModel([{ calls: [[call, {}]] }, { text: "Told." }]);
  const runtime = fakeGateway(MANIFEST, answer);
  const core = await startCore({ models: model.catalog, gateway: runtime.gateway });
  return { ...core, runtime, model, [Symbol.asyncDispose]: () => core[Symbol.asyncDispose]() };
}

test("a call that surely did not start is given to another runtime under the same call id", async () => {
  await using system = await desk("pay", (order) => (order.attempt === 1 ? { kind: "undelivered" } : ok("paid")));

  const answer = await system.query("Pay");

  expect(answer.toolInteractions).toMatchObject([{ success: true, result: "paid" }]);
  const [first, second] = system.runtime.orders;
  expect(second).toMatchObject({ callId: first?.callId, attempt: 2 });
});

test("a call that may have run is not sent again: its outcome is told as unknown", async () => {
  await using system = await desk("pay", () => ({ kind: "unknown" }));

  const answer = await system.query("Pay");

  expect(answer).toMatchObject({ success: true, response: "Told." });
  expect(answer.toolInteractions).toMatchObject([{ success: false, code: "outcome_unknown" }]);
  expect(system.runtime.orders).toHaveLength(1);
});

test("an idempotent call that may have run is sent again, three times at most", async () => {
  await using system = await desk("idempotent_read", () => ({ kind: "unknown" }));

  const answer = await system.query("Read");

  expect(system.runtime.orders.map((order) => order.attempt)).toEqual([1, 2, 3]);
  expect(answer.toolInteractions).toMatchObject([{ code: "outcome_unknown" }]);
});

test("a runtime that is gone for good in mid-run ends the run, with the call in its record", async () => {
  await using system = await desk("pay", () => {
    system.runtime.connected = false;
    return { kind: "unknown" };
  });

  expect(await system.query("Pay")).toMatchObject({
    success: false,
    errorMessage: "Agent session not found",
    toolInteractions: [{ toolName: "pay", code: "outcome_unknown" }],
  });
});

test("a runtime that is gone before a call could be placed ends the run", async () => {
  await using system = await desk("pay", () => {
    system.runtime.connected = false;
    return { kind: "undelivered" };
  });

  expect(await system.query("Pay")).toMatchObject({
    success: false,
    code: "agent_session_not_found",
    toolInteractions: [{ toolName: "pay", success: false }],
  });
});

test("the intent to call is stored before anything is sent", async () => {
  let stored: unknown;
  await using system = await desk("pay", async (order) => {
    stored = (await system.store.runs.checkpoint(order.runId)).calls;
    return ok("paid");
  });

  await system.query("Pay");

  expect(stored).toMatchObject([{ functionName: "pay", instanceId: "runtime-0" }]);
});

test("a result is stored before the runtime is told to forget it", async () => {
  let outcome: unknown;
  await using system = await desk("pay", () => ok("paid"));
  system.runtime.gateway.acknowledge = ({ callId }) => {
    outcome = callId;
  };

  const answer = await system.query("Pay");

  const { calls } = await system.store.runs.checkpoint(answer.runId);
  expect(calls).toMatchObject([{ callId: outcome, outcome: { ok: true, value: "paid" } }]);
});

test("a call that no runtime takes fails instead of being offered for ever", async () => {
  await using system = await desk("pay", () => ({ kind: "undelivered" }));

  const answer = await system.query("Pay");

  expect(answer).toMatchObject({ success: true, toolInteractions: [{ success: false, code: "function_failed" }] });
  expect(system.runtime.orders).toHaveLength(10);
});

test("a result is measured in bytes, whatever its runtime said", async () => {
  await using system = await desk("pay", () => ok("€".repeat(100_000)));

  expect((await system.query("Pay")).toolInteractions).toMatchObject([{ code: "result_too_large" }]);
});

test("a long reason of a failed call is cut for the model", async () => {
  await using system = await desk("pay", () => ({
    kind: "outcome",
    outcome: { ok: false, code: "function_failed", message: "x".repeat(100_000) },
  }));

  const answer = await system.query("Pay");

  expect(answer.toolInteractions[0]?.errorMessage).toHaveLength(100_000);
  const [results] = system.model.requests[1]!.messages.filter((message) => message.role === "results");
  expect(results?.results[0]?.content).toMatch(/\[cut: 32768 of 100000 bytes shown\]$/);
});
