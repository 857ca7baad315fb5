import { sleep } from "@patchbay/kit/time";
import { WAIT_MS } from "@patchbay/test-support/patience";
import { inVirtualTime } from "@patchbay/test-support/virtual-time";
import { until } from "@patchbay/test-support/inbox";
import type { CallOutcome, FunctionManifest } from "@patchbay/protocol";
import { expect, test } from "vitest";
import { DUE } from "../../src/ports/bus.ts";
import type { CallOrder, Delivery } from "../../src/ports/function-gateway.ts";
import type { RunHandle } from "../../src/run/api.ts";
import { asks, desk, turnsOf } from "./approval-desk.ts";
import { manifestOf, ok } from "./fake-gateway.ts";

const TIMEOUT_MS = 120_000;
const RUNNING: Delivery = { kind: "running" };
const DONE: CallOutcome = { ok: true, value: "exported" };

/** A run that calls `export`, which is detached, and `look_up`. `asked`: what its runtime says when it is asked about the call. */
async function exporting({
  change = {},
  calls = [["export", {}]],
  answer = () => RUNNING,
  ...options
}: {
  change?: Partial<FunctionManifest>;
  calls?: [string, unknown][];
  answer?: (order: CallOrder) => Delivery;
  runTimeoutMs?: number;
} = {}) {
  const { functions, ...made } = manifestOf({ export: ["clerk"], look_up: ["clerk"] });
  const [first, ...others] = functions;
  const manifest = { ...made, functions: [{ ...first!, detached: true, timeoutMs: TIMEOUT_MS, ...change }, ...others] };
  const core = await desk(turnsOf(...calls), {
    manifest,
    answer: (order) => (order.functionName === "export" ? answer(order) : ok("found")),
    ...options,
  });
  // As the real gateway: what has arrived comes before what the runtime knows.
  const { recover } = core.runtime.gateway;
  core.runtime.gateway.recover = async (order, options) => {
    const answer = await recover(order, options);
    const [arrived] = await core.store.calls.arrivals([order.callId]);
    return arrived && (arrived.attempt ?? order.attempt) === order.attempt
      ? { kind: "outcome", outcome: arrived.outcome }
      : answer;
  };
  /** The runtime of an attempt brings its outcome while no run waits for it. */
  async function arrive(outcome: CallOutcome, order = core.runtime.orders.at(-1)!) {
    const { agentId, callId, instanceId, attempt } = order;
    const arrived = await core.store.calls.arrive({ agentId, callId, instanceId, attempt }, outcome);
    if (arrived.due) core.bus.publish(DUE, callId);
    return arrived;
  }
  /** The runtime of a call is connected now. */
  const connect = ({ agentId, instanceId } = core.runtime.orders[0]!) =>
    core.store.runtimes.connectionOpened({
      agentId,
      instanceId,
      connectionId: `c ${instanceId}`,
      replicaId: "replica-1",
      service: "test",
      manifestHash: "hash",
      concurrency: 1,
      draining: false,
    });
  return { ...core, arrive, connect, waits: async () => core.result(await core.begin()) };
}

const statusOf = async (core: Awaited<ReturnType<typeof exporting>>, { runId }: RunHandle) =>
  (await core.runs.find(core.caller, runId))?.status;

test("a run waits for a detached function without a lease, and continues with its result", async () => {
  await using core = await exporting({
    calls: [
      ["export", {}],
      ["look_up", {}],
    ],
  });
  const run = await core.begin();

  const waits = await core.result(run);
  const [order] = core.runtime.orders;
  expect(order).toMatchObject({ detached: true, timeoutMs: TIMEOUT_MS });
  expect(waits).toMatchObject({
    success: false,
    code: "call_running",
    errorMessage: "Waiting for a function",
    calls: [{ toolCallId: order!.callId, toolName: "export", startedAt: expect.stringMatching(/Z$/) }],
    toolInteractions: [
      { toolName: "export", success: false, code: "call_running", errorMessage: "Waiting for a function" },
      { toolName: "look_up", success: true },
    ],
  });
  expect(waits).not.toHaveProperty("approvals");
  await core.store.calls.progressed(order!, { done: 7 });
  const detail = await core.runs.detail(core.caller, run.runId);
  expect(detail).toMatchObject({ status: "waiting", waitingFor: "function", calls: [{ progress: { done: 7 } }] });
  expect(await core.arrive(DONE, order)).toEqual({ over: false, due: true });
  const ended = await core.ended(run);

  expect(ended).toMatchObject({ success: true, response: "Done.", toolInteractions: [{ result: "exported" }, {}] });
  expect(core.runtime.orders.map(({ attempt }) => attempt)).toEqual([1, 1, 1]);
  const types = (await core.events(run.runId)).map(({ type }) => type);
  expect(types).toEqual(["toolCall", "toolCall", "toolResult", "toolResult", "finalResponse"]);
  expect(await core.runs.detail(core.caller, run.runId)).not.toHaveProperty("waitingFor");
});

