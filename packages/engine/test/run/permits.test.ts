import { expect, test, vi } from "vitest";
import { createMemoryBus } from "@patchbay/gateway/bus/memory-bus";
import type { Delivery } from "../../src/ports/function-gateway.ts";
import { until } from "@patchbay/test-support/inbox";
import { memoryStore, startCore } from "./core.ts";
import { fakeGateway, manifestOf, ok } from "./fake-gateway.ts";
import { scriptedModel } from "./scripted-model.ts";

const LIMIT = 2;

/** Handlers that run until they are released, oldest first. */
function handlers() {
  const running: (() => void)[] = [];
  const seen = { most: 0, started: 0 };
  return {
    seen,
    running,
    async answer(): Promise<Delivery> {
      const gate = Promise.withResolvers<void>();
      running.push(gate.resolve);
      seen.started++;
      seen.most = Math.max(seen.most, running.length);
      await gate.promise;
      return ok("charged");
    },
    release: () => running.shift()?.(),
  };
}

type Answer = Parameters<typeof fakeGateway>[1];

/** Two replicas on one store and bus, whose runs each make one call of a function with `concurrency`. */
async function startPair(answer: Answer, recovered: Answer = answer, concurrency: number | undefined = LIMIT) {
  const store = await memoryStore();
  const bus = createMemoryBus();
  const manifest = manifestOf({ charge: "everyone" });
  if (concurrency) manifest.functions[0]!.concurrency = concurrency;
  const runtime = fakeGateway(manifest, answer, recovered);
  const { catalog } = scriptedModel(({ messages }) =>
    messages.at(-1)?.role === "results" ? { text: "Done." } : { calls: [["charge", {}]] },
  );
  const core = (owner: string) => startCore({ models: catalog, gateway: runtime.gateway, store, bus, owner });
  const [one, two] = [await core("replica-1"), await core("replica-2")];
  return {
    store,
    runtime,
    one,
    two,
    /** Calls that have a permit or wait for one. */
    permits: (granted: number) =>
      store.engine.db
        .selectFrom("permits")
        .select("call_id")
        .where("call_id", "<>", "")
        .where("granted", "=", granted)
        .execute(),
    async [Symbol.asyncDispose]() {
      await Promise.all([one[Symbol.asyncDispose](), two[Symbol.asyncDispose]()]);
      await store[Symbol.asyncDispose]();
    },
  };
}

test("a process keeps the permits of its calls when the clock jumps past their ends", async () => {
  const { answer, release, seen } = handlers();
  await using pair = await startPair(answer, answer, 1);
  const first = pair.one.query("Charge");
  await until(() => seen.started === 1, "the first handler");
  await pair.store.engine.db.updateTable("permits").set({ expires_at: 0 }).where("call_id", "<>", "").execute();

  const second = pair.one.query("Charge");
  await until(async () => (await pair.permits(0)).length === 1, "a waiting call");
  expect(seen.started).toBe(1);
  release();
  await until(() => seen.started === 2, "the second handler");
  release();

  for (const { toolInteractions } of [await first, await second])
    expect(toolInteractions).toMatchObject([{ success: true }]);
});

test("calls over two replicas wait for their permit, and each gets one", async () => {
  const { answer, running, release, seen } = handlers();
  await using pair = await startPair(answer);
  const { one, two } = pair;

  const asked = Promise.all(Array.from({ length: 10 }, (_, i) => (i % 2 === 0 ? one : two).query("Charge")));
  for (let started = LIMIT; started <= 10; started++) {
    await until(() => seen.started === started, `handler ${started}`);
    expect(running).toHaveLength(LIMIT);
    release();
  }
  running.splice(0).forEach((end) => end());

  for (const { toolInteractions } of await asked) expect(toolInteractions).toMatchObject([{ success: true }]);
  expect(seen.most).toBe(LIMIT);
  expect(await pair.permits(1)).toEqual([]);
});

test("a call keeps its permit when its run moves to another replica", async () => {
  const { answer, running, release, seen } = handlers();
  // The handlers run on: the new owner asks for their outcomes.
  const recovered = Promise.withResolvers<void>();
  let asked = 0;
  const pair = await startPair(answer, async () => {
    asked++;
    await recovered.promise;
    return ok("charged");
  });
  await using _ = pair;
  const runs = [await pair.one.start("Charge"), await pair.one.start("Charge")];
  await until(() => seen.started === LIMIT, "both handlers");
  const waiting = pair.two.query("Charge");
  await until(async () => (await pair.permits(0)).length === 1, "the third call");

  await pair.one.runs.drain(0);
  await until(() => asked === LIMIT, "the recovery of both calls");
  expect(await pair.permits(1)).toHaveLength(LIMIT);
  expect(seen.started).toBe(LIMIT);
  running.splice(0);
  recovered.resolve();

  for (const run of runs) expect(await pair.two.result(run)).toMatchObject({ success: true });
  await until(() => seen.started === LIMIT + 1, "the third handler");
  release();
  expect(await waiting).toMatchObject({ success: true });
});

