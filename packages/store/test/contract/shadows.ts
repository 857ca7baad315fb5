import type { CallOutcome } from "@patchbay/protocol";
import { expect, test } from "vitest";
import type { Candidate, Difference, ShadowStep } from "@patchbay/engine/ports/store/shadow-store";
import { openWorld, sampleCall, type MakePlace, type World } from "./world.ts";

const LEASE_MS = 10_000;
const outcome: CallOutcome = { ok: true, value: 1 };

const candidateOf = ({ agentId, orgId }: World, change: Partial<Candidate> = {}): Candidate => ({
  agentId,
  orgId,
  connectionId: "link_1",
  service: "desk",
  manifestHash: "set_1",
  ...change,
});

const stepOf = (change: Partial<ShadowStep> = {}): ShadowStep => ({
  position: { at: 1, id: "c1" },
  judged: 1,
  unanswered: 0,
  differences: [],
  ...change,
});

const difference = (runId: string, change: Partial<Difference> = {}): Difference => ({
  functionName: "list_orders",
  role: "clerk",
  runId,
  was: "denied (roles)",
  is: "allowed",
  ...change,
});

const counts = (world: World) =>
  world.store.engine.db.selectFrom("shadows").select(["manifest_hash", "judged", "dropped", "unanswered"]).execute();

const changes = (world: World) =>
  world.store.engine.db
    .selectFrom("shadow_changes")
    .select(["function_name", "role", "was", "decision", "calls", "examples"])
    .orderBy("role")
    .execute();

async function endCall(world: World, callId: string): Promise<void> {
  world.clock.advance(1);
  await world.store.runs.commit(await world.start(), { calls: [sampleCall(callId, { outcome })] });
}

