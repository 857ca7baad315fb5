import type { CallOutcome } from "@patchbay/protocol";
import type { RunSort } from "@patchbay/protocol/console";
import { expect, test } from "vitest";
import type { RunFilter } from "../../../console-api/src/runs/filter.ts";
import type { RunCommit } from "@patchbay/engine/ports/store/run-store";
import {
  ending,
  event,
  type MakePlace,
  openWorld,
  sampleCall,
  sampleRequest,
  sampleTurn,
  type World,
} from "./world.ts";

interface Ended {
  query?: string;
  response?: string;
  model?: string;
  role?: string;
  keyId?: string;
  requestId?: string;
  threadId?: string;
  ms?: number;
  costMicros?: number;
  tokens?: number;
  error?: { code: "deadline_exceeded" | "internal"; message: string };
  outcome?: CallOutcome;
}

/** Starts a run, makes one call, and ends it. */
export async function run(world: World, name: string, of: Ended = {}): Promise<string> {
  const { query = "Which?", model = "offline", role, ms = 10, costMicros = 0, tokens = 0, error, outcome } = of;
  world.clock.advance(1);
  const runId = `run_${name}`;
  const started = await world.start({
    runId,
    request: sampleRequest({ query, model, ...(role !== undefined && { role }) }),
    ...(of.keyId !== undefined && { keyId: of.keyId }),
    ...(of.requestId !== undefined && { requestId: of.requestId }),
    ...(of.threadId !== undefined && { threadId: of.threadId, newThread: true }),
  });
  const usage = { input: tokens, output: 0, cachedInput: 0, cacheWriteInput: 0 };
  const calls = outcome && [
    sampleCall(`call_${name}`, { functionName: `use_${name}`, outcome, arguments: { secret: "argumentative" } }),
  ];
  await world.store.runs.commit(started, { turn: sampleTurn(0, { costMicros, usage }), ...(calls && { calls }) });
  world.clock.advance(ms);
  await world.store.runs.commit(started, endOf(started, of.response, error));
  return runId;
}

function endOf(started: Parameters<typeof ending>[0], response = "None.", error?: Ended["error"]): RunCommit {
  const commit = ending(started, response);
  if (!error) return commit;
  const result = {
    ...commit.finish!.result!,
    success: false,
    response: "",
    code: error.code,
    errorMessage: error.message,
  };
  return { events: [event(1, "error")], finish: { ...commit.finish!, status: "failed", result } };
}

export async function found(world: World, filter: RunFilter & { sort?: RunSort } = {}): Promise<string[]> {
  const page = await world.console.runs.list(world, { limit: 100, ...filter });
  expect(page.nextCursor).toBeNull();
  return page.items.map(({ runId }) => runId);
}

export const DENIED: CallOutcome = {
  ok: false,
  code: "unknown_function",
  message: "Forbidden for clerks.",
  rule: "roles",
};

