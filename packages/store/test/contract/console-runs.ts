import type { CallOutcome } from "@patchbay/protocol";
import { expect, test } from "vitest";
import type { RunFilter } from "../../../console-api/src/runs/filter.ts";
import {
  consoleOf,
  ending,
  event,
  openWorld,
  sampleCall,
  sampleRequest,
  sampleTurn,
  type MakePlace,
  type World,
} from "./world.ts";

const DENIED: CallOutcome = { ok: false, code: "unknown_function", message: "No.", rule: "roles" };
const FAILED: CallOutcome = { ok: false, code: "function_failed", message: "Broken." };

async function found(world: World, filter: RunFilter = {}): Promise<string[]> {
  const page = await world.console.runs.list(world, { limit: 100, ...filter });
  expect(page.nextCursor).toBeNull();
  return page.items.map(({ runId }) => runId);
}

/** Starts runs of these names, one after the other. */
async function startAll(world: World, runs: Record<string, Parameters<World["start"]>[0]>): Promise<void> {
  for (const [name, change] of Object.entries(runs)) {
    world.clock.advance(1);
    await world.start({ runId: `run_${name}`, ...change });
  }
}

async function called(world: World, runId: string, functionName: string, outcome: CallOutcome): Promise<void> {
  const call = sampleCall(`call_${runId}`, { functionName, outcome });
  await world.store.runs.commit({ runId, fence: 1 }, { turn: sampleTurn(0, { costMicros: 250_000 }), calls: [call] });
}

