import { expect, test } from "vitest";
import { openWorld, type MakePlace } from "./world.ts";

const DAY_MS = 24 * 3_600_000;

export function leftRunsContract(place: MakePlace): void {
  test("a run that was left is taken once, under its name and by its agent only", async () => {
    await using world = await openWorld(place);
    const { runs } = world.store;
    const { runId, threadId, agentId } = await world.start();
    await runs.leave({ agentId: "agt_2", runId }, "other");
    await runs.leave({ agentId, runId }, "call");

    expect(await runs.takeLeft(agentId, "other")).toBeUndefined();
    expect(await runs.takeLeft("agt_2", "call")).toBeUndefined();
    expect(await runs.takeLeft(agentId, "call")).toEqual({ runId, threadId, agentId });
    expect(await runs.takeLeft(agentId, "call")).toBeUndefined();
  });

  test("of many simultaneous requests, each takes another run", async () => {
    await using world = await openWorld(place);
    const other = await world.another();
    const { agentId } = world;
    const left = await Promise.all(Array.from({ length: 5 }, () => world.start()));
    for (const run of left) await world.store.runs.leave(run, "call");

    const taken = await Promise.all(
      Array.from({ length: 20 }, (_, i) => (i % 2 === 0 ? world.store : other).runs.takeLeft(agentId, "call")),
    );

    const ids = taken.flatMap((run) => (run ? [run.runId] : []));
    expect(ids.toSorted()).toEqual(left.map(({ runId }) => runId).toSorted());
  });

  test("a run that waits for an approval is taken last", async () => {
    await using world = await openWorld(place);
    const { runs } = world.store;
    const waiting = await world.start({ runId: "run_1" });
    const ended = await world.start({ runId: "run_2" });
    await runs.commit(waiting, { wait: { remainingMs: 1_000 } });
    await world.finish(ended);
    for (const run of [waiting, ended]) await runs.leave(run, "call");

    expect(await runs.takeLeft(world.agentId, "call")).toMatchObject({ runId: "run_2" });
    expect(await runs.takeLeft(world.agentId, "call")).toMatchObject({ runId: "run_1" });
  });

  test("a run that was cancelled, or ended a day ago, is not taken", async () => {
    await using world = await openWorld(place);
    const { runs } = world.store;
    const { agentId } = world;
    const cancelled = await world.start();
    await runs.leave(cancelled, "call");
    await runs.requestCancel(agentId, cancelled.runId);
    expect(await runs.takeLeft(agentId, "call")).toBeUndefined();

    const old = await world.start();
    await world.finish(old);
    await runs.leave(old, "call");
    world.clock.advance(DAY_MS);
    expect(await runs.takeLeft(agentId, "call")).toBeUndefined();
  });
}