export function runFactContract(place: MakePlace): void {
  test("a run is found by its facts from its start, once, before and after they are stored", async () => {
    await using world = await openWorld(place);
    const details = { model: "gpt", role: "clerk", keyId: "key_7", requestId: "req_7", threadId: "thr_7" };
    await run(world, "a", {
      ...details,
      ms: 900,
      costMicros: 70_000,
      outcome: DENIED,
      error: { code: "deadline_exceeded", message: "Slow." },
    });
    await run(world, "b");
    await world.start({ runId: "run_open", request: sampleRequest({ role: "clerk" }) });
    const check = async (): Promise<void> => {
      for (const filter of [
        { model: "gpt" },
        { code: "deadline_exceeded" },
        { status: "failed" },
        { keyId: "key_7" },
        { requestId: "req_7" },
        { threadId: "thr_7", role: "clerk" },
        { functionName: "use_a" },
        { trouble: "denied" },
        { minDurationMs: 900, status: "failed" },
        { minCostUsd: 0.07 },
      ] satisfies RunFilter[])
        expect(await found(world, filter), JSON.stringify(filter)).toEqual(["run_a"]);
      expect(await found(world, { role: "clerk" })).toEqual(["run_open", "run_a"]);
      expect(await found(world, { role: "" })).toEqual(["run_b"]);
      expect(await found(world, { functionName: "use" })).toEqual([]);
      expect(await found(world, { functionName: "USE_A" })).toEqual([]);
      expect(await found(world, { sort: "createdAt" })).toEqual(["run_a", "run_b", "run_open"]);
      expect(await world.console.runs.totals(world, {})).toMatchObject({
        runs: 3,
        failed: 1,
        costUsd: 0.07,
      });
    };

    await check();
    await world.store.index.record();
    await check();
    world.clock.advance(60_000);
    await world.store.index.record();
    await check();
  });

  test("runs are sorted by cost, duration and tokens, page by page, each once", async () => {
    await using world = await openWorld(place);
    for (const [i, value] of [30, 10, 20, 20, 40].entries())
      await run(world, `${i}`, { costMicros: value, ms: value, tokens: value });
    const paged = async (sort: RunSort): Promise<string[]> => {
      const seen: string[] = [];
      let cursor: string | undefined;
      do {
        const page = await world.console.runs.list(world, { limit: 2, sort, cursor });
        seen.push(...page.items.map(({ runId }) => runId.slice("run_".length)));
        cursor = page.nextCursor ?? undefined;
      } while (cursor);
      return seen;
    };
    const check = async (): Promise<void> => {
      for (const by of ["costUsd", "durationMs", "tokens"] as const) {
        expect(await paged(`-${by}`), by).toEqual(["4", "0", "3", "2", "1"]);
        expect(await paged(by), by).toEqual(["1", "2", "3", "0", "4"]);
      }
    };

    await check();
    await world.store.index.record();
    await check();
  });

  test("totals and values are those of the runs that match", async () => {
    await using world = await openWorld(place);
    await run(world, "a", { model: "gpt", role: "clerk", costMicros: 1_500_000, tokens: 7, ms: 20 });
    await run(world, "b", {
      model: "gpt",
      keyId: "key_2",
      costMicros: 500_000,
      ms: 30,
      error: { code: "deadline_exceeded", message: "" },
    });
    const { runs } = world.console;
    await world.store.index.record();
    await run(world, "c", { model: "claude" });

    expect(await runs.totals(world, { model: "gpt" })).toEqual({
      runs: 2,
      failed: 1,
      durationMs: 50,
      inputTokens: 7,
      outputTokens: 0,
      costUsd: 2,
      since: null,
    });
    expect(await runs.totals(world, { model: "none" })).toMatchObject({ runs: 0, costUsd: 0 });
    expect(await runs.values(world, {})).toEqual({
      models: [
        { value: "gpt", runs: 2 },
        { value: "claude", runs: 1 },
      ],
      codes: [{ value: "deadline_exceeded", runs: 1 }],
      keyIds: [
        { value: "key_1", runs: 2 },
        { value: "key_2", runs: 1 },
      ],
      roles: [{ value: "clerk", runs: 1 }],
      tags: [],
    });
  });

  test("facts and words go with an erased thread and with retention", async () => {
    await using world = await openWorld(place);
    await run(world, "a", { query: "albatross", threadId: "thr_a" });
    await run(world, "b", { query: "bluebird" });
    await world.store.index.record();
    const stored = () =>
      world.place.rows(
        "select run_facts.run_id from run_facts join run_texts on run_texts.id = run_facts.id order by 1",
      );
    expect(await stored()).toHaveLength(2);

    await world.store.threads.erase(world.agentId, "thr_a");
    expect(await found(world, { q: "albatross" })).toEqual([]);
    expect(await stored()).toEqual([{ run_id: "run_b" }]);

    world.clock.advance(40 * 86_400_000);
    await world.store.sweep({ days: 30 });
    expect(await found(world, { q: "bluebird" })).toEqual([]);
    expect(await stored()).toEqual([]);
  });

  test("a run that is erased before its facts are stored has none", async () => {
    await using world = await openWorld(place);
    await run(world, "a", { threadId: "thr_a" });
    await run(world, "b");
    await world.store.threads.erase(world.agentId, "thr_a");

    await world.store.index.record();

    expect(await world.place.rows("select run_id from run_facts")).toEqual([{ run_id: "run_b" }]);
  });

  test("runs whose process crashed are found later, and none twice", async () => {
    await using world = await openWorld(place);
    await run(world, "a", { query: "albatross" });
    const other = await world.another();
    world.clock.advance(60_000);
    expect(await found(world, { q: "albatross" })).toEqual([]);

    await other.index.catchUp();
    await other.index.record();
    expect(await found(world, { q: "albatross" })).toEqual(["run_a"]);

    // The first process was slow, not dead.
    await world.store.index.record();
    await run(world, "b", { query: "albatross" });
    await other.index.catchUp();
    await other.index.record();
    expect(await found(world, { q: "albatross" })).toEqual(["run_b", "run_a"]);
    const rows = await world.place.rows("select count(*) as facts from run_facts");
    expect(rows).toMatchObject([{ facts: 2 }]);
  });

  test("without budget, nothing is stored, and later everything", async () => {
    await using world = await openWorld(place);
    await run(world, "a");

    await world.store.index.record({ signal: AbortSignal.abort() });
    expect(await world.place.rows("select run_id from run_facts")).toEqual([]);
    await world.store.index.record();
    expect(await world.place.rows("select run_id from run_facts")).toEqual([{ run_id: "run_a" }]);
  });

  test("a run that is refused at its start has facts", async () => {
    await using world = await openWorld(place);
    const refused = world.newRun({ runId: "run_no" });
    const { finish } = endOf({ ...refused, lastSeq: 0 }, "", { code: "internal", message: "No." });
    await world.store.runs.refuse(refused, {
      code: "internal",
      event: event(1, "error"),
      result: finish!.result,
    });
    await world.store.index.record();

    expect(await found(world, { code: "internal" })).toEqual(["run_no"]);
  });
}
