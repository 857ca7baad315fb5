import { sleep, wallMs } from "@patchbay/kit/time";
import { until } from "@patchbay/test-support/inbox";
import { inVirtualTime } from "@patchbay/test-support/virtual-time";
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
  await db.updateTable("runs").set({ crashes, lease_until: wallMs() }).where("id", "=", runId).execute();
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

const names = (count: number): string[] => Array.from({ length: count }, (_, n) => `run-${n}`);

test("suspects are resumed in groups that double while the process survives, and other runs continue", async () => {
  await inVirtualTime(async (time) => {
    await using store = await memoryStore();
    const all = names(8);
    await suspects(store, all);
    const model = heldModel();
    const log = recordingLog();
    const startedAt = time.now;
    await using core = await startCore({ models: model.catalog, gateway, store, log, owner: "replica-2" });
    const asked = () => model.asked.filter((query) => query !== "other").toSorted();
    model.answer("other");
    expect(await core.query("other")).toMatchObject({ success: true });

    for (const [dueMs, resumed] of [
      [0, 1],
      [3_000, 3],
      [6_000, 7],
      [9_000, 8],
    ] as const) {
      if (dueMs > 0) await sleep(startedAt + dueMs - 1 - time.now);
      if (dueMs > 0) expect(asked().length).toBeLessThan(resumed);
      await sleep(2);
      expect(asked()).toEqual(all.slice(0, resumed));
    }
    const lines = log.lines.filter(({ message }) => message === "runs in quarantine are resumed");
    expect(lines.map(({ fields }) => [fields?.runs, fields?.waiting])).toEqual([
      [1, 7],
      [2, 5],
      [4, 1],
      [1, 0],
    ]);
  });
});

test("the next suspects are resumed when those before have ended", async () => {
  await inVirtualTime(async (time) => {
    await using store = await memoryStore();
    const [first, second] = await suspects(store, ["first", "second"]);
    const model = heldModel();
    const startedAt = time.now;
    await using core = await startCore({ models: model.catalog, gateway, store, owner: "replica-2" });
    await until(() => model.asked.length === 1, "the first");

    model.answer("first");
    model.answer("second");
    expect(await core.result(first!)).toMatchObject({ success: true, toolInteractions: [{ result: "paid" }] });
    expect(await core.result(second!)).toMatchObject({ success: true, toolInteractions: [{ result: "paid" }] });
    expect(model.asked).toEqual(["first", "second"]);
    expect(time.now - startedAt).toBeLessThan(3_000);
  });
});

test("a suspect that its process has survived has no claims in quarantine any more", async () => {
  await inVirtualTime(async () => {
    await using store = await memoryStore();
    await suspects(store, ["first", "second"]);
    const model = heldModel();
    await using core = await startCore({ models: model.catalog, gateway, store, owner: "replica-2" });

    await until(() => model.asked.length === 2, "the second");

    const [second, first] = await core.store.runs.list("agt_1", { limit: 2 });
    expect([first, second]).toMatchObject([
      { claims: 0, crashes: 2 },
      { claims: 1, crashes: 2 },
    ]);
  });
});

test("suspects wait until the process has survived runs that crashed once for 3 s", async () => {
  await inVirtualTime(async (time) => {
    await using store = await memoryStore();
    const [once] = await suspects(store, ["once", "twice"]);
    await crashed(store, { runId: once!.runId, crashes: 1 });
    const model = heldModel();
    const startedAt = time.now;
    await using core = await startCore({ models: model.catalog, gateway, store, owner: "replica-2" });
    model.answer("other");
    await core.query("other");

    await sleep(startedAt + 2_999 - time.now);
    expect(model.asked.toSorted()).toEqual(["once", "other"]);
    await sleep(2);
    expect(model.asked.toSorted()).toEqual(["once", "other", "twice"]);
  });
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

  expect(await core.result(run!)).toMatchObject({
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

  expect(await core.result(run!)).toMatchObject({ code: "deadline_exceeded", errorMessage: "Run timed out" });
});

test("a process neither claims nor ends its own run when the clock of its store jumps forward", async () => {
  await inVirtualTime(async () => {
    let ahead = 0;
    const clock: Clock = { ...systemClock, now: () => wallMs() + ahead };
    await using store = await memoryStore({ clock });
    const held = Promise.withResolvers<void>();
    const orders: number[] = [];
    const slow = fakeGateway(manifestOf({ pay: "everyone" }), async ({ timeoutMs }) => {
      orders.push(timeoutMs);
      await held.promise;
      return ok("paid");
    });
    const calling = scriptedModel([{ calls: [["pay", {}]] }, { calls: [["pay", {}]] }, { text: "Done." }]);
    await using core = await startCore({ models: calling.catalog, gateway: slow.gateway, store, clock });
    const answer = core.query("Pay");
    await until(() => orders.length === 1, "the first call");

    ahead = 300_000;
    // Two polls and a renewal.
    await sleep(6_000);
    held.resolve();

    expect(await answer).toMatchObject({ success: true, response: "Done." });
    expect(calling.requests).toHaveLength(3);
    expect(orders[1]).toBeGreaterThan(0);
  });
});
