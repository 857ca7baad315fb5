import type { Service } from "@patchbay/functions";
import { LIMITS } from "@patchbay/protocol";
import { expect, test } from "vitest";
import { callFrame } from "../../../../test/support/hand-plane.ts";
import { gated, handService, untilAborted } from "../../../../test/support/hand-service.ts";
import { until } from "../../../../test/support/inbox.ts";
import { plane, runtimeOf } from "./hand-plane.ts";

async function connected(service: Service, concurrency = 16) {
  const started = await plane();
  const runtime = runtimeOf(started.url, service, { concurrency });
  return { plane: started, runtime, link: await started.welcome() };
}

test("a call is run and its outcome sent back", async () => {
  const service = handService();
  const { link } = await connected(service);

  link.send(callFrame("c1", { role: "agent", sessionId: "s1", context: { tenant: 1 }, arguments: { n: 1 } }));

  expect(await link.next("result")).toEqual({
    type: "result",
    callId: "c1",
    attempt: 1,
    outcome: { ok: true, value: { n: 1 } },
  });
  expect(service.invoked).toMatchObject([
    { functionName: "echo", role: "agent", sessionId: "s1", context: { tenant: 1 }, callId: "c1", attempt: 1 },
  ]);
});

test("a call id that is running is not run again", async () => {
  const gate = gated();
  const service = handService({ answer: gate.answer });
  const { link } = await connected(service);

  link.send(callFrame("c1"));
  link.send(callFrame("c1", { attempt: 2 }));

  expect(await link.next("callState")).toMatchObject({ callId: "c1", state: "running" });
  gate.open();
  await link.next("result");
  expect(service.invoked).toHaveLength(1);
});

test("a call id that has ended is answered with its result instead of being run again", async () => {
  const service = handService();
  const { link } = await connected(service);
  link.send(callFrame("c1"));
  const first = await link.next("result");

  link.send(callFrame("c1", { attempt: 2 }));

  expect(await link.next("callState")).toMatchObject({ callId: "c1", state: "done" });
  expect(await link.next("result")).toEqual(first);
  expect(service.invoked).toHaveLength(1);
});

test("a call id is not run again after its result was acknowledged", async () => {
  const service = handService();
  const { link } = await connected(service);
  link.send(callFrame("c1"));
  await link.next("result");
  link.send({ type: "resultAck", callId: "c1" });

  link.send(callFrame("c1", { attempt: 2 }));

  expect(await link.next("result")).toMatchObject({ outcome: { ok: false, code: "outcome_unknown" } });
  expect(service.invoked).toHaveLength(1);
});

test.each([
  ["role", { role: "customer" }],
  ["function", { function: "other" }],
])("a call id that comes again with another %s gets neither the result nor a run", async (_, change) => {
  const service = handService({ answer: async () => ({ ok: true, value: "for managers" }) });
  const { link } = await connected(service);
  const call = callFrame("c1", { role: "manager" });
  link.send(call);
  await link.next("result");

  link.send({ ...call, ...change, attempt: 2 });
  const before = await link.next("result");
  link.send({ type: "resultAck", callId: "c1" });
  link.send({ ...call, ...change, attempt: 3 });
  const after = await link.next("result");

  expect([before, after]).toMatchObject([
    { callId: "c1", attempt: 2, outcome: { ok: false, code: "denied", rule: "redelivery" } },
    { callId: "c1", attempt: 3, outcome: { ok: false, code: "denied", rule: "redelivery" } },
  ]);
  expect(service.invoked).toHaveLength(1);
});

test("asked for a call it never saw, the runtime says so and refuses that attempt, but not a later one", async () => {
  const service = handService();
  const { link } = await connected(service);

  link.send({ type: "callQuery", callId: "c1", attempt: 2 });
  expect(await link.next("callState")).toMatchObject({ callId: "c1", state: "unseen" });
  link.send(callFrame("c1", { attempt: 2 }));
  expect(await link.next("callState")).toMatchObject({ callId: "c1", state: "unseen" });
  expect(service.invoked).toHaveLength(0);

  link.send(callFrame("c1", { attempt: 3 }));
  expect(await link.next("result")).toMatchObject({ callId: "c1", attempt: 3 });
});

test("asked for calls it holds, the runtime says whether they run or are done", async () => {
  const gate = gated();
  const { link } = await connected(handService({ answer: gate.answer }));
  link.send(callFrame("c1"));

  link.send({ type: "callQuery", callId: "c1", attempt: 1 });
  expect(await link.next("callState")).toMatchObject({ state: "running" });
  gate.open();
  await link.next("result");

  link.send({ type: "callQuery", callId: "c1", attempt: 1 });
  expect(await link.next("callState")).toMatchObject({ state: "done" });
  expect(await link.next("result")).toMatchObject({ callId: "c1", outcome: { ok: true } });
});

