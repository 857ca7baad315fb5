import type { Service } from "@patchbay/functions";
import { LIMITS } from "@patchbay/protocol";
import { expect, test } from "vitest";
import { callFrame } from "@patchbay/test-support/fake-control-plane";
import { gated, fakeService, untilAborted } from "@patchbay/test-support/fake-service";
import { until } from "@patchbay/test-support/inbox";
import { plane, runtimeOf } from "./hand-plane.ts";

async function connected(service: Service, concurrency = 16) {
  const started = await plane();
  const runtime = runtimeOf(started.url, service, { concurrency });
  return { plane: started, runtime, connection: await started.welcome() };
}

test("a call runs and its outcome is sent", async () => {
  const service = fakeService();
  const { connection } = await connected(service);

  connection.send(callFrame("c1", { role: "agent", sessionId: "s1", context: { tenant: 1 }, arguments: { n: 1 } }));

  expect(await connection.next("result")).toEqual({
    type: "result",
    callId: "c1",
    attempt: 1,
    outcome: { ok: true, value: { n: 1 } },
  });
  expect(service.invoked).toMatchObject([
    { functionName: "echo", role: "agent", sessionId: "s1", context: { tenant: 1 }, callId: "c1", attempt: 1 },
  ]);
});

test("a call that is running is not started a second time", async () => {
  const gate = gated();
  const service = fakeService({ answer: gate.answer });
  const { connection } = await connected(service);

  connection.send(callFrame("c1"));
  connection.send(callFrame("c1", { attempt: 2 }));

  expect(await connection.next("callState")).toMatchObject({ callId: "c1", state: "running" });
  gate.open();
  await connection.next("result");
  expect(service.invoked).toHaveLength(1);
});

test("a call that has ended is answered with its result and not run again", async () => {
  const service = fakeService();
  const { connection } = await connected(service);
  connection.send(callFrame("c1"));
  const first = await connection.next("result");

  connection.send(callFrame("c1", { attempt: 2 }));

  expect(await connection.next("callState")).toMatchObject({ callId: "c1", state: "done" });
  expect(await connection.next("result")).toEqual(first);
  expect(service.invoked).toHaveLength(1);
});

test("a call is not run again after its result was acknowledged", async () => {
  const service = fakeService();
  const { connection } = await connected(service);
  connection.send(callFrame("c1"));
  await connection.next("result");
  connection.send({ type: "resultAck", callId: "c1" });

  connection.send(callFrame("c1", { attempt: 2 }));

  expect(await connection.next("result")).toMatchObject({ outcome: { ok: false, code: "outcome_unknown" } });
  expect(service.invoked).toHaveLength(1);
});

test.each([
  ["role", { role: "customer" }],
  ["function", { function: "other" }],
])("a call id that is reused with another %s is denied", async (_, change) => {
  const service = fakeService({ answer: async () => ({ ok: true, value: "for managers" }) });
  const { connection } = await connected(service);
  const call = callFrame("c1", { role: "manager" });
  connection.send(call);
  await connection.next("result");

  connection.send({ ...call, ...change, attempt: 2 });
  const before = await connection.next("result");
  connection.send({ type: "resultAck", callId: "c1" });
  connection.send({ ...call, ...change, attempt: 3 });
  const after = await connection.next("result");

  expect([before, after]).toMatchObject([
    { callId: "c1", attempt: 2, outcome: { ok: false, code: "denied", rule: "redelivery" } },
    { callId: "c1", attempt: 3, outcome: { ok: false, code: "denied", rule: "redelivery" } },
  ]);
  expect(service.invoked).toHaveLength(1);
});

test("a query for an unknown call is answered unseen, and refuses that attempt but not a later one", async () => {
  const service = fakeService();
  const { connection } = await connected(service);

  connection.send({ type: "callQuery", callId: "c1", attempt: 2 });
  expect(await connection.next("callState")).toMatchObject({ callId: "c1", state: "unseen" });
  connection.send(callFrame("c1", { attempt: 2 }));
  expect(await connection.next("callState")).toMatchObject({ callId: "c1", state: "unseen" });
  expect(service.invoked).toHaveLength(0);

  connection.send(callFrame("c1", { attempt: 3 }));
  expect(await connection.next("result")).toMatchObject({ callId: "c1", attempt: 3 });
});

test("a query for a known call is answered running or done", async () => {
  const gate = gated();
  const { connection } = await connected(fakeService({ answer: gate.answer }));
  connection.send(callFrame("c1"));

  connection.send({ type: "callQuery", callId: "c1", attempt: 1 });
  expect(await connection.next("callState")).toMatchObject({ state: "running" });
  gate.open();
  await connection.next("result");

  connection.send({ type: "callQuery", callId: "c1", attempt: 1 });
  expect(await connection.next("callState")).toMatchObject({ state: "done" });
  expect(await connection.next("result")).toMatchObject({ callId: "c1", outcome: { ok: true } });
});