export function shadowContract(place: MakePlace): void {
  test("one connection of an agent has the lease; another one of the same set takes it when it ends or expires", async () => {
    await using world = await openWorld(place);
    const { shadows } = world.store;
    const [one, two] = [candidateOf(world), candidateOf(world, { connectionId: "link_2" })];

    await shadows.begin(one, LEASE_MS);

    expect(await shadows.hold(two, LEASE_MS)).toBeUndefined();
    expect(await shadows.hold(one, LEASE_MS)).toEqual({ at: world.clock.time, id: "" });
    await shadows.end(two);
    expect(await shadows.hold(two, LEASE_MS)).toBeUndefined();
    await shadows.end(one);
    expect(await shadows.hold(two, LEASE_MS)).toBeDefined();
    expect(await shadows.hold(one, LEASE_MS)).toBeUndefined();
    world.clock.advance(LEASE_MS);
    expect(await shadows.hold(one, LEASE_MS)).toBeDefined();
  });

  test("a candidate with another function set resets the counts, and the one before it is not asked any more", async () => {
    await using world = await openWorld(place);
    const { shadows } = world.store;
    const [old, next] = [candidateOf(world), candidateOf(world, { connectionId: "link_2", manifestHash: "set_2" })];
    await shadows.begin(old, LEASE_MS);
    await shadows.record(old, stepOf({ differences: [difference("run_1")] }));

    await shadows.begin(candidateOf(world, { connectionId: "link_3" }), LEASE_MS);
    expect(await counts(world)).toMatchObject([{ manifest_hash: "set_1", judged: 1 }]);
    await shadows.begin(next, LEASE_MS);
    world.clock.advance(LEASE_MS);

    expect(await counts(world)).toEqual([{ manifest_hash: "set_2", judged: 0, dropped: 0, unanswered: 0 }]);
    expect(await changes(world)).toEqual([]);
    expect(await shadows.hold(old, LEASE_MS)).toBeUndefined();
    await shadows.record(old, stepOf());
    expect(await counts(world)).toMatchObject([{ judged: 0 }]);
  });

  test("differences are added up by function, role and decisions, with the newest runs", async () => {
    await using world = await openWorld(place);
    const { shadows } = world.store;
    const candidate = candidateOf(world);
    await shadows.begin(candidate, LEASE_MS);

    const first = [1, 2, 3].map((n) => difference(`run_${n}`));
    await shadows.record(candidate, stepOf({ judged: 5, unanswered: 1, differences: first }));
    const second = [difference("run_4"), difference("run_5", { role: undefined })];
    await shadows.record(candidate, stepOf({ judged: 2, position: { at: 7, id: "c7" }, differences: second }));

    const same = { function_name: "list_orders", was: "denied (roles)", decision: "allowed" };
    expect(await changes(world)).toEqual([
      { ...same, role: '"clerk"', calls: 4, examples: '["run_4","run_3","run_2"]' },
      { ...same, role: "null", calls: 1, examples: '["run_5"]' },
    ]);
    expect(await counts(world)).toMatchObject([{ judged: 7, unanswered: 1 }]);
    expect(await shadows.hold(candidate, LEASE_MS)).toEqual({ at: 7, id: "c7" });
  });

  test("kinds of differences beyond a limit are not kept", async () => {
    await using world = await openWorld(place);
    const { shadows } = world.store;
    const candidate = candidateOf(world);
    await shadows.begin(candidate, LEASE_MS);
    const many = Array.from({ length: 510 }, (_, i) => difference("run_1", { functionName: `made_up_${i}` }));

    await shadows.record(candidate, stepOf({ differences: many }));
    await shadows.record(candidate, stepOf({ differences: [difference("run_2", { functionName: "made_up_0" })] }));

    const kept = await changes(world);
    expect(kept).toHaveLength(500);
    expect(kept.find((one) => one.function_name === "made_up_0")).toMatchObject({ calls: 2 });
  });

  test("ended calls come oldest first from the beginning of the comparison on, and old ones are skipped and counted", async () => {
    await using world = await openWorld(place);
    const { shadows } = world.store;
    const candidate = candidateOf(world);
    await endCall(world, "before");
    world.clock.advance(1);
    await shadows.begin(candidate, LEASE_MS);
    for (const callId of ["c1", "c2", "c3"]) await endCall(world, callId);
    const start = (await shadows.hold(candidate, LEASE_MS))!;
    const read = async (position = start, settleMs = 0) => {
      const page = await shadows.endedAfter(candidate, position, { limit: 2, settleMs });
      return { ids: page.calls.map(({ callId }) => callId), position: page.position };
    };

    const first = await read();

    expect(first.ids).toEqual(["c1", "c2"]);
    expect((await read(first.position)).ids).toEqual(["c3"]);
    expect((await read(start, 1)).ids).toEqual(["c1", "c2"]);
    expect((await read(first.position, 1)).ids).toEqual([]);
    world.clock.advance(1_000);
    await endCall(world, "c4");
    expect(await shadows.skip(candidate, start, 500)).toBe(3);
    const skipped = (await shadows.hold(candidate, LEASE_MS))!;
    expect((await read(skipped)).ids).toEqual(["c4"]);
    expect(await shadows.skip(candidate, skipped, 500)).toBe(0);
    expect(await counts(world)).toMatchObject([{ dropped: 3 }]);
  });

  test("no ended call is skipped for the time in which no replica served", async () => {
    await using world = await openWorld(place);
    const { shadows, runtimes } = world.store;
    const candidate = candidateOf(world);
    await runtimes.recordServed({ begins: true });
    await shadows.begin(candidate, LEASE_MS);
    await endCall(world, "c1");
    world.clock.advance(400);
    await runtimes.recordServed({ begins: false });
    world.clock.advance(600_000);
    await runtimes.recordServed({ begins: true });
    const position = (await shadows.hold(candidate, LEASE_MS))!;

    expect(await shadows.skip(candidate, position, 500)).toBe(0);
    world.clock.advance(200);
    await runtimes.recordServed({ begins: false });
    expect(await shadows.skip(candidate, position, 500)).toBe(1);
  });
}
