import { expect, test } from "vitest";
import { openWorld, type MakePlace } from "./world.ts";

const DAY_MS = 24 * 3_600_000;

export function detachedRunsContract(place: MakePlace): void {
  test("a detached run is reattached once, under its name and by its agent only", async () => {
    await using world = await openWorld(place);
    const { runs } = world.store;
    const { runId, threadId, agentId } = await world.start();
    await runs.detach({ agentId: "agt_2", runId }, "other");
    await runs.detach({ agentId, runId }, "call");

    expect(await runs.reattach(agentId, "other")).toBeUndefined();
    expect(await runs.reattach("agt_2", "call")).toBeUndefined();
    expect(await runs.reattach(agentId, "call")).toEqual({ runId, threadId, agentId });
    expect(await runs.reattach(agentId, "call")).toBeUndefined();
  });

  test("simultaneous requests each reattach to a different run", async () => {
    await using world = await openWorld(place);
    const other = await world.another();
    const { agentId } = world;
    const detached = await Promise.all(Array.from({ length: 5 }, () => world.start()));
    for (const run of detached) await world.store.runs.detach(run, "call");

    const taken = await Promise.all(
      Array.from({ length: 20 }, (_, i) => (i % 2 === 0 ? world.store : other).runs.reattach(agentId, "call")),
    );

    const ids = taken.flatMap((run) => (run ? [run.runId] : []));
    expect(ids.toSorted()).toEqual(detached.map(({ runId }) => runId).toSorted());
  });

  test("a run that waits for an approval is reattached last", async () => {
    await using world = await openWorld(place);
    const { runs } = world.store;
    const waiting = await world.start({ runId: "run_1" });
    const ended = await world.start({ runId: "run_2" });
    await runs.commit(waiting, { wait: { remainingMs: 1_000 } });
    await world.finish(ended);
    for (const run of [waiting, ended]) await runs.detach(run, "call");

    expect(await runs.reattach(world.agentId, "call")).toMatchObject({ runId: "run_2" });
    expect(await runs.reattach(world.agentId, "call")).toMatchObject({ runId: "run_1" });
  });

  test("a run that was cancelled, or ended a day ago, is not reattached", async () => {
    await using world = await openWorld(place);
    const { runs } = world.store;
    const { agentId } = world;
    const cancelled = await world.start();
    await runs.detach(cancelled, "call");
    await runs.requestCancel(agentId, cancelled.runId);
    expect(await runs.reattach(agentId, "call")).toBeUndefined();

    const old = await world.start();
    await world.finish(old);
    await runs.detach(old, "call");
    world.clock.advance(DAY_MS);
    expect(await runs.reattach(agentId, "call")).toBeUndefined();
  });
}