test("a result that arrives before the run waits continues it at once", async () => {
  const found = Promise.withResolvers<Delivery>();
  await using core = await exporting({
    calls: [
      ["export", {}],
      ["look_up", {}],
    ],
  });
  core.runtime.gateway.deliver = async (order) => {
    core.runtime.orders.push(order);
    return order.functionName === "export" ? RUNNING : await found.promise;
  };
  const run = await core.begin();
  await until(() => core.runtime.orders.length === 2, "both calls");
  const order = core.runtime.orders.find(({ functionName }) => functionName === "export")!;

  await core.arrive(DONE, order);
  found.resolve(ok("found"));

  expect(await core.ended(run)).toMatchObject({ success: true, toolInteractions: [{ result: "exported" }, {}] });
});

test("the deadline of the run does not pass while the function runs", async () => {
  await inVirtualTime(async () => {
    await using core = await exporting({ runTimeoutMs: 60_000 });
    const run = await core.begin();
    await core.result(run);
    await sleep(TIMEOUT_MS - 1_000);

    await core.arrive(DONE);

    expect(await core.ended(run)).toMatchObject({ success: true });
  });
});

test("a function whose own time is over is asked to stop, and its call times out", async () => {
  await inVirtualTime(async (time) => {
    await using core = await exporting({ answer: ({ timeoutMs }) => (timeoutMs > 0 ? RUNNING : { kind: "unknown" }) });
    const run = await core.begin();

    const options = { signal: new AbortController().signal, waitMs: 2 * TIMEOUT_MS };
    const ended = await core.runs.result(run, options);

    expect(ended?.toolInteractions).toMatchObject([
      { code: "timed_out", errorMessage: "The function did not answer within its time limit and may still have run." },
    ]);
    expect([time.now, core.runtime.orders.at(-1)?.timeoutMs]).toEqual([TIMEOUT_MS + 10_000, 0]);
  });
});

test("a cancelled run ends at once, and its handler is asked to stop", async () => {
  await using core = await exporting();
  const run = await core.begin();
  await core.result(run);

  await core.runs.cancel(core.caller, run.runId);
  const ended = await core.ended(run);

  expect(ended).toMatchObject({ code: "cancelled", toolInteractions: [{ code: "cancelled" }] });
  const [{ callId }] = core.runtime.orders as [CallOrder];
  await until(() => core.runtime.stopped.length > 0, "the handler's stop");
  expect(core.runtime.stopped).toEqual([callId]);
  expect(await core.store.calls.progressed(core.runtime.orders[0]!, 1)).toBeUndefined();
  expect(await core.arrive({ ok: false, code: "cancelled", message: "Stopped." })).toEqual({ over: true });
});

test("a run whose key is revoked while its function runs ends cancelled", async () => {
  await using core = await exporting();
  const key = { credentialId: "key_1", kind: "api", agentId: "agt_1", hash: "h", hint: "x" } as const;
  await core.store.accounts.createCredential(key);
  const run = await core.begin();
  await core.result(run);

  await core.store.accounts.revokeCredential("api", "key_1");

  expect(await core.ended(run)).toMatchObject({ code: "cancelled" });
  expect(core.runtime.stopped).toHaveLength(1);
});

test("a function that needs an approval asks for it first", async () => {
  const approval = { by: ["manager"], conditional: false, fourEyes: false, expiresInMs: 60_000 };
  const answer = ({ approval: given }: CallOrder): Delivery => (given ? RUNNING : asks());
  await using core = await exporting({ change: { approval }, answer });
  const run = await core.begin();
  expect(await core.result(run)).toMatchObject({ code: "approval_required" });
  expect(await core.runs.detail(core.caller, run.runId)).toMatchObject({ waitingFor: "approval" });

  await core.decide({ approved: true });
  await until(async () => (await core.runs.detail(core.caller, run.runId))?.waitingFor === "function", "the function");

  expect(await core.result(run)).toMatchObject({ code: "call_running" });
  await core.arrive(DONE);
  expect(await core.ended(run)).toMatchObject({ success: true, toolInteractions: [{ result: "exported" }] });
});