test("a permit outlasts a timeout that the runtime did not answer, until its late result", async () => {
  const timedOut = { ok: false, code: "timed_out", message: "No answer." } as const;
  await using pair = await startPair(() => ({ kind: "outcome", outcome: timedOut, unanswered: true }), undefined, 1);

  expect((await pair.one.query("Charge")).toolInteractions).toMatchObject([{ code: "timed_out" }]);
  expect(await pair.permits(1)).toHaveLength(1);

  const [{ callId, agentId, instanceId } = { callId: "", agentId: "", instanceId: "" }] = pair.runtime.orders;
  await pair.store.calls.arrive({ callId, agentId, instanceId, attempt: 1 }, { ok: true, value: "late" });
  expect(await pair.permits(1)).toEqual([]);
});

test("a permit outlasts a timeout after which the handler still runs, until the runtime reports its return", async () => {
  const timedOut = { ok: false, code: "timed_out", message: "Too slow." } as const;
  await using pair = await startPair(
    () => ({ kind: "outcome", outcome: { ...timedOut, stillRuns: true } }),
    undefined,
    1,
  );

  expect((await pair.one.query("Charge")).toolInteractions).toEqual([
    expect.not.objectContaining({ stillRuns: expect.anything() }),
  ]);
  expect(await pair.permits(1)).toHaveLength(1);

  const [{ callId, agentId, instanceId } = { callId: "", agentId: "", instanceId: "" }] = pair.runtime.orders;
  const address = { callId, agentId, instanceId, attempt: 1 };
  await pair.store.calls.arrive(address, { ...timedOut, stillRuns: true });
  expect(await pair.permits(1)).toHaveLength(1);
  await pair.store.calls.arrive(address, timedOut);
  expect(await pair.permits(1)).toEqual([]);
});

test("a timeout that the runtime answered ends the permit of its call", async () => {
  const timedOut = { ok: false, code: "timed_out", message: "Too slow." } as const;
  await using pair = await startPair(() => ({ kind: "outcome", outcome: timedOut }), undefined, 1);

  await pair.one.query("Charge");

  expect(await pair.permits(1)).toEqual([]);
});

test("a permit outlasts a call whose handler may still run, and not a call that was cancelled while it waited", async () => {
  await using pair = await startPair(() => ({ kind: "unknown" }), undefined, 1);

  expect((await pair.one.query("Charge")).toolInteractions).toMatchObject([{ code: "outcome_unknown" }]);
  expect(await pair.permits(1)).toHaveLength(1);

  const waiting = await pair.two.start("Charge");
  await until(async () => (await pair.permits(0)).length === 1, "the second call");
  await pair.two.runs.cancel(pair.two.caller, waiting.runId);
  await pair.two.result(waiting);
  expect(await pair.permits(0)).toEqual([]);
  expect(pair.runtime.orders).toHaveLength(1);
});

test("a permit outlasts a cancelled call that a runtime was asked about, although no send is stored", async () => {
  const { answer, seen } = handlers();
  let asked = 0;
  await using pair = await startPair(answer, async () => {
    asked++;
    return await Promise.withResolvers<never>().promise;
  });
  pair.runtime.sentAt = async () => undefined;
  const run = await pair.one.start("Charge");
  await until(() => seen.started === 1, "the handler");
  await pair.one.runs.drain(0);
  await until(() => asked === 1, "the recovery of the call");

  await pair.two.runs.cancel(pair.two.caller, run.runId);
  await pair.two.result(run);

  expect(await pair.permits(1)).toHaveLength(1);
});

test("a late result ends the permit of its call", async () => {
  await using pair = await startPair(() => ({ kind: "unknown" }), undefined, 1);
  await pair.one.query("Charge");
  const [{ callId, agentId, instanceId } = { callId: "", agentId: "", instanceId: "" }] = pair.runtime.orders;

  await pair.store.calls.arrive({ callId, agentId, instanceId, attempt: 1 }, { ok: true, value: "late" });

  expect(await pair.permits(1)).toEqual([]);
});

test("a call keeps its place over offers that no runtime accepts", async () => {
  const deliveries: string[][] = [];
  const pair = await startPair(async ({ callId, attempt }) => {
    deliveries.push((await pair.permits(1)).map(({ call_id }) => call_id));
    expect(deliveries.at(-1)).toContain(callId);
    return attempt === 1 ? { kind: "undelivered" } : ok("charged");
  });
  await using _ = pair;

  await pair.one.query("Charge");

  expect(deliveries).toHaveLength(2);
  expect(await pair.permits(1)).toEqual([]);
});

test("calls of a function without concurrency ask for no permit", async () => {
  await using pair = await startPair(() => ok("charged"), undefined, 0);
  using acquire = vi.spyOn(pair.store.permits, "acquire");

  await pair.one.query("Charge");

  expect(acquire).not.toHaveBeenCalled();
});
