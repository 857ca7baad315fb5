import { expect, test } from "vitest";
import type { Clock } from "../../src/ports/clock.ts";
import type { OpenStore } from "@patchbay/store/open";
import type { RunHandle } from "../../src/run/api.ts";
import { systemClock } from "../../../control-plane/src/start/clocks.ts";
import { expire, memoryStore, recordingLog, startCore } from "./core.ts";
import { fakeGateway, manifestOf, ok } from "./fake-gateway.ts";
import { scriptedModel } from "./scripted-model.ts";

const { gateway } = fakeGateway(manifestOf({ pay: "everyone" }), () => ok("paid"));
const never = new Promise<never>(() => {});
/** How long a process must survive runs that crashed twice, or three times. */
const SURVIVE_MS = [3_000, 6_000];
const claim = { owner: "replica-gone", leaseMs: 15_000 };

/** Runs that each paid once and asked their model again, and whose process then crashed twice. */
async function suspects(store: OpenStore, queries: string[]): Promise<RunHandle[]> {
  const asked = Promise.withResolvers<void>();
  let waiting = 0;
  const model = scriptedModel(({ messages }) => {
    if (messages.length === 1) return { calls: [["pay", {}]] };
    if (++waiting === queries.length) asked.resolve();
    return { until: never };
  });
  const core = await startCore({ models: model.catalog, gateway, store });
  const runs: RunHandle[] = [];
  for (const query of queries) runs.push(await core.start(query));
  await asked.promise;
  await core[Symbol.asyncDispose]();
  for (const { runId } of runs) await crashed(store, { runId, crashes: 2 });
  return runs;
}

async function crashed(store: OpenStore, { runId, crashes }: { runId: string; crashes: number }): Promise<void> {
  const { db } = store.engine;
  await db.updateTable("runs").set({ crashes, lease_until: Date.now() }).where("id", "=", runId).execute();
}

/** A model that answers each query only after `answer` was called for it. */
function heldModel() {
  const asked: string[] = [];
  const holds = new Map<string, PromiseWithResolvers<void>>();
  const hold = (query: string) => {
    const held = holds.get(query) ?? Promise.withResolvers<void>();
    holds.set(query, held);
    return held;
  };
  const { catalog } = scriptedModel(({ messages }) => {
    const [first] = messages;
    const query = first?.role === "user" ? first.text : "";
    asked.push(query);
    return { text: `Done: ${query}.`, until: hold(query).promise };
  });
  return { catalog, asked, answer: (query: string) => hold(query).resolve() };
}

const resultOf = (core: Awaited<ReturnType<typeof startCore>>, run: RunHandle) => core.result(run);

/** A clock on which the process has survived a group of suspects with `survive`, and on which other waits have their length. */
function quarantineClock() {
  const surviving: (() => void)[] = [];
  const survived: number[] = [];
  const clock: Clock = {
    ...systemClock,
    sleep(ms, options) {
      if (!SURVIVE_MS.includes(ms)) return systemClock.sleep(ms, options);
      return new Promise((resolve, reject) => {
        surviving.push(() => {
          survived.push(ms);
          resolve();
        });
        options?.signal?.addEventListener("abort", () => reject(options.signal?.reason as Error));
      });
    },
  };
  return { clock, survived, survive: () => surviving.pop()!() };
}

const names = (count: number): string[] => Array.from({ length: count }, (_, n) => `run-${n}`);

test("suspects are resumed in groups that double while the process survives, and other runs continue", async () => {
  await using store = await memoryStore();
  const all = names(8);
  await suspects(store, all);
  const model = heldModel();
  const { clock, survive } = quarantineClock();
  const log = recordingLog();
  await using core = await startCore({ models: model.catalog, gateway, store, clock, log, owner: "replica-2" });
  const asked = () => model.asked.toSorted();
  await expect.poll(asked).toEqual(all.slice(0, 1));

  model.answer("other");
  expect(await core.query("other")).toMatchObject({ success: true });
  expect(asked()).toEqual(["other", ...all.slice(0, 1)]);

  for (const resumed of [3, 7, 8]) {
    survive();
    await expect.poll(asked).toEqual(["other", ...all.slice(0, resumed)]);
  }
  const lines = log.lines.filter(({ message }) => message === "runs in quarantine are resumed");
  expect(lines.map(({ fields }) => [fields?.runs, fields?.waiting])).toEqual([
    [1, 7],
    [2, 5],
    [4, 1],
    [1, 0],
  ]);
});

test("the next suspects are resumed when those before have ended", async () => {
  await using store = await memoryStore();
  const [first, second] = await suspects(store, ["first", "second"]);
  const model = heldModel();
  const { clock } = quarantineClock();
  await using core = await startCore({ models: model.catalog, gateway, store, clock, owner: "replica-2" });
  await expect.poll(() => model.asked).toEqual(["first"]);

  model.answer("first");
  model.answer("second");
  expect(await resultOf(core, first!)).toMatchObject({ success: true, toolInteractions: [{ result: "paid" }] });
  expect(await resultOf(core, second!)).toMatchObject({ success: true, toolInteractions: [{ result: "paid" }] });
  expect(model.asked).toEqual(["first", "second"]);
});

