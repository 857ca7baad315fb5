import type { LiveEvent } from "@patchbay/protocol";
import { expect, test } from "vitest";
import type { Clock } from "../../src/ports/clock.ts";
import { type EndedAttempt, silentMetrics } from "../../src/ports/metrics.ts";
import { ModelError } from "../../src/ports/model-provider.ts";
import { eachOf, type RunHandle } from "../../src/run/api.ts";
import { systemClock } from "../../../control-plane/src/start/clocks.ts";
import { createBusHub } from "../../../gateway/test/bus-hub.ts";
import { WAIT_MS } from "@patchbay/test-support/patience";
import { memoryStore, recordingLog, startCore, startScripted } from "./core.ts";
import { failed, retried } from "./failed-runs.ts";
import { fakeGateway, manifestOf, ok } from "./fake-gateway.ts";
import { type ScriptedTurn, scriptedModel } from "./scripted-model.ts";
import { passed, startHooked } from "./start-hooks.ts";
import { responds, SCHEMA } from "./start-structured.ts";

/** Makes pauses short. */
const clock: Clock = { ...systemClock, sleep: (ms, options) => systemClock.sleep(ms / 50, options) };
/** The first three attempts at a turn follow each other immediately, and the pauses after them are the shortest. */
const random = () => 0;
const DOWN: ScriptedTurn = { fail: new ModelError("overloaded", "answered 529", { status: 529 }) };
const AWAY: ScriptedTurn = {
  fail: new ModelError("rate_limited", "answered 429", { status: 429, retryAfterMs: 3.6e6 }),
};
const CALL: ScriptedTurn = { calls: [["open", {}]] };
const DONE: ScriptedTurn = { text: "Done." };
/** More failures than the first three attempts of a turn. */
const OUTAGE = [DOWN, DOWN, DOWN, DOWN];

const types = async (followed: AsyncIterable<{ body: string }>) => {
  const seen: string[] = [];
  for await (const { body } of followed) seen.push((JSON.parse(body) as { type: string }).type);
  return seen;
};

test("a run survives an outage after its first call, which ran once, and its answer has a warning", async () => {
  await using core = await startScripted([CALL, ...OUTAGE, DONE], { clock, random });

  const answer = await core.query("Go");

  expect(answer).toMatchObject({
    success: true,
    response: "Done.",
    warnings: [expect.stringMatching(/^The model did/)],
  });
  expect(answer.warnings).toEqual([
    expect.stringMatching(/^The model did not answer for \d s: 4 requests failed \(HTTP 529\)$/),
  ]);
  expect(core.runtime.orders).toHaveLength(1);
  expect((await core.events(answer.runId)).at(-1)).toMatchObject({ type: "finalResponse", warnings: answer.warnings });
});

test("each request is counted in the metrics, and each pause after the attempts is a line in the log", async () => {
  const counted: string[] = [];
  const log = recordingLog();
  const metrics = { ...silentMetrics, modelTurn: ({ outcome }: EndedAttempt) => void counted.push(outcome) };
  await using core = await startScripted([CALL, ...OUTAGE, DONE], { clock, random, metrics, log });

  await core.query("Go");

  const overloaded = Array.from({ length: 4 }, () => "overloaded");
  expect(counted).toEqual(["succeeded", ...overloaded, "succeeded"]);
  const lines = (message: string) => log.lines.filter((line) => line.message === message).map(({ fields }) => fields);
  expect(lines("model turn failed").map((fields) => fields?.["attempt"])).toEqual([1, 2, 3, 4]);
  expect(lines("all models failed, asking them again")).toEqual([
    { failed: "scripted/scripted-1", kind: "overloaded", waitMs: 500 },
    { failed: "scripted/scripted-1", kind: "overloaded", waitMs: 1_000 },
  ]);
});

test("the first turn of a run fails after three attempts", async () => {
  await using core = await startScripted([...OUTAGE, DONE], { clock, random });

  expect(await core.query("Go")).toMatchObject({ success: false, code: "provider_error" });
  expect(core.model.requests).toHaveLength(3);
});

test("a stored plan counts as a turn", async () => {
  await using core = await startScripted([{ text: "I look it up." }, ...OUTAGE, DONE], { clock, random });

  expect(await core.query("Go", { analysisMode: true })).toMatchObject({ success: true, response: "Done." });
});

test("a plan that fails is not repeated for longer than another first turn", async () => {
  await using core = await startScripted([...OUTAGE, DONE], { clock, random });

  expect(await core.query("Go", { analysisMode: true })).toMatchObject({ code: "provider_error" });
});

test("the correction of a structured answer survives an outage", async () => {
  const turns = [responds({ note: "no total" }), ...OUTAGE, responds({ total: 7 })];
  await using core = await startScripted(turns, { clock, random });

  expect(await core.query("How much?", { responseSchema: SCHEMA })).toMatchObject({ structured: { total: 7 } });
});

test("a turn that another replica stored before it crashed counts", async () => {
  await using store = await memoryStore();
  const asked = Promise.withResolvers<void>();
  const never = new Promise<never>(() => {});
  const { gateway, orders } = fakeGateway(manifestOf({ open: "everyone" }), () => ok("done"));
  const waiting = scriptedModel((_, index) => {
    if (index === 0) return CALL;
    asked.resolve();
    return { until: never };
  });
  const first = await startCore({ models: waiting.catalog, gateway, store, clock, random });
  const run = await first.start("Go");
  await asked.promise;
  await first.runs.drain(0);
  const models = scriptedModel([...OUTAGE, DONE]).catalog;
  await using core = await startCore({ models, gateway, store, owner: "replica-2", clock, random });

  expect(await core.result(run)).toMatchObject({ success: true, response: "Done." });
  expect(orders).toHaveLength(1);
});