test("calls above the concurrency wait their turn", async () => {
  const gate = gated();
  const service = handService({ answer: gate.answer });
  const { link } = await connected(service, 2);

  for (const id of ["c1", "c2", "c3"]) link.send(callFrame(id));
  link.send({ type: "callQuery", callId: "c3", attempt: 1 });

  expect(await link.next("callState")).toMatchObject({ callId: "c3", state: "running" });
  expect(service.invoked.map(({ callId }) => callId)).toEqual(["c1", "c2"]);
  gate.open();
  for (const _ of [1, 2, 3]) await link.next("result");
  expect(service.invoked.map(({ callId }) => callId)).toEqual(["c1", "c2", "c3"]);
});

test.each([
  ["cancelled", "cancelled"],
  ["timed_out", "timed_out"],
])("a cancel frame with the reason %s ends the handler's signal", async (reason, code) => {
  const { answer, started } = untilAborted();
  const { link } = await connected(handService({ answer }));
  link.send(callFrame("c1"));
  await started;

  link.send({ type: "cancel", callId: "c1", reason });

  expect(await link.next("result")).toMatchObject({ outcome: { ok: false, code } });
});

test("a cancelled call that still waits is never started", async () => {
  const gate = gated();
  const service = handService({ answer: gate.answer });
  const { link } = await connected(service, 1);
  link.send(callFrame("c1"));
  link.send(callFrame("c2"));

  link.send({ type: "cancel", callId: "c2", reason: "cancelled" });

  expect(await link.next("result")).toMatchObject({ callId: "c2", outcome: { ok: false, code: "cancelled" } });
  gate.open();
  await link.next("result");
  expect(service.invoked).toHaveLength(1);
});

test("a call whose time ran out while it waited is never started", async () => {
  const gate = gated();
  const service = handService({ answer: gate.answer });
  const { link } = await connected(service, 1);
  link.send(callFrame("c1"));
  link.send(callFrame("c2", { timeoutMs: 0 }));
  await until(() => gate.started(1), "the first call");

  gate.open();

  await link.next("result");
  expect(await link.next("result")).toMatchObject({ callId: "c2", outcome: { ok: false, code: "timed_out" } });
  expect(service.invoked).toHaveLength(1);
});

test("progress is sent while the call runs", async () => {
  const service = handService({
    async answer(_, { onProgress }) {
      onProgress?.({ step: 1 });
      return { ok: true, value: null };
    },
  });
  const { link } = await connected(service);

  link.send(callFrame("c1"));

  expect(await link.next("progress")).toEqual({ type: "progress", callId: "c1", data: { step: 1 } });
});

test("a result too large for a frame never leaves, and the call fails instead", async () => {
  const value = "x".repeat(LIMITS.frameBytes);
  const { link } = await connected(handService({ answer: async () => ({ ok: true, value }) }));

  link.send(callFrame("c1"));

  expect(await link.next("result")).toMatchObject({ outcome: { ok: false, code: "result_too_large" } });
});

test("a service that throws where it promised not to gives a failed call", async () => {
  const { link } = await connected(handService({ answer: () => Promise.reject(new Error("secret detail")) }));

  link.send(callFrame("c1"));

  const { outcome } = await link.next("result");
  expect(outcome).toEqual({ ok: false, code: "function_failed", message: "The function failed." });
});

test("a hook is run by the service, and stops with the runtime", async () => {
  const stopped = Promise.withResolvers<unknown>();
  const service: Service = {
    ...handService(),
    runHook(call, { signal, timeoutMs }) {
      signal.addEventListener("abort", () => stopped.resolve(signal.reason));
      if (call.hook === "beforeAnswer") return Promise.reject(new Error("broken"));
      return Promise.resolve({ verdict: "refused", text: `${call.query} ${timeoutMs}` });
    },
  };
  const { link, runtime } = await connected(service);

  link.send({ type: "hook", id: "h1", call: { hook: "beforeQuery", query: "Why?", context: {} }, timeoutMs: 7 });
  expect(await link.next("hookResult")).toEqual({
    type: "hookResult",
    id: "h1",
    result: { verdict: "refused", text: "Why? 7" },
  });
  const call = { hook: "beforeAnswer", answer: "So.", part: "answer", context: {} };
  link.send({ type: "hook", id: "h2", call, timeoutMs: 7 });
  expect(await link.next("hookResult")).toMatchObject({ id: "h2", result: { verdict: "failed" } });

  void runtime.stop({ drainMs: 0 });
  expect(await stopped.promise).toMatchObject({ name: "AbortError" });
});

test("the context is prepared by the service", async () => {
  const { link } = await connected(handService({ prepare: async () => ({ ok: true, subject: "customer-7" }) }));

  link.send({ type: "prepare", id: "p1", context: {} });

  expect(await link.next("prepared")).toMatchObject({ id: "p1", prepared: { ok: true, subject: "customer-7" } });
});

test("frames that make no sense are ignored and the link serves on", async () => {
  const { link } = await connected(handService());

  for (const bad of ["", "{", "null", '{"type":"call"}', '{"type":"dance"}', "[".repeat(100_000)]) link.send(bad);
  link.socket.send(Buffer.from([1, 2, 3]));
  link.send(callFrame("c1"));

  expect(await link.next("result")).toMatchObject({ callId: "c1" });
});
