import { expect, test } from "vitest";
import { ending, event, openWorld, sampleCall, sampleResult, sampleTurn, type MakePlace } from "./world.ts";

/** What the console reads of one run. */
export function consoleRunPartsContract(place: MakePlace): void {
  test("the parts of a run carry the times at which they were stored", async () => {
    await using world = await openWorld(place);
    const run = await world.start();
    world.clock.advance(100);
    await world.store.runs.commit(run, { turn: sampleTurn(0, { model: "m-1" }), calls: [sampleCall("c1")] });
    world.clock.advance(50);
    const outcome = { ok: true as const, value: 7 };
    await world.store.runs.commit(run, {
      calls: [sampleCall("c1", { outcome })],
      audit: [{ action: "run.resumed", agentId: world.agentId, runId: run.runId }],
    });

    const parts = await world.console.runs.parts(world, run.runId);

    const at = run.createdAt;
    expect(parts).toMatchObject({
      now: at + 150,
      turns: [{ step: 0, model: "m-1", provider: "offline", endedAt: at + 100 }],
      calls: [{ callId: "c1", outcome, createdAt: at + 100, finishedAt: at + 150 }],
      resumedAt: [at + 150],
    });
  });

  test("how a run ended is read without its calls, also for a refused run", async () => {
    await using world = await openWorld(place);
    const { runs } = world.console;
    const { orgId, agentId } = world;
    const run = await world.start();
    const call = { toolName: "a", toolCallId: "c1", parameters: {}, success: true, result: "x".repeat(1_000) };
    const failed = { success: false, code: "step_limit" as const, errorMessage: "Too many steps" };
    const result = { ...sampleResult(run, ""), ...failed, toolInteractions: [call] };
    await world.finish(run, { finish: { ...ending(run).finish!, status: "failed", result } });
    const { toolInteractions: _calls, ...withoutCalls } = result;
    const read = async () => ({
      run: (await runs.parts({ orgId, agentId }, run.runId))?.run.result,
      codes: (await runs.list({ orgId, agentId }, { limit: 5 })).items.map(({ code }) => code),
    });

    const [row] = await world.place.rows("select ending from runs");
    expect(JSON.parse(row?.["ending"] as string)).toEqual(withoutCalls);
    expect(await read()).toEqual({ run: withoutCalls, codes: ["step_limit"] });

    const refused = world.newRun();
    const refusal = { ...sampleResult(refused, ""), ...failed, code: "thread_busy" as const };
    await world.store.runs.refuse(refused, { code: "thread_busy", event: event(1), result: refusal });
    const { toolInteractions: _none, ...stored } = refusal;
    expect((await runs.parts({ orgId, agentId }, refused.runId))?.run.result).toEqual(stored);
  });

  test("a log is read in order, page by page, with the time of each event", async () => {
    await using world = await openWorld(place);
    const run = await world.start();
    await world.store.runs.commit(run, { events: [event(1), event(2)] });
    world.clock.advance(5);
    await world.store.runs.commit(run, { events: [event(3)] });
    const { runs } = world.console;

    const first = await runs.log(world, run.runId, { limit: 2 });
    const rest = await runs.log(world, run.runId, { limit: 2, cursor: first!.nextCursor! });

    expect(first?.items.map(({ seq, body }) => ({ seq, body }))).toEqual([event(1), event(2)]);
    expect(rest).toEqual({ items: [{ ...event(3), at: "2030-01-01T00:00:00.005Z", afterMs: 5 }], nextCursor: null });
  });

  test("a page of a log ends before its events are too many to send", async () => {
    await using world = await openWorld(place);
    const run = await world.start();
    const large = [1, 2, 3].map((seq) => ({ seq, body: JSON.stringify("x".repeat(600_000)) }));
    await world.store.runs.commit(run, { events: large });
    const { runs } = world.console;
    const seen: number[][] = [];

    let cursor: string | undefined;
    do {
      const page = await runs.log(world, run.runId, { limit: 100, cursor });
      seen.push(page!.items.map(({ seq }) => seq));
      cursor = page!.nextCursor ?? undefined;
    } while (cursor);

    expect(seen).toEqual([[1], [2], [3]]);
  });
}