export function consoleRunContract(place: MakePlace): void {
  test("runs are listed newest first, page by page, each once", async () => {
    await using world = await openWorld(place);
    const ids: string[] = [];
    for (let i = 0; i < 7; i++) {
      if (i % 2 === 0) world.clock.advance(1000); // pairs of one millisecond
      ids.push((await world.start({ runId: `run_${i}` })).runId);
    }

    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await world.console.runs.list(world, { limit: 3, cursor });
      seen.push(...page.items.map(({ runId }) => runId));
      cursor = page.nextCursor ?? undefined;
    } while (cursor);

    expect(seen).toEqual(ids.toReversed());
  });

  test("a run in a list shows its query, its status and sums over its calls and turns", async () => {
    await using world = await openWorld(place);
    const request = sampleRequest({ query: "q".repeat(300), role: "clerk", provider: "openai", model: "gpt" });
    const run = await world.start({ sessionId: "s1", request });
    world.clock.advance(40);
    const calls = [
      sampleCall("c1", { outcome: { ok: true, value: 1 } }),
      sampleCall("c2", { position: 1, outcome: DENIED }),
      sampleCall("c3", { position: 2, outcome: FAILED }),
      sampleCall("c4", { position: 3 }),
    ];
    await world.store.runs.commit(run, { turn: sampleTurn(0, { costMicros: 1_500_000 }), calls });
    world.clock.advance(2);
    const { finish } = ending(run);
    const result = { ...finish!.result!, success: false, code: "provider_error" as const };
    await world.store.runs.commit(run, {
      events: [event(1, "error")],
      turn: sampleTurn(1),
      finish: { ...finish!, status: "failed", result },
    });

    const { items } = await world.console.runs.list(world, { limit: 1 });

    expect(items).toEqual([
      {
        runId: run.runId,
        agentId: world.agentId,
        threadId: run.threadId,
        sessionId: "s1",
        source: "api",
        keyId: "key_1",
        status: "failed",
        code: "provider_error",
        role: "clerk",
        query: "q".repeat(200),
        provider: "openai",
        model: "gpt",
        createdAt: "2030-01-01T00:00:00.000Z",
        startedAt: "2030-01-01T00:00:00.000Z",
        finishedAt: "2030-01-01T00:00:00.042Z",
        durationMs: 42,
        calls: 4,
        waitsFor: [],
        failedCalls: 1,
        deniedCalls: 1,
        inputTokens: 200,
        outputTokens: 20,
        costUsd: 1.5,
      },
    ]);
  });

  test("the duration of a running run ends now", async () => {
    await using world = await openWorld(place);
    await world.start();
    world.clock.advance(1234);

    const { items } = await world.console.runs.list(world, { limit: 1 });

    expect(items).toMatchObject([{ status: "running", durationMs: 1234, finishedAt: null, code: null, costUsd: 0 }]);
  });

  test("runs are found by status, role, key, source, session, thread and time", async () => {
    await using world = await openWorld(place);
    await startAll(world, {
      a: {
        keyId: "key_a",
        request: sampleRequest({ role: "clerk" }),
        sessionId: "s1",
        threadId: "thr_1",
        newThread: true,
      },
      b: { keyId: "tok_b", threadId: "thr_1", newThread: false },
      c: { keyId: "mem_c", request: sampleRequest({ role: "boss" }), sessionId: "s1" },
      d: { keyId: "mem_c", kind: "call" },
      e: { keyId: "key_e", kind: "call" },
    });

    expect(await found(world, { status: "queued" })).toEqual(["run_b"]);
    expect(await found(world, { role: "clerk" })).toEqual(["run_a"]);
    expect(await found(world, { role: "" })).toEqual(["run_e", "run_d", "run_b"]);
    expect(await found(world, { keyId: "mem_c" })).toEqual(["run_d", "run_c"]);
    expect(await found(world, { source: "api" })).toEqual(["run_a"]);
    expect(await found(world, { source: "local" })).toEqual(["run_b"]);
    expect(await found(world, { source: "playground" })).toEqual(["run_c"]);
    expect(await found(world, { source: "test_call" })).toEqual(["run_d"]);
    expect(await found(world, { source: "direct_call" })).toEqual(["run_e"]);
    expect(await found(world, { source: "production" })).toEqual(["run_e", "run_b", "run_a"]);
    expect(await found(world, { sessionId: "s1" })).toEqual(["run_c", "run_a"]);
    expect(await found(world, { threadId: "thr_1" })).toEqual(["run_b", "run_a"]);
    const { time } = world.clock;
    expect(await found(world, { from: time - 3, to: time - 1 })).toEqual(["run_c", "run_b"]);
    expect(await found(world, { sessionId: "s1", role: "boss" })).toEqual(["run_c"]);
  });

  test("runs are found by the functions they called and by the states of their calls", async () => {
    await using world = await openWorld(place);
    await startAll(world, { a: {}, b: {}, c: {}, d: {} });
    await called(world, "run_a", "refund", { ok: true, value: 1 });
    await called(world, "run_b", "refund", DENIED);
    await called(world, "run_c", "close", FAILED);

    expect(await found(world, { functionName: "refund" })).toEqual(["run_b", "run_a"]);
    expect(await found(world, { trouble: "denied" })).toEqual(["run_b"]);
    expect(await found(world, { trouble: "failed" })).toEqual(["run_c"]);
    expect(await found(world, { trouble: "failed", functionName: "refund" })).toEqual([]);
  });

  test("runs are found by whole ids and by beginnings of ids", async () => {
    await using world = await openWorld(place);
    const a = `run_${"a".repeat(32)}`;
    await startAll(world, { ["a".repeat(32)]: {}, b: { threadId: "thr_own", newThread: true } });

    expect(await found(world, { q: "run_aaa" })).toEqual([a]);
    expect(await found(world, { q: a })).toEqual([a]);
    expect(await found(world, { q: "thr_ow" })).toEqual(["run_b"]);
    expect(await found(world, { q: "run_%" })).toEqual([]);
  });

  test("what belongs to another agent or organisation is nowhere", async () => {
    await using world = await openWorld(place);
    const { store, orgId, agentId } = world;
    const run = await world.start({ sessionId: "s1" });
    await world.finish(await world.start());
    await store.index.record();
    const { runs, threads, sessions } = consoleOf(store);
    const always = { from: 0, to: Number.MAX_SAFE_INTEGER, limit: 5 };
    const empty = { items: [], nextCursor: null };

    for (const [org, agent] of [
      ["org_2", agentId],
      [orgId, "agt_2"],
    ] as const) {
      expect(await runs.list({ orgId: org, agentId: agent }, { limit: 5 })).toEqual(empty);
      expect(await runs.list({ orgId: org, agentId: agent }, { limit: 5, q: run.runId })).toEqual(empty);
      expect(await runs.list({ orgId: org, agentId: agent }, { limit: 5, q: "late" })).toEqual(empty);
      expect(await runs.list({ orgId: org, agentId: agent }, { limit: 5, sort: "-costUsd" })).toEqual(empty);
      expect(await runs.totals({ orgId: org, agentId: agent }, {})).toMatchObject({ runs: 0, costUsd: 0 });
      expect(await runs.values({ orgId: org, agentId: agent }, {})).toEqual({
        models: [],
        codes: [],
        keyIds: [],
        roles: [],
        tags: [],
      });
      expect(await threads.get({ orgId: org, agentId: agent }, run.threadId, { limit: 5 })).toBeUndefined();
      expect(await runs.parts({ orgId: org, agentId: agent }, run.runId)).toBeUndefined();
      expect(await runs.log({ orgId: org, agentId: agent }, run.runId, { limit: 5 })).toBeUndefined();
      expect(await threads.list({ orgId: org, agentId: agent }, { limit: 5 })).toEqual(empty);
      expect(await sessions.list({ orgId: org, agentId: agent }, always)).toEqual(empty);
    }
    expect(await runs.parts({ orgId, agentId }, run.runId)).toMatchObject({ run: { runId: run.runId } });
  });

  test("a cursor that no page gave is refused as the caller's fault", async () => {
    await using world = await openWorld(place);
    const { runs } = world.console;
    const asked = { limit: 1, cursor: "nonsense" };

    await expect(runs.list(world, asked)).rejects.toMatchObject({ code: "invalid_request" });
  });
}
