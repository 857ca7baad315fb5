import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createMemoryBus } from "@patchbay/gateway/bus/memory-bus";
import type { Bus } from "../../src/ports/bus.ts";
import { recordOf, StoreUnavailable } from "../../src/ports/store/run-store.ts";
import type { RunRecord } from "../../src/ports/records.ts";
import { cancelWhenAbandoned } from "../../src/run/follow/cancel-when-abandoned.ts";
import { sampleRequest, sampleRun } from "../../../store/test/contract/world.ts";
import { memoryStore, startCore } from "./core.ts";
import { fakeGateway, manifestOf, ok } from "./fake-gateway.ts";
import { scriptedModel } from "./scripted-model.ts";

const run = { runId: "run_1", threadId: "thr_1", agentId: "agt_1" };
const cancel = { cancelWhenGone: true };
const stay = { cancelWhenGone: false };

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Replicas on one bus, and which of them cancelled the run. */
function replicas(bus: Bus = createMemoryBus()) {
  const abandoned: string[] = [];
  const replica = (name: string) => cancelWhenAbandoned(bus, () => abandoned.push(name));
  return { a: replica("a"), b: replica("b"), abandoned };
}

test("a run is cancelled when its last reader left 5 s ago", () => {
  const { a, abandoned } = replicas();
  const [first, second] = [a.attach(run, cancel), a.attach(run, stay)];

  first[Symbol.dispose]();
  vi.advanceTimersByTime(60_000);
  expect(abandoned).toEqual([]);
  second[Symbol.dispose]();
  vi.advanceTimersByTime(4_999);
  expect(abandoned).toEqual([]);
  vi.advanceTimersByTime(1_001);
  expect(abandoned).toEqual(["a"]);
});

test("a run is not cancelled when none of its readers asked for it", () => {
  const { a, abandoned } = replicas();

  a.attach(run, stay)[Symbol.dispose]();
  vi.advanceTimersByTime(60_000);

  expect(abandoned).toEqual([]);
});

test("a run is not cancelled when a reader comes back while the other replicas are asked", () => {
  const { a, abandoned } = replicas();
  a.attach(run, cancel)[Symbol.dispose]();

  vi.advanceTimersByTime(5_500);
  const back = a.attach(run, stay);
  vi.advanceTimersByTime(60_000);
  expect(abandoned).toEqual([]);

  back[Symbol.dispose]();
  vi.advanceTimersByTime(6_000);
  expect(abandoned).toEqual(["a"]);
});

test("a run that is read at another replica is cancelled there after that reader has left", () => {
  const { a, b, abandoned } = replicas();
  a.attach(run, cancel)[Symbol.dispose]();
  vi.advanceTimersByTime(1_000);
  const resumed = b.attach(run, stay);

  vi.advanceTimersByTime(60_000);
  expect(abandoned).toEqual([]);

  resumed[Symbol.dispose]();
  vi.advanceTimersByTime(6_000);
  expect(abandoned).toEqual(["b"]);
});

test("a run is cancelled 5 s after its last reader left any replica", () => {
  const { a, b, abandoned } = replicas();
  a.attach(run, cancel)[Symbol.dispose]();
  vi.advanceTimersByTime(4_000);
  b.attach(run, stay)[Symbol.dispose]();

  vi.advanceTimersByTime(4_000);
  expect(abandoned).toEqual([]);
  vi.advanceTimersByTime(2_000);
  expect(abandoned).toEqual(["b"]);
});

test("a replica that cannot ask the others cancels no run", () => {
  const bus = { ...createMemoryBus(), healthy: false };
  const { a, abandoned } = replicas(bus);
  a.attach(run, cancel)[Symbol.dispose]();

  vi.advanceTimersByTime(60_000);
  expect(abandoned).toEqual([]);
  bus.healthy = true;
  vi.advanceTimersByTime(6_000);
  expect(abandoned).toEqual(["a"]);
});

/** The run as a process claims it after its first one crashed. */
function claimed(change: Partial<RunRecord> = {}): RunRecord {
  const request = sampleRequest({ cancelWhenGone: true });
  const made = sampleRun({ orgId: "org_1", ...run, newThread: false, request });
  const record = recordOf(made, { status: "running", fence: 2, createdAt: 0, deadlineAt: 240_000 });
  return { ...record, crashes: 1, ...change };
}

const stopping = new AbortController();

/** True once the claimed run may begin a turn. */
function goesOn(replica: ReturnType<typeof cancelWhenAbandoned>, record = claimed(), { signal } = stopping) {
  let isOn = false;
  void replica.claimed(record, signal).then(() => (isOn = true));
  return async () => {
    await vi.advanceTimersByTimeAsync(0);
    return isOn;
  };
}

test("a claimed run that no reader comes back to waits, and is cancelled after 20 s", async () => {
  const { a, abandoned } = replicas();
  const isOn = goesOn(a);

  await vi.advanceTimersByTimeAsync(20_000);
  expect([await isOn(), abandoned]).toEqual([false, []]);
  await vi.advanceTimersByTimeAsync(1_000);
  expect([await isOn(), abandoned]).toEqual([false, ["a"]]);
});

test("a claimed run continues as soon as a reader comes back, and is cancelled after that one has left", async () => {
  const { a, abandoned } = replicas();
  const isOn = goesOn(a);
  await vi.advanceTimersByTimeAsync(19_000);

  const back = a.attach(run, stay);
  expect(await isOn()).toBe(true);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(abandoned).toEqual([]);

  back[Symbol.dispose]();
  await vi.advanceTimersByTimeAsync(6_000);
  expect(abandoned).toEqual(["a"]);
});