test("an approved call does not wait for a detached one in the same turn", async () => {
  const approval = { by: ["manager"], conditional: true, fourEyes: false, expiresInMs: 60_000 };
  const answer = ({ arguments: { id }, approval: given }: CallOrder & { arguments: { id?: number } }): Delivery =>
    id === 1 ? RUNNING : given ? ok("approved") : asks();
  const calls: [string, unknown][] = [
    ["export", { id: 1 }],
    ["export", { id: 2 }],
  ];
  await using core = await exporting({ change: { approval }, calls, answer: answer as (order: CallOrder) => Delivery });
  const run = await core.begin();
  const waits = await core.result(run);
  expect(waits).toMatchObject({ code: "approval_required", approvals: [{}], calls: [{}] });

  await core.decide({ approved: true });
  const results = async () => (await core.events(run.runId)).filter(({ type }) => type === "toolResult");
  await until(async () => (await results()).length === 1, "the approved call");

  await until(async () => (await statusOf(core, run)) === "waiting", "the function");
  expect(await core.result(run)).toMatchObject({ code: "call_running", calls: [{}] });
});

test.each([
  { idempotent: false, starts: 1 },
  { idempotent: true, starts: 2 },
])("a call in a runtime that is gone: idempotent $idempotent, handlers $starts", async ({ idempotent, starts }) => {
  await inVirtualTime(async () => {
    const answered = new Set<string>();
    const answer = ({ callId, attempt }: CallOrder): Delivery => {
      const key = `${callId} ${attempt}`;
      if (answered.has(key)) return { kind: "unknown" };
      answered.add(key);
      return RUNNING;
    };
    await using core = await exporting({ change: { idempotent, timeoutMs: 3_600_000 }, answer });
    const run = await core.begin();
    await core.result(run);
    for (let start = 0; start < starts; start++) {
      const order = core.runtime.orders.findLast(({ attempt }) => attempt === start + 1)!;
      await core.connect(order);
      await core.store.runtimes.connectionClosed(`c ${order.instanceId}`);
      await sleep(290_000);
      await core.store.runs.wakeLost();
      await sleep(5_000);
      expect(await statusOf(core, run)).toBe("waiting");
      await sleep(10_000);
      await core.store.runs.wakeLost();
      await sleep(5_000);
    }

    const ended = await core.ended(run);

    expect(ended?.toolInteractions).toMatchObject([{ code: "outcome_unknown" }]);
    expect([...answered]).toHaveLength(starts);
  });
});

test("a run that continues while the runtime is away waits again", async () => {
  await using core = await exporting({
    answer: () => (core.runtime.orders.length === 1 ? RUNNING : { kind: "unknown" }),
  });
  const run = await core.begin();
  await core.result(run);
  await core.connect();

  await core.store.runs.wake({ all: true });
  core.bus.publish(DUE, run.runId);
  await until(() => core.runtime.orders.length === 2, "the question");
  await until(async () => (await statusOf(core, run)) === "waiting", "the function");

  await core.arrive(DONE);
  expect(await core.ended(run)).toMatchObject({ success: true });
});

test("a failure that the function retries begins the next attempt", async () => {
  const busy = { ok: false, code: "function_failed", message: "Busy.", retryAfterMs: 10 } as const;
  await using core = await exporting({ change: { idempotent: true, retries: { max: 2 } } });
  const run = await core.begin();
  await core.result(run);

  expect(await core.arrive(busy)).toEqual({ over: false, due: true });
  await until(() => core.runtime.orders.at(-1)?.attempt === 2, "the second attempt");
  await until(async () => (await statusOf(core, run)) === "waiting", "the function");
  expect(await core.store.calls.arrivals([core.runtime.orders[0]!.callId])).toEqual([]);
  await core.arrive(DONE);

  expect(await core.ended(run)).toMatchObject({ success: true, toolInteractions: [{ result: "exported" }] });
});

test("a reader that waits for approvals only reads on while a function runs", async () => {
  await using core = await exporting();
  const run = await core.begin();
  await core.result(run);
  const signal = AbortSignal.timeout(WAIT_MS);
  const answer = core.runs.result(run, { signal, pauses: "approval" });

  await core.arrive(DONE);

  expect(await answer).toMatchObject({ success: true });
});
