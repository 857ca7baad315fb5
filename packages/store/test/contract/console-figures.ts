import { expect, test } from "vitest";

import type { Buckets, FiguresOf } from "../../../console-api/src/analytics/time-range.ts";
import { waiting, yes } from "./asking-runs.ts";
import { event, openWorld, sampleCall, sampleRequest, sampleTurn, type MakePlace, type World } from "./world.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

export function figureContract(place: MakePlace): void {
  test("queries are counted by status in the bucket of their start; empty buckets are included", async () => {
    await using world = await openWorld(place);
    const range = openRange(world);
    await ended(world, { tookMs: 7 });
    world.clock.advance(2 * HOUR_MS);
    await ended(world, { tookMs: 9, status: "failed" });
    await ended(world, { tookMs: 1, status: "cancelled" });
    await world.start();

    const { totals, buckets } = await world.console.analytics.figures(...range());

    expect(totals).toMatchObject({ succeeded: 1, failed: 1, cancelled: 1 });
    expect(buckets.map(({ succeeded, failed, cancelled }) => [succeeded, failed, cancelled])).toEqual([
      [1, 0, 0],
      [0, 0, 0],
      [0, 1, 1],
    ]);
    expect(buckets.map(({ p50Ms }) => p50Ms)).toEqual([7, null, 1]);
  });

  test("percentiles are within 5 % of those of all durations", async () => {
    await using world = await openWorld(place);
    const range = openRange(world);
    const durations = Array.from({ length: 120 }, (_, i) => Math.floor(1.1 ** (i % 110)) + (i % 3));
    for (const tookMs of durations) await ended(world, { tookMs });

    const { totals } = await world.console.analytics.figures(...range());

    const sorted = durations.toSorted((a, b) => a - b);
    for (const [estimate, share] of [
      [totals.p50Ms, 0.5],
      [totals.p95Ms, 0.95],
      [totals.p99Ms, 0.99],
    ] as const) {
      const exact = sorted[Math.ceil(share * sorted.length) - 1]!;
      expect(estimate, `${share} is ${exact}`).toBeGreaterThanOrEqual(0.95 * exact);
      expect(estimate, `${share} is ${exact}`).toBeLessThanOrEqual(1.05 * exact);
    }
  });

  test("durations of runs and calls leave out the time in which they waited for people", async () => {
    await using world = await openWorld(place);
    const range = openRange(world);
    const { runs, approvals } = world.store;
    await waiting(world, ["a"]);
    for (const lateMs of [0, 1_000]) {
      world.clock.advance(HOUR_MS / 2 - lateMs);
      if (lateMs > 0) await approvals.decide(world.agentId, "apr_a", yes);
      world.clock.advance(lateMs);
    }
    await runs.wake();
    const [run] = await runs.claim({ owner: "replica-b", leaseMs: 15_000, limit: 1 });
    expect(run?.waitedMs).toBe(HOUR_MS);
    const call = { ...sampleCall("call_a"), approval: { approvalId: "apr_a" } as never };
    await runs.commit(run!, { calls: [{ ...call, attempt: 2 }], approvals: { reported: ["apr_a"] } });
    world.clock.advance(40);
    await runs.commit(run!, { calls: [{ ...call, attempt: 2, outcome: { ok: true, value: 1 } }] });
    await world.finish(run!);

    const { totals, functions } = await world.console.analytics.figures(...range());

    expect(totals).toMatchObject({ succeeded: 1, p50Ms: 40 });
    expect(functions).toMatchObject([{ calls: 1, p50Ms: 40 }]);
    const { items } = await world.console.runs.list(world, { limit: 9 });
    expect(items).toMatchObject([{ durationMs: 40 }]);
  });

  test("a percentile is never outside the durations", async () => {
    await using world = await openWorld(place);
    const range = openRange(world);
    for (const tookMs of [1510, 5010]) await ended(world, { tookMs });

    const { totals } = await world.console.analytics.figures(...range());

    expect(totals).toMatchObject({ p50Ms: 1510, p95Ms: 5010, p99Ms: 5010 });
  });

  test("a source limits queries, turns and calls; test calls do not count as turns of a model", async () => {
    await using world = await openWorld(place);
    const range = openRange(world);
    const usage = { input: 10, cachedInput: 0, cacheWriteInput: 0, output: 1 };
    const test_call = { provider: "test_call", model: "test_call" };
    for (const [keyId, more] of [
      ["key_a", {}],
      ["tok_a", {}],
      ["mem_a", {}],
      ["mem_a", test_call],
      ["key_a", test_call],
    ] as const) {
      const kind = more === test_call ? "call" : "query";
      const run = await world.start({ keyId, kind, request: sampleRequest(more) });
      await world.store.runs.commit(run, {
        turn: sampleTurn(0, { usage, costMicros: 1, ...more }),
        calls: [sampleCall(`call_${run.runId}`, { outcome: { ok: true, value: 1 } })],
      });
      await world.finish(run);
    }
    const [of, buckets] = range();

    const counts = async (source?: FiguresOf["source"]) => {
      const { totals, models, functions } = await world.console.analytics.figures({ ...of, source }, buckets);
      const turns = models.reduce((sum, model) => sum + model.turns, 0);
      return { queries: totals.succeeded, turns, calls: functions[0]?.calls };
    };
    expect(await counts()).toEqual({ queries: 5, turns: 3, calls: 5 });
    expect(await counts("production")).toEqual({ queries: 3, turns: 2, calls: 3 });
    expect(await counts("api")).toEqual({ queries: 1, turns: 1, calls: 1 });
    expect(await counts("local")).toEqual({ queries: 1, turns: 1, calls: 1 });
    expect(await counts("playground")).toEqual({ queries: 1, turns: 1, calls: 1 });
    expect(await counts("test_call")).toEqual({ queries: 1, turns: 0, calls: 1 });
    expect(await counts("direct_call")).toEqual({ queries: 1, turns: 0, calls: 1 });
  });

  test("tokens and cost are summed by model, by bucket and by role", async () => {
    await using world = await openWorld(place);
    const range = openRange(world);
    const usage = { input: 100, cachedInput: 20, cacheWriteInput: 30, output: 10 };
    const clerk = await world.start({ request: sampleRequest({ role: "clerk" }) });
    const dear = { provider: "openai", model: "large", usage, costMicros: 500 };
    await world.store.runs.commit(clerk, { turn: sampleTurn(0, dear) });
    world.clock.advance(HOUR_MS);
    await world.store.runs.commit(clerk, { turn: sampleTurn(1, dear) });
    await world.finish(clerk);
    const nobody = await world.start();
    await world.store.runs.commit(nobody, { turn: sampleTurn(0, { usage, costMicros: 7 }) });

    const figures = await world.console.analytics.figures(...range());

    expect(figures.totals).toMatchObject({
      inputTokens: 300,
      cachedInputTokens: 60,
      outputTokens: 30,
      costUsd: 0.001_007,
    });
    expect(figures.buckets.map(({ costUsd }) => costUsd)).toEqual([0.0005, 0.000_507]);
    expect(figures.models).toEqual([
      {
        provider: "openai",
        model: "large",
        turns: 2,
        firstTokenP50Ms: null,
        inputTokens: 200,
        cachedInputTokens: 40,
        cacheWriteInputTokens: 60,
        outputTokens: 20,
        costUsd: 0.001,
        costs: [0.0005, 0.0005],
      },
      expect.objectContaining({ provider: "offline", turns: 1, costs: [0, 0.000_007] }),
    ]);
    expect(figures.roles).toEqual([
      { role: "clerk", queries: 1, failed: 0, costUsd: 0.001 },
      { role: null, queries: 0, failed: 0, costUsd: 7e-6 },
    ]);
  });

  test("the time to the first token is the one of turns with text, by bucket and by model", async () => {
    await using world = await openWorld(place);
    const range = openRange(world);
    const run = await world.start();
    const timing = (firstTokenMs?: number) => ({
      timing: { beganAt: world.clock.now(), retries: [], ...(firstTokenMs !== undefined && { firstTokenMs }) },
    });
    const fast = { provider: "openai", model: "fast" };
    const { commit } = world.store.runs;
    await commit(run, { turn: sampleTurn(0, { ...fast, ...timing(40) }) });
    await commit(run, { turn: sampleTurn(1, { ...fast, ...timing() }) });
    world.clock.advance(HOUR_MS);
    await commit(run, { turn: sampleTurn(2, timing(0)) });
    await commit(run, { turn: sampleTurn(3, { ...fast, ...timing(2_000) }) });
    await commit(run, { turn: sampleTurn(4, { ...fast, ...timing(50) }) });

    const { totals, buckets, models } = await world.console.analytics.figures(...range());

    // Of 0, 40, 50 and 2,000 ms.
    expect(totals).toMatchObject({ firstTokenP50Ms: 40, firstTokenP95Ms: 2_000 });
    expect(buckets.map(({ firstTokenP50Ms, firstTokenP95Ms }) => [firstTokenP50Ms, firstTokenP95Ms])).toEqual([
      [40, 40],
      [50, 2_000],
    ]);
    expect(Object.fromEntries(models.map(({ model, firstTokenP50Ms }) => [model, firstTokenP50Ms]))).toEqual({
      fast: 50,
      offline: 0,
    });
  });

  test("functions have calls, failures, denials and the duration of allowed calls", async () => {
    await using world = await openWorld(place);
    const range = openRange(world);
    const run = await world.start();
    const slow = sampleCall("c1");
    await world.store.runs.commit(run, { calls: [slow, sampleCall("c2", { position: 1 })] });
    world.clock.advance(9);
    const failed = { ok: false, code: "function_failed", message: "It failed." } as const;
    await world.store.runs.commit(run, { calls: [{ ...slow, outcome: { ok: true, value: 1 } }] });
    const denied = { ok: false, code: "denied", message: "No.", rule: "authorize" } as const;
    await world.store.runs.commit(run, {
      calls: [
        sampleCall("c3", { position: 2, outcome: denied }),
        sampleCall("c4", { position: 3, functionName: "refund", outcome: failed }),
        sampleCall("c5", { position: 4, functionName: "refund; drop it", outcome: denied }),
      ],
    });

    const { functions } = await world.console.analytics.figures(...range());

    expect(functions).toEqual([
      { name: "list_orders", calls: 2, failed: 0, denied: 1, totalMs: 9, p50Ms: 9, p95Ms: 9 },
      { name: "(not a name)", calls: 1, failed: 0, denied: 1, totalMs: 0, p50Ms: null, p95Ms: null },
      { name: "refund", calls: 1, failed: 1, denied: 0, totalMs: 0, p50Ms: 0, p95Ms: 0 },
    ]);
  });

  test("figures are limited to the organisation, the agent, the role and the range", async () => {
    await using world = await openWorld(place);
    const { accounts } = world.store;
    const { console } = world;
    await accounts.createOrg({ orgId: "org_2", name: "Other", tier: "starter" });
    await accounts.createAgent({ agentId: "agt_2", orgId: "org_2", name: "Other", instructions: "" });
    await accounts.createAgent({ agentId: "agt_3", orgId: world.orgId, name: "Second", instructions: "" });
    await ended(world, {});
    world.clock.advance(HOUR_MS);
    const range = openRange(world);
    await ended(world, { of: { orgId: "org_2", agentId: "agt_2" } });
    await ended(world, { of: { agentId: "agt_3" } });
    await ended(world, { of: { request: sampleRequest({ role: "clerk" }) } });
    await accounts.deleteAgent("agt_3");
    world.clock.advance(MINUTE_MS);

    const queries = async (of: Partial<FiguresOf>) => {
      const [whole, buckets] = range();
      const { totals, models, functions } = await console.analytics.figures({ ...whole, ...of }, buckets);
      return [totals.succeeded, models.length, functions.length];
    };

    expect(await queries({})).toEqual([2, 1, 1]);
    expect(await queries({ agentId: world.agentId })).toEqual([1, 1, 1]);
    expect(await queries({ role: "clerk" })).toEqual([1, 1, 1]);
    expect(await queries({ role: "unknown" })).toEqual([0, 0, 0]);
    expect(await queries({ agentId: "agt_2" })).toEqual([0, 0, 0]);
    expect(await queries({ from: world.clock.now() })).toEqual([0, 0, 0]);
  });
}

/** From now on, in buckets of an hour, to the moment at which it is asked for. */
export function openRange(world: World): () => [FiguresOf, Buckets] {
  const from = world.clock.now();
  return () => {
    const to = world.clock.now() + 1;
    const count = Math.ceil((to - from) / HOUR_MS);
    return [
      { orgId: world.orgId, from, to },
      { firstAt: from, widthMs: HOUR_MS, count },
    ];
  };
}

interface Ended {
  tookMs?: number;
  status?: "succeeded" | "failed" | "cancelled";
  of?: Parameters<World["start"]>[0];
}

/** A query with one ended turn and one ended call. The clock is reset afterwards. */
async function ended(world: World, { tookMs = 10, status = "succeeded", of }: Ended): Promise<void> {
  const run = await world.start(of);
  world.clock.advance(tookMs);
  await world.store.runs.commit(run, {
    events: [event(1, "finalResponse")],
    turn: sampleTurn(0),
    calls: [sampleCall(`call_${run.runId}`, { outcome: { ok: true, value: null } })],
    finish: { status, result: undefined, history: [], releaseIdempotencyKey: false },
  });
  world.clock.advance(-tookMs);
}
