import { expect, test } from "vitest";
import { LeaseLost } from "@patchbay/engine/ports/store/run-store";
import { openWorld, sampleTurn, type MakePlace, type World } from "./world.ts";

export function creditContract(place: MakePlace): void {
  test("a reservation takes from the balance once per turn, and only what the balance has", async () => {
    await using world = await openWorld(place);
    const { accounts, runs } = world.store;
    expect(await accounts.grant(world.orgId, 1000)).toBe(1000);
    const { runId } = await world.start();

    expect(await runs.reserve(world.orgId, runId, 0, 600)).toBe(600);
    expect(await runs.reserve(world.orgId, runId, 0, 600)).toBe(600);
    expect(await runs.reserve(world.orgId, runId, 0, 300)).toBe(600);
    expect(await runs.reserve(world.orgId, runId, 1, 600)).toBe(undefined);

    expect(await accounts.balance(world.orgId)).toBe(400);
    await expectLedgerToMatch(world);
  });

  test("a reservation is raised when the turn may cost more, up to the balance", async () => {
    await using world = await openWorld(place);
    const { accounts, runs } = world.store;
    await accounts.grant(world.orgId, 1000);
    const run = await world.start();
    await runs.reserve(world.orgId, run.runId, 0, 600);

    expect(await runs.reserve(world.orgId, run.runId, 0, 1001)).toBe(undefined);
    expect(await accounts.balance(world.orgId)).toBe(400);
    expect(await runs.reserve(world.orgId, run.runId, 0, 900)).toBe(900);
    expect(await accounts.balance(world.orgId)).toBe(100);
    await expectLedgerToMatch(world);

    await world.finish(run);
    expect(await accounts.balance(world.orgId)).toBe(1000);
    await expectLedgerToMatch(world);
  });

  test("the reservation of a settled turn is not raised", async () => {
    await using world = await openWorld(place);
    const { accounts, runs } = world.store;
    await accounts.grant(world.orgId, 1000);
    const run = await world.start();
    await runs.reserve(world.orgId, run.runId, 0, 600);
    await runs.commit(run, { turn: sampleTurn(0, { reservedMicros: 600, costMicros: 100 }) });

    expect(await runs.reserve(world.orgId, run.runId, 0, 800)).toBe(600);

    expect(await accounts.balance(world.orgId)).toBe(900);
    await expectLedgerToMatch(world);
  });

  test("a run starts and continues with a reservation for its next turn if the balance allows it", async () => {
    await using world = await openWorld(place);
    const { accounts, runs } = world.store;
    await accounts.grant(world.orgId, 1000);

    const rich = await runs.start(world.newRun({ reserveMicros: 600 }));
    const poor = await runs.start(world.newRun({ reserveMicros: 600 }));

    expect([rich, poor]).toMatchObject([{ reservedMicros: 600 }, { kind: "started", reservedMicros: 0 }]);
    if (rich.kind !== "started") throw new Error(rich.kind);
    const turn = sampleTurn(0, { reservedMicros: 600, costMicros: 100 });
    expect(await runs.commit(rich.run, { turn, reserve: { step: 1, micros: 400 } })).toEqual({ reservedMicros: 400 });
    expect(await runs.commit(rich.run, { reserve: { step: 2, micros: 501 } })).toEqual({ reservedMicros: 0 });
    expect(await accounts.balance(world.orgId)).toBe(500);
    await expectLedgerToMatch(world);
  });

  test("storing a turn returns the unused part of its reservation", async () => {
    await using world = await openWorld(place);
    const { accounts, runs } = world.store;
    await accounts.grant(world.orgId, 1000);
    const run = await world.start();
    await runs.reserve(world.orgId, run.runId, 0, 600);

    await runs.commit(run, { turn: sampleTurn(0, { reservedMicros: 600, costMicros: 150 }) });

    expect(await accounts.balance(world.orgId)).toBe(850);
    await expectLedgerToMatch(world);
  });

  test("a turn above its reservation is charged up to the balance", async () => {
    await using world = await openWorld(place);
    const { accounts, runs } = world.store;
    await accounts.grant(world.orgId, 1000);
    const run = await world.start();
    await runs.reserve(world.orgId, run.runId, 0, 600);

    await runs.commit(run, { turn: sampleTurn(0, { reservedMicros: 600, costMicros: 5000 }) });

    expect(await accounts.balance(world.orgId)).toBe(0);
    await expectLedgerToMatch(world);
  });

  test("a run's end releases open reservations and prevents new ones", async () => {
    await using world = await openWorld(place);
    const { accounts, runs } = world.store;
    await accounts.grant(world.orgId, 1000);
    const run = await world.start();
    await runs.reserve(world.orgId, run.runId, 0, 300);
    await runs.commit(run, { turn: sampleTurn(0, { reservedMicros: 300, costMicros: 100 }) });
    await runs.reserve(world.orgId, run.runId, 1, 300);

    await world.finish(run);

    expect(await accounts.balance(world.orgId)).toBe(900);
    await expect(runs.reserve(world.orgId, run.runId, 2, 10)).rejects.toThrow(LeaseLost);
    await expectLedgerToMatch(world);
  });

  test("erasing a thread releases the open reservations of its runs", async () => {
    await using world = await openWorld(place);
    await world.store.accounts.grant(world.orgId, 1000);
    const run = await world.start();
    await world.store.runs.reserve(world.orgId, run.runId, 0, 300);

    await world.store.threads.erase(world.agentId, run.threadId);

    expect(await world.store.accounts.balance(world.orgId)).toBe(1000);
    await expectLedgerToMatch(world);
  });

  test("200 runs that reserve at the same time spend exactly the balance", async () => {
    await using world = await openWorld(place);
    const other = await world.another();
    const storeOf = (i: number) => (i % 2 === 0 ? world.store : other);
    await world.store.accounts.grant(world.orgId, 10 * 70 + 5);
    const runs = await Promise.all(Array.from({ length: 200 }, () => world.start()));

    const held = await Promise.all(runs.map(({ runId }, i) => storeOf(i).runs.reserve(world.orgId, runId, 0, 70)));

    expect(held.filter(Boolean)).toHaveLength(10);
    expect(await world.store.accounts.balance(world.orgId)).toBe(5);
    await expectLedgerToMatch(world);
    await Promise.all(runs.map((run) => world.finish(run)));
    expect(await world.store.accounts.balance(world.orgId)).toBe(705);
    await expectLedgerToMatch(world);
  });

  test("a turn without a reservation is counted in usage and not charged", async () => {
    await using world = await openWorld(place);
    const run = await world.start();

    await world.store.runs.commit(run, { turn: sampleTurn(0, { costMicros: 9 }) });
    await world.finish(run);

    expect(await world.place.rows("select * from ledger")).toEqual([]);
    expect(await world.place.rows("select run_id, step, org_id, cost_micros, input_tokens from usage")).toEqual([
      { run_id: run.runId, step: 0, org_id: world.orgId, cost_micros: 9, input_tokens: 100 },
    ]);
  });

  test("amounts must be whole micro-USD", async () => {
    await using world = await openWorld(place);

    await expect(async () => world.store.accounts.grant(world.orgId, 0.5)).rejects.toThrow(TypeError);
    await expect(world.store.accounts.grant("org_none", 5)).rejects.toThrow("does not exist");
  });
}

async function expectLedgerToMatch(world: World): Promise<void> {
  const [sum] = await world.place.rows("select sum(micros) as micros from ledger");
  expect(sum?.["micros"]).toBe(await world.store.accounts.balance(world.orgId));
}