test("calls above the concurrency wait for a slot", async () => {
  const gate = gated();
  const service = fakeService({ answer: gate.answer });
  const { connection } = await connected(service, 2);

  for (const id of ["c1", "c2", "c3"]) connection.send(callFrame(id));
  connection.send({ type: "callQuery", callId: "c3", attempt: 1 });

  expect(await connection.next("callState")).toMatchObject({ callId: "c3", state: "running" });
  expect(service.invoked.map(({ callId }) => callId)).toEqual(["c1", "c2"]);
  gate.open();
  for (const _ of [1, 2, 3]) await connection.next("result");
  expect(service.invoked.map(({ callId }) => callId)).toEqual(["c1", "c2", "c3"]);
});

test.each([
  ["cancelled", "cancelled"],
  ["timed_out", "timed_out"],
])("a cancel frame with the reason %s ends the handler's signal", async (reason, code) => {
  const { answer, started } = untilAborted();
  const { connection } = await connected(fakeService({ answer }));
  connection.send(callFrame("c1"));
  await started;

  connection.send({ type: "cancel", callId: "c1", reason });

  expect(await connection.next("result")).toMatchObject({ outcome: { ok: false, code } });
});

test("a cancelled call that waits for a slot never starts", async () => {
  const gate = gated();
  const service = fakeService({ answer: gate.answer });
  const { connection } = await connected(service, 1);
  connection.send(callFrame("c1"));
  connection.send(callFrame("c2"));

  connection.send({ type: "cancel", callId: "c2", reason: "cancelled" });

  expect(await connection.next("result")).toMatchObject({ callId: "c2", outcome: { ok: false, code: "cancelled" } });
  gate.open();
  await connection.next("result");
  expect(service.invoked).toHaveLength(1);
});

test("a call whose time runs out while it waits for a slot never starts", async () => {
  const gate = gated();
  const service = fakeService({ answer: gate.answer });
  const { connection } = await connected(service, 1);
  connection.send(callFrame("c1"));
  connection.send(callFrame("c2", { timeoutMs: 0 }));
  await until(() => gate.started(1), "the first call");

  gate.open();

  await connection.next("result");
  expect(await connection.next("result")).toMatchObject({ callId: "c2", outcome: { ok: false, code: "timed_out" } });
  expect(service.invoked).toHaveLength(1);
});

test("progress is sent while the call runs", async () => {
  const service = fakeService({
    async answer(_, { onProgress }) {
      onProgress?.({ step: 1 });
      return { ok: true, value: null };
    },
  });
  const { connection } = await connected(service);

  connection.send(callFrame("c1"));

  expect(await connection.next("progress")).toEqual({ type: "progress", callId: "c1", data: { step: 1 } });
});

test("a result too large for a frame becomes a failure", async () => {
  const value = "x".repeat(LIMITS.frameBytes);
  const { connection } = await connected(fakeService({ answer: async () => ({ ok: true, value }) }));

  connection.send(callFrame("c1"));

  expect(await connection.next("result")).toMatchObject({ outcome: { ok: false, code: "result_too_large" } });
});

test("a service whose invoke rejects makes the call fail", async () => {
  const { connection } = await connected(fakeService({ answer: () => Promise.reject(new Error("secret detail")) }));

  connection.send(callFrame("c1"));

  const { outcome } = await connection.next("result");
  expect(outcome).toEqual({ ok: false, code: "function_failed", message: "The function failed." });
});

test("the service runs hooks, which stop with the runtime", async () => {
  const stopped = Promise.withResolvers<unknown>();
  const service: Service = {
    ...fakeService(),
    runHook(call, { signal, timeoutMs }) {
      signal.addEventListener("abort", () => stopped.resolve(signal.reason));
      if (call.hook === "beforeAnswer") return Promise.reject(new Error("broken"));
      return Promise.resolve({ verdict: "refused", text: `${call.query} ${timeoutMs}` });
    },
  };
  const { connection, runtime } = await connected(service);

  connection.send({ type: "hook", id: "h1", call: { hook: "beforeQuery", query: "Why?", context: {} }, timeoutMs: 7 });
  expect(await connection.next("hookResult")).toEqual({
    type: "hookResult",
    id: "h1",
    result: { verdict: "refused", text: "Why? 7" },
  });
  const call = { hook: "beforeAnswer", answer: "So.", part: "answer", context: {} };
  connection.send({ type: "hook", id: "h2", call, timeoutMs: 7 });
  expect(await connection.next("hookResult")).toMatchObject({ id: "h2", result: { verdict: "failed" } });

  void runtime.stop({ drainMs: 0 });
  expect(await stopped.promise).toMatchObject({ name: "AbortError" });
});

test("the service prepares the context", async () => {
  const { connection } = await connected(fakeService({ prepare: async () => ({ ok: true, subject: "customer-7" }) }));

  connection.send({ type: "prepare", id: "p1", context: {} });

  expect(await connection.next("prepared")).toMatchObject({ id: "p1", prepared: { ok: true, subject: "customer-7" } });
});

test("invalid frames are ignored and the connection stays open", async () => {
  const { connection } = await connected(fakeService());

  for (const bad of ["", "{", "null", '{"type":"call"}', '{"type":"dance"}', "[".repeat(100_000)]) connection.send(bad);
  connection.socket.send(Buffer.from([1, 2, 3]));
  connection.send(callFrame("c1"));

  expect(await connection.next("result")).toMatchObject({ callId: "c1" });
});
