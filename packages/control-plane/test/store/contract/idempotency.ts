import { expect, test } from "vitest";
import { ending, openWorld, type MakePlace } from "./world.ts";

const DAY_MS = 24 * 3_600_000;
const idempotency = { key: "k", bodyHash: "b" };

export function idempotencyContract(place: MakePlace): void {
  test("a known Idempotency-Key joins its run and stores nothing", async () => {
    await using world = await openWorld(place);
    const first = await world.start({ idempotency });

    const again = await world.store.runs.start(world.newRun({ idempotency }));
    const other = await world.store.runs.start(world.newRun({ idempotency: { key: "k", bodyHash: "other" } }));

    expect(again).toEqual({ kind: "joined", runId: first.runId, sameBody: true });
    expect(other).toEqual({ kind: "joined", runId: first.runId, sameBody: false });
    expect(await world.store.runs.list(world.agentId, { limit: 10 })).toHaveLength(1);
    expect(await world.store.runs.findByIdempotencyKey(world.agentId, "k")).toEqual({
      runId: first.runId,
      bodyHash: "b",
    });
  });

  test("a hundred queries with one Idempotency-Key at once are one run", async () => {
    await using world = await openWorld(place);
    const other = await world.another();
    const storeOf = (i: number) => (i % 2 === 0 ? world.store : other);

    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, i) => storeOf(i).runs.start(world.newRun({ idempotency }))),
    );

    const started = answers.filter((answer) => answer.kind === "started");
    expect(started).toHaveLength(1);
    expect(answers.filter((answer) => answer.kind === "joined")).toHaveLength(99);
    expect(await world.store.runs.list(world.agentId, { limit: 10 })).toHaveLength(1);
  });

  test("a key counts for 24 hours", async () => {
    await using world = await openWorld(place);
    const first = await world.start({ idempotency });
    await world.finish(first);

    world.clock.advance(DAY_MS - 1);
    expect(await world.store.runs.start(world.newRun({ idempotency }))).toMatchObject({ kind: "joined" });
    world.clock.advance(1);
    expect(await world.store.runs.findByIdempotencyKey(world.agentId, "k")).toBeUndefined();
    const next = await world.start({ idempotency });

    expect(await world.store.runs.findByIdempotencyKey(world.agentId, "k")).toMatchObject({ runId: next.runId });
  });

  test("a key belongs to one agent", async () => {
    await using world = await openWorld(place);
    await world.store.accounts.createAgent({ agentId: "agt_2", orgId: world.orgId, name: "Other", instructions: "" });
    await world.start({ idempotency });

    expect(await world.start({ agentId: "agt_2", idempotency })).toMatchObject({ agentId: "agt_2" });
  });

  test("a run may give its key back when it ends", async () => {
    await using world = await openWorld(place);
    const run = await world.start({ idempotency });
    const { finish } = ending(run);

    await world.finish(run, finish && { finish: { ...finish, releaseIdempotencyKey: true } });

    expect(await world.store.runs.findByIdempotencyKey(world.agentId, "k")).toBeUndefined();
    expect(await world.start({ idempotency })).toMatchObject({ status: "running" });
  });
}
