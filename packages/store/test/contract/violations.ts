import type { FunctionManifest } from "@patchbay/protocol";
import { expect, test } from "vitest";
import type { EarlierAttempt } from "@patchbay/engine/ports/records";
import { violations } from "../../src/proof/violations.ts";
import { waiting } from "./asking-runs.ts";
import { event, openWorld, sampleCall, sampleTurn, type MakePlace, type World } from "./world.ts";

/** Damage to populated databases: `test/system/stored-runs.test.ts`. */
export function violationContract(place: MakePlace): void {
  test("a run that continues while its rows are read violates nothing", async () => {
    await using world = await openWorld(place);
    const run = await world.start();
    await world.store.runs.commit(run, { events: [event(1)] });
    const { engine } = world.store;
    let commits = 0;
    const reads = engine.reads.withPlugin({
      transformQuery: ({ node }) => node,
      async transformResult({ result }) {
        const [row] = result.rows;
        // After its events, and before its calls.
        if (row && "run_id" in row && "body" in row && commits++ === 0) await call(world, run);
        return result;
      },
    });

    expect(await violations({ ...world.store, engine: { ...engine, reads } })).toEqual({
      runs: 1,
      calls: 1,
      violations: [],
      notes: [],
    });
    expect(commits).toBe(2);
    expect(await violations(world.store)).toMatchObject({ violations: [] });
  });

  test("only time in which a replica served makes an open or ended run late", async () => {
    await using world = await openWorld(place);
    const { runs, runtimes } = world.store;
    const late = async () => {
      const { violations: found } = await violations(world.store);
      return new Set(found.filter(({ invariant }) => invariant.includes("deadline")).map(({ runId }) => runId));
    };
    await runtimes.recordServed({ begins: true });
    const [open, ended] = [await world.start({ timeoutMs: 1_000 }), await world.start({ timeoutMs: 1_000 })];
    const suspect = await world.start({ timeoutMs: 1_000 });
    await runs.release("replica-a", [suspect.runId], { crashed: true });
    await runs.claim({ owner: "replica-a", leaseMs: 15_000, limit: 1, runId: suspect.runId });
    await runs.release("replica-a", [suspect.runId], { crashed: true });
    await waiting(world, ["one"]);
    await world.place.execute("update runs set deadline_at = 1 where status = 'waiting'");

    // A gap after the deadlines. If the clock was set ahead, the runs still have a second.
    world.clock.advance(60_000);
    await runtimes.recordServed({ begins: true });
    await serve(world, 21_000);
    expect(await late()).toEqual(new Set());
    const [later, inTime] = [await world.start({ timeoutMs: 1_000 }), await world.start({ timeoutMs: 1_000 })];
    await serve(world, 1_000);
    expect(await late()).toEqual(new Set([open.runId, ended.runId]));
    await world.finish(ended);
    await world.finish(open);
    await serve(world, 20_000);
    expect(await late()).toEqual(new Set([open.runId, ended.runId]));
    await world.finish(inTime);
    await serve(world, 1_000);
    expect(await late()).toEqual(new Set([open.runId, ended.runId, later.runId]));
    await runtimes.recordServed({ begins: true });
    expect(await late()).toEqual(new Set());
  });

  test("a deadline that was set while the clock was wrong makes no run late", async () => {
    await using world = await openWorld(place);
    const { runtimes } = world.store;
    await runtimes.recordServed({ begins: true });
    const run = await world.start({ timeoutMs: 100_000 });
    // The clock is set back before the run gets its deadline, and ahead during the run.
    await world.place.execute("update served set last_at = last_at - 96000");
    await world.place.execute("update runs set deadline_at = created_at - 36000");
    world.clock.advance(75_000);
    await runtimes.recordServed({ begins: false });
    await world.finish(run);
    await serve(world, 21_000);
    expect(await violations(world.store)).toMatchObject({ violations: [] });
  });

  test.each<[starts: number, declared: Partial<FunctionManifest>]>([
    [1, {}],
    [1, { effect: "read" }],
    [1, { retries: { max: 4 } }],
    [3, { idempotent: true }],
    [3, { reconciles: true }],
    [4, { effect: "read", retries: { max: 4 } }],
  ])("a call may start %i times with %o", async (most, declared) => {
    await using world = await openWorld(place);
    const one = { name: "list_orders", effect: "write", roles: "everyone", ...declared } as FunctionManifest;
    await world.store.runtimes.saveManifest(world.agentId, "h1", { functions: [one] } as never);
    const run = await world.start({ manifestHash: "h1" });
    const attempt = { attempt: 1, instanceId: "rt_1", endedAt: 1 };
    const started = Array.from({ length: most - 1 }, (): EarlierAttempt => ({ ...attempt, ended: "unknown" }));
    await call(world, run, [...started, { ...attempt, ended: "undelivered" }, { ...attempt, ended: "approval" }]);
    expect(await violations(world.store)).toMatchObject({ violations: [], calls: 1 });

    const again = await world.start({ manifestHash: "h1" });
    await call(world, again, [...started, { ...attempt, ended: "failed" }]);
    expect((await violations(world.store)).violations).toMatchObject([
      { runId: again.runId, expected: `${most}`, found: `${most + 1}` },
    ]);
  });

  test("a crash loop is a note with the crashes, and only runs since a time are checked", async () => {
    await using world = await openWorld(place);
    const run = await world.start();
    await world.place.execute("update runs set crashes = 4");
    const end = { seq: 1, body: '{"type":"error","errorMessage":"","code":"crash_loop"}' };
    await world.store.runs.commit(run, {
      events: [end],
      finish: { status: "failed", result: undefined, history: [], releaseIdempotencyKey: false },
    });
    world.clock.advance(1_000);
    await world.start();

    const crashes = { invariant: "crashes of its process", expected: "0", found: "4" };
    const { agentId, orgId } = world;
    const notes = [{ orgId, agentId, runId: run.runId, ...crashes }];
    expect(await violations(world.store)).toEqual({ runs: 2, calls: 0, violations: [], notes });
    expect(await violations(world.store, { since: world.clock.now() })).toEqual({
      runs: 1,
      calls: 0,
      violations: [],
      notes: [],
    });
  });
}

let calls = 0;

/** Stores a call with its event in one step. */
async function call({ store }: World, run: Awaited<ReturnType<World["start"]>>, earlier?: EarlierAttempt[]) {
  const { lastSeq } = await store.runs.checkpoint(run.runId);
  const one = sampleCall(`call_${calls++}`, earlier && { earlier });
  const body = JSON.stringify({ type: "toolCall", toolName: one.functionName, toolCallId: one.callId, parameters: {} });
  await store.runs.commit(run, { turn: sampleTurn(0), events: [{ seq: lastSeq + 1, body }], calls: [one] });
}

/** A replica serves the database for this time. */
async function serve({ store, clock }: World, ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 1_000) {
    clock.advance(1_000);
    await store.runtimes.recordServed({ begins: false });
  }
}