test("a suspect that its process has survived has no claims in quarantine any more", async () => {
  await using store = await memoryStore();
  await suspects(store, ["first", "second"]);
  const model = heldModel();
  const { clock, survive } = quarantineClock();
  await using core = await startCore({ models: model.catalog, gateway, store, clock, owner: "replica-2" });
  await expect.poll(() => model.asked).toEqual(["first"]);

  survive();

  await expect.poll(() => model.asked).toEqual(["first", "second"]);
  const [second, first] = await core.store.runs.list("agt_1", { limit: 2 });
  expect([first, second]).toMatchObject([
    { claims: 0, crashes: 2 },
    { claims: 1, crashes: 2 },
  ]);
});

test("suspects wait until the process has survived runs that crashed once", async () => {
  await using store = await memoryStore();
  const [once] = await suspects(store, ["once", "twice"]);
  await crashed(store, { runId: once!.runId, crashes: 1 });
  const model = heldModel();
  const { clock, survive } = quarantineClock();
  const startedAt = Date.now();
  const fixed = { ...clock, now: () => startedAt };
  await using core = await startCore({ models: model.catalog, gateway, store, clock: fixed, owner: "replica-2" });
  await expect.poll(() => model.asked).toEqual(["once"]);

  model.answer("other");
  await core.query("other");
  expect(model.asked).toEqual(["once", "other"]);
  survive();

  await expect.poll(() => model.asked).toEqual(["once", "other", "twice"]);
});

test("a run that crashed its processes in quarantine too is ended without being loaded", async () => {
  await using store = await memoryStore();
  const [run] = await suspects(store, ["poison"]);
  for (let claims = 0; claims < 2; claims++) {
    await store.runs.claimSuspects({ ...claim, limit: 1 });
    await store.runs.release(claim.owner, [run!.runId], { crashed: true });
  }
  const unreadable = { ...store, runs: { ...store.runs, checkpoint: () => never } };
  const model = scriptedModel([]);
  await using core = await startCore({ models: model.catalog, gateway, store: unreadable, owner: "replica-2" });

  expect(await resultOf(core, run!)).toMatchObject({
    success: false,
    code: "crash_loop",
    errorMessage: expect.stringContaining("in progress at 4 crashes of its process"),
    toolInteractions: [],
    warnings: ["The answer leaves out 1 calls of the run. Its events list them."],
    usage: { inputTokens: 10, outputTokens: 5 },
  });
  const events = await core.events(run!.runId);
  expect(events.at(-1)).toMatchObject({ type: "error", code: "crash_loop" });
  expect(model.requests).toEqual([]);
});

test("a suspect that no process could load ends at its deadline", async () => {
  await using store = await memoryStore();
  const [run] = await suspects(store, ["poison"]);
  await expire(store, run!);
  const unreadable = { ...store, runs: { ...store.runs, checkpoint: () => never } };
  await using core = await startCore({
    models: scriptedModel([]).catalog,
    gateway,
    store: unreadable,
    owner: "replica-2",
  });

  expect(await resultOf(core, run!)).toMatchObject({ code: "deadline_exceeded", errorMessage: "Run timed out" });
});

test("a process neither claims nor ends its own run when the clock of its store jumps forward", async () => {
  let ahead = 0;
  const clock: Clock = { ...systemClock, now: () => Date.now() + ahead };
  await using store = await memoryStore({ clock });
  let polls = 0;
  const waiting = (): Promise<string[]> => {
    polls++;
    return store.runs.waiting();
  };
  const polled = { ...store, runs: { ...store.runs, waiting } };
  const held = Promise.withResolvers<void>();
  const orders: number[] = [];
  const slow = fakeGateway(manifestOf({ pay: "everyone" }), async ({ timeoutMs }) => {
    orders.push(timeoutMs);
    await held.promise;
    return ok("paid");
  });
  const calling = scriptedModel([{ calls: [["pay", {}]] }, { calls: [["pay", {}]] }, { text: "Done." }]);
  await using core = await startCore({ models: calling.catalog, gateway: slow.gateway, store: polled, clock });
  const answer = core.query("Pay");
  await expect.poll(() => orders).toHaveLength(1);

  ahead = 300_000;
  // The next poll may have begun before the jump; the one after it has not.
  const before = polls;
  await expect.poll(() => polls).toBeGreaterThan(before + 2);
  held.resolve();

  expect(await answer).toMatchObject({ success: true, response: "Done." });
  expect(calling.requests).toHaveLength(3);
  expect(orders[1]).toBeGreaterThan(0);
});
