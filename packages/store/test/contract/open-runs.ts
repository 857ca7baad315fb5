import { expect, test } from "vitest";
import { createConsoleQueries } from "../../../console-api/src/queries.ts";
import { found, run } from "./run-facts.ts";
import { type MakePlace, openWorld } from "./world.ts";

export function openRunContract(place: MakePlace): void {
  test("more waiting runs than one answer reads are all listed, and hide no running one", async () => {
    await using world = await openWorld(place);
    const { runs } = world.console;
    const started: string[] = [];
    for (let at = 0; at <= 1_003; at++) {
      world.clock.advance(1);
      started.push((await world.start({ runId: `run_${at}` })).runId);
    }
    await world.place.execute("update runs set status = 'waiting' where id <> 'run_0'");

    const listed: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await runs.list(world, { status: "waiting", limit: 900, cursor });
      listed.push(...page.items.map(({ runId }) => runId));
      cursor = page.nextCursor ?? undefined;
    } while (cursor);
    expect(listed).toEqual(started.slice(1).toReversed());

    const since = new Date(world.clock.time - 1_000).toISOString();
    const waiting = await runs.totals(world, { status: "waiting" });
    expect(waiting).toMatchObject({ runs: 1_001, since });
    expect(await found(world, { status: "running", sort: "-durationMs" })).toEqual(["run_0"]);
    expect(await runs.totals(world, { status: "running" })).toMatchObject({
      runs: 1,
      since: null,
    });
  });

  test("a run whose facts are stored while it is read is counted and listed once", async () => {
    await using world = await openWorld(place);
    const { engine, index } = world.store;
    const reads = engine.reads.withPlugin({
      transformQuery: ({ node }) => node,
      async transformResult({ result }) {
        if (result.rows.some((row) => "request" in row)) await index.record();
        return result;
      },
    });
    const { runs } = createConsoleQueries({ ...engine, reads });
    await run(world, "a", { role: "clerk" });
    expect(await runs.totals(world, {})).toMatchObject({ runs: 1 });
    await run(world, "b", { role: "clerk" });
    const { items } = await runs.list(world, { role: "clerk", limit: 10 });

    expect(items.map(({ runId }) => runId)).toEqual(["run_b", "run_a"]);
  });

  test("open runs of all organisations are counted by their state", async () => {
    await using world = await openWorld(place);
    const before = await world.store.runs.openCounts();
    const ended = await world.start();
    await world.start();
    await world.start({ mustWait: true });
    await world.finish(ended);

    expect(await world.store.runs.openCounts()).toEqual({
      queued: before.queued + 1,
      running: before.running + 1,
      waiting: before.waiting,
      quarantined: before.quarantined,
    });
  });
}