test("a reader at another replica keeps a claimed run, from its claim or when it comes back later", async () => {
  const { a, b, abandoned } = replicas();
  const early = b.attach(run, stay);
  expect(await goesOn(a)()).toBe(true);
  await vi.advanceTimersByTimeAsync(60_000);
  early[Symbol.dispose]();
  await vi.advanceTimersByTimeAsync(6_000);
  expect(abandoned).toEqual(["b"]);

  const isOn = goesOn(a);
  await vi.advanceTimersByTimeAsync(10_000);
  using _late = b.attach(run, stay);
  await vi.advanceTimersByTimeAsync(60_000);
  expect([await isOn(), abandoned]).toEqual([true, ["b"]]);
});

test("a run that several replicas claimed, none with a reader, is cancelled", async () => {
  const { a, b, abandoned } = replicas();
  const isOn = [goesOn(a), goesOn(a), goesOn(b)];

  await vi.advanceTimersByTimeAsync(21_000);

  expect(new Set(abandoned)).toEqual(new Set(["a", "b"]));
  expect(await Promise.all(isOn.map((on) => on()))).toEqual([false, false, false]);
});

test("a claimed run continues while the other replicas cannot be asked, and when its process hands it over", async () => {
  const bus = { ...createMemoryBus(), healthy: false };
  const { a, b, abandoned } = replicas(bus);
  expect(await goesOn(a)()).toBe(true);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(abandoned).toEqual([]);

  bus.healthy = true;
  const handedOver = new AbortController();
  const isOn = goesOn(b, claimed(), handedOver);
  bus.healthy = false;
  expect(await isOn()).toBe(false);
  handedOver.abort();
  expect(await isOn()).toBe(true);
});

test("a process that lost a claimed run waits for a reader again when it claims the run again", async () => {
  const { a, abandoned } = replicas();
  const lost = new AbortController();
  const first = goesOn(a, claimed(), lost);
  await vi.advanceTimersByTimeAsync(15_000);
  lost.abort();
  expect(await first()).toBe(true);

  const isOn = goesOn(a);
  await vi.advanceTimersByTimeAsync(6_000);
  expect([await isOn(), abandoned]).toEqual([false, ["a"]]);
});

test("a run whose reader left while the store was unavailable is cancelled afterwards", async () => {
  // The store uses setImmediate.
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  await using store = await memoryStore();
  const hanging = fakeGateway(manifestOf({ pay: "everyone" }), () => new Promise(() => {}));
  const { catalog } = scriptedModel([{ calls: [["pay", {}]] }]);
  let isAway = true;
  const requestCancel: typeof store.runs.requestCancel = async (...run) => {
    if (isAway) throw new StoreUnavailable("The store is unavailable.");
    return store.runs.requestCancel(...run);
  };
  const away = { ...store, runs: { ...store.runs, requestCancel } };
  await using core = await startCore({ models: catalog, gateway: hanging.gateway, store: away });
  const left = await core.start("Pay");
  core.runs.attach(left, cancel)[Symbol.dispose]();

  await vi.advanceTimersByTimeAsync(10_000);
  isAway = false;
  await vi.advanceTimersByTimeAsync(3_000);
  vi.useRealTimers();

  expect(await core.result(left)).toMatchObject({ code: "cancelled" });
});

const wish = sampleRequest({ cancelWhenGone: true });
test.each<[string, Partial<RunRecord>, boolean]>([
  ["whose client asked for nothing", { request: sampleRequest() }, false],
  ["of a client with one answer, after a crash", { request: wish }, true],
  ["of a client with one answer that a process handed over", { request: wish, crashes: 0 }, false],
  ["of a client with one answer that waited for an approval", { request: wish, waitedMs: 5 }, false],
  ["of a stream that a process handed over", { request: { ...wish, resumable: true }, crashes: 0 }, true],
  ["of a stream that waited for an approval", { request: { ...wish, resumable: true }, waitedMs: 5 }, true],
])("a claimed run %s is cancelled without a reader: %s", async (_, change, isCancelled) => {
  const { a, abandoned } = replicas();

  expect(await goesOn(a, claimed(change))()).toBe(!isCancelled);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(abandoned).toEqual(isCancelled ? ["a"] : []);
});

test("a process that takes over a run settles its calls, and asks its model for no further turn before a reader is back", async () => {
  vi.useRealTimers();
  await using store = await memoryStore();
  const paying = Promise.withResolvers<void>();
  const model = scriptedModel(({ messages }) => (messages.length === 1 ? { calls: [["pay", {}]] } : { text: "Done." }));
  const slow = fakeGateway(manifestOf({ pay: "everyone" }), () => {
    paying.resolve();
    return new Promise(() => {});
  });
  const first = await startCore({ models: model.catalog, gateway: slow.gateway, store });
  const left = await first.start("Pay", { cancelWhenGone: true, resumable: true });
  await paying.promise;
  await first[Symbol.asyncDispose]();

  const next = fakeGateway(manifestOf({ pay: "everyone" }), () => ok("paid"));
  await using second = await startCore({ models: model.catalog, gateway: next.gateway, store, owner: "replica-2" });
  await expect.poll(async () => (await second.events(left.runId)).at(-1)?.type).toBe("toolResult");
  expect(await second.query("Other")).toMatchObject({ success: true });
  expect(model.requests.filter(({ messages }) => messages.length === 3)).toHaveLength(1);

  using _reader = second.runs.attach(left, stay);
  expect(await second.result(left)).toMatchObject({ success: true, toolInteractions: [{ toolName: "pay" }] });
});