test("the turns of the failed run count for its retry, which survives an outage", async () => {
  await using core = await startScripted([CALL, AWAY, ...OUTAGE, DONE], { clock, random });
  const run = await failed(core);

  expect(await core.result(await retried(core, run))).toMatchObject({ success: true, response: "Done." });
  expect(core.runtime.orders).toHaveLength(1);
});

test("the answer and the last event of a run whose model stays away have the warning", async () => {
  await using core = await startScripted([CALL, ...OUTAGE, AWAY], { clock, random });

  const answer = await core.query("Go");

  expect(answer).toMatchObject({ success: false, code: "provider_error" });
  expect(answer.errorMessage).toContain("(it asks for 3600 s)");
  expect(answer.warnings).toEqual([expect.stringMatching(/5 requests failed \(HTTP 529, HTTP 429\)$/)]);
  expect((await core.events(answer.runId)).at(-1)).toEqual({
    type: "error",
    errorMessage: answer.errorMessage,
    code: "provider_error",
    threadId: answer.threadId,
    runId: answer.runId,
    warnings: answer.warnings,
  });
});

test("a cancel ends a run that waits for its model, and the next query of its thread begins", async () => {
  const paused = Promise.withResolvers<void>();
  const endless: Clock = {
    ...systemClock,
    sleep(ms, options) {
      // The pause before the fourth request for the turn. No other one has this length.
      if (ms !== 650) return systemClock.sleep(ms, options);
      paused.resolve();
      return systemClock.sleep(120_000, options);
    },
  };
  await using core = await startScripted([CALL, DOWN, DOWN, DOWN, { text: "Next." }], {
    clock: endless,
    random: () => 0.3,
  });
  const run = await core.start("Go");
  await paused.promise;
  const next = await core.start("And now?", { threadId: run.threadId });

  await core.runs.cancel(core.caller, run.runId);

  expect(await core.result(run)).toMatchObject({
    code: "cancelled",
    warnings: [expect.stringMatching(/^The model did not answer for \d s: 3 requests failed \(HTTP 529\)$/)],
  });
  expect(await core.result(next)).toMatchObject({ response: "Next." });
});

test("an outage is charged for what it billed only, and leaves no credit reserved", async () => {
  const cut = { counted: { input: 100, cachedInput: 0, output: 10 }, uncountedBytes: 0 };
  const half = { ...DOWN, text: "Half", cut };
  await using core = await startScripted([CALL, half, DOWN, DOWN, half, AWAY], { clock, random, tier: "starter" });
  await core.store.accounts.grant("org_1", 1_000_000);

  const { usage } = await core.query("Go");

  expect(usage).toMatchObject({ inputTokens: 210, outputTokens: 25, costUsd: 0.00026 });
  expect(await core.store.accounts.balance("org_1")).toBe(1_000_000 - 260);
});

test("readers get each pause: with deltas, behind hooks, and without deltas where they ask for it", async () => {
  const down = Promise.withResolvers<void>();
  await using core = await startHooked([CALL, { ...DOWN, until: down.promise }, DOWN, DOWN, DOWN, DONE], () => passed, {
    clock,
    random,
  });
  const run = await core.start("Go");
  const signal = AbortSignal.timeout(WAIT_MS);
  const read = async (more: { deltas: boolean; statuses?: boolean }) => {
    const live: LiveEvent[] = [];
    for await (const events of core.runs.follow(run, { after: 0, signal, ...more }))
      for (const { id, body } of events) if (id === undefined) live.push(JSON.parse(body) as LiveEvent);
    return live;
  };
  const readers = [read({ deltas: true }), read({ deltas: false, statuses: true }), read({ deltas: false })];
  down.resolve();

  const retrying = (attempt: number, waitMs?: number) => ({
    type: "modelStatus",
    state: "retrying",
    attempt,
    ...(waitMs && { waitMs }),
  });
  const statuses = [retrying(2), retrying(3), retrying(4, 500), retrying(5, 1_000)];
  expect(await Promise.all(readers)).toEqual([statuses, statuses, []]);
});

test("readers at another replica get each pause", async () => {
  await using store = await memoryStore();
  const hub = createBusHub();
  const { gateway } = fakeGateway(manifestOf({ open: "everyone" }), () => ok("done"));
  const joined = Promise.withResolvers<void>();
  const { catalog: models } = scriptedModel([CALL, { ...DOWN, until: joined.promise }, DOWN, DOWN, DOWN, DONE]);
  const shared = { gateway, store, clock, random };
  await using here = await startCore({ ...shared, models, owner: "a", bus: hub.join("a") });
  await using there = await startCore({ ...shared, models, owner: "b", bus: hub.join("b") });
  const run: RunHandle = await here.start("Go");
  const signal = AbortSignal.timeout(WAIT_MS);
  const follow = (deltas: boolean) =>
    types(eachOf(there.runs.follow(run, { after: 0, deltas, statuses: true, signal })));
  hub.fate = ({ from, subject }) => {
    // The owner of the run knows now that it has followers there.
    if (from === "a" && subject === `run.${run.runId}`) joined.resolve();
    return "pass";
  };

  const [live, stored] = await Promise.all([follow(true), follow(false)]);

  expect(live.filter((type) => type === "modelStatus")).toHaveLength(4);
  expect(stored.filter((type) => type === "modelStatus")).toHaveLength(4);
  expect(stored.at(-1)).toBe("finalResponse");
});
