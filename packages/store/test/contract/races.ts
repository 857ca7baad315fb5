import { setTimeout as pause } from "node:timers/promises";
import { expect, test } from "vitest";
import { LeaseLost } from "@patchbay/engine/ports/store/run-store";
import type { RunRecord } from "@patchbay/engine/ports/records";
import type { Store } from "@patchbay/engine/ports/store/stores";
import { event, openWorld, sampleTurn, type MakePlace, type World } from "./world.ts";

const DAY_MS = 86_400_000;
const LEASE_MS = 15_000;

/** What only several connections can break: each test does at once what may meet in production. */
export function raceContract(place: MakePlace): void {
  test("of simultaneous starts on a thread one runs, four wait and the others are refused as busy", async () => {
    await using world = await openWorld(place);
    const stores = await threeStores(world);

    for (let round = 0; round < 20; round++) {
      const { threadId } = await idleThread(world);
      const started = await Promise.all(
        Array.from({ length: 7 }, (_, i) => stores[i % 3]!.runs.start(world.newRun({ threadId }))),
      );

      const kinds = started.map((one) => (one.kind === "started" ? one.run.status : one.kind));
      expect(kinds.toSorted(byText)).toEqual(["busy", "busy", "queued", "queued", "queued", "queued", "running"]);
    }
  });

  test("under concurrent starts, claims and ends a thread has one running run and loses none", async () => {
    await using world = await openWorld(place);
    const stores = await threeStores(world);
    const { threadId } = await idleThread(world);
    let [active, most, ended] = [0, 0, 0];

    async function work(store: Store, run: RunRecord): Promise<void> {
      active++;
      most = Math.max(most, active);
      await store.runs.commit(run, { events: [event(1)] });
      active--;
      await world.finish({ ...run, lastSeq: 1 });
      ended++;
      for (const next of await store.runs.claim({ owner: "replica-b", leaseMs: LEASE_MS, limit: 1, threadId }))
        await work(store, next);
    }
    async function ask(store: Store, count: number): Promise<void> {
      for (let asked = 0; asked < count;) {
        const started = await store.runs.start(world.newRun({ threadId }));
        if (started.kind === "started") asked++;
        if (started.kind === "started" && started.run.status === "running") await work(store, started.run);
        // A client that retried without a pause would keep the database busy for the others, until they give up.
        await pause(started.kind === "started" ? 1 : 5);
      }
    }
    await Promise.all(stores.flatMap((store) => [ask(store, 10), ask(store, 10)]));
    for (let left = await claimNext(world, threadId); left; left = await claimNext(world, threadId))
      await work(world.store, left);

    expect(most).toBe(1);
    expect(ended).toBe(60);
    expect(await world.store.runs.active(threadId)).toEqual([]);
  });

  test("replicas claim each of a thousand runs once and never more than their limit", async () => {
    await using world = await openWorld(place);
    const stores = await threeStores(world);
    for (let i = 0; i < 10; i++) await Promise.all(Array.from({ length: 100 }, () => world.start()));
    world.clock.advance(LEASE_MS);
    await Promise.all(stores.map((store, i) => store.runs.endLeases({ owner: `replica-${i}`, working: [] })));
    const claimed: string[] = [];

    async function claimAll(store: Store, owner: string): Promise<void> {
      for (;;) {
        const runs = await store.runs.claim({ owner, leaseMs: LEASE_MS, limit: 7 });
        expect(runs.length).toBeLessThanOrEqual(7);
        if (runs.length === 0) return;
        claimed.push(...runs.map(({ runId }) => runId));
        // Without a pause, one store keeps the lock of an SQLite file until all are claimed, and the others give up.
        await pause(1);
      }
    }
    await Promise.all(stores.flatMap((store, i) => [claimAll(store, `replica-${i}`), claimAll(store, `replica-${i}`)]));
    // Who finds only rows that others are claiming finds nothing, though those may be given back.
    await claimAll(world.store, "replica-9");

    expect(claimed).toHaveLength(1000);
    expect(new Set(claimed).size).toBe(1000);
  });

  test("a thread erased while its run reserves and spends leaves no reservation", async () => {
    await using world = await openWorld(place);
    const [first, second, third] = await threeStores(world);
    const { orgId, agentId } = world;
    await world.store.accounts.grant(orgId, 1_000_000);

    for (let round = 0; round < 40; round++) {
      const run = await world.start();
      await world.store.runs.reserve(orgId, run.runId, 0, 500);
      const turn = { turn: sampleTurn(0, { reservedMicros: 500, costMicros: 0 }), events: [event(1)] };
      await Promise.all([
        lenient(first!.runs.commit(run, turn).then(() => world.finish({ ...run, lastSeq: 1 }))),
        lenient(second!.runs.reserve(orgId, run.runId, 1, 300)),
        lenient(second!.runs.reserve(orgId, run.runId, 2, 300)),
        third!.threads.erase(agentId, run.threadId),
        third!.accounts.grant(orgId, 1),
      ]);
      expect(await world.store.runs.get(agentId, run.runId)).toBeUndefined();
    }

    expect(await world.store.accounts.balance(orgId)).toBe(1_000_040);
    const [sum] = await world.place.rows("select cast(sum(micros) as bigint) as micros from ledger");
    expect(sum?.["micros"]).toBe(1_000_040);
  });

  test("a run that starts while its thread is erased exists with the thread or not at all", async () => {
    await using world = await openWorld(place);
    const [first, second, third] = await threeStores(world);

    for (let round = 0; round < 40; round++) {
      const { threadId } = await idleThread(world);
      const [started, refused] = [world.newRun({ threadId, sessionId: "s1" }), world.newRun({ threadId })];
      const [answer] = await Promise.all([
        first!.runs.start(started),
        second!.threads.erase(world.agentId, threadId),
        third!.runs.refuse(refused, { code: "internal", event: event(1, "error"), result: undefined }),
      ]);

      expect(["started", "thread_gone"]).toContain(answer.kind);
      expect(await world.store.threads.exists(world.agentId, threadId)).toBe(false);
      for (const { runId } of [started, refused])
        expect(await world.store.runs.get(world.agentId, runId)).toBeUndefined();
    }
  });

  test("an Idempotency-Key is free for a second query when the first stored nothing", async () => {
    await using world = await openWorld(place);
    const [first, second, third] = await threeStores(world);

    for (let round = 0; round < 40; round++) {
      const idempotency = { key: `k${round}`, bodyHash: "b" };
      const answers = await Promise.all([
        first!.runs.start(world.newRun({ idempotency, threadId: "thr_erased", newThread: false })),
        second!.runs.start(world.newRun({ idempotency })),
        third!.runs.start(world.newRun({ idempotency })),
      ]);

      const kinds = answers.map(({ kind }) => kind);
      expect(kinds.filter((kind) => kind === "started")).toHaveLength(1);
      expect(kinds.slice(1).toSorted(byText)).toEqual(["joined", "started"]);
    }
  });

  test("while a run ends and releases its key, a second query joins it or starts one run", async () => {
    await using world = await openWorld(place);
    const [first, second, third] = await threeStores(world);
    const idempotency = { key: "k", bodyHash: "b" };

    for (let round = 0; round < 40; round++) {
      const run = await world.start({ idempotency });
      const ending = { status: "failed", result: undefined, history: [], releaseIdempotencyKey: true } as const;
      const [, ...answers] = await Promise.all([
        first!.runs.commit(run, { events: [event(1, "error")], finish: { ...ending, history: [] } }),
        second!.runs.start(world.newRun({ idempotency })),
        third!.runs.start(world.newRun({ idempotency })),
      ]);

      const started = answers.flatMap((answer) => (answer.kind === "started" ? [answer.run] : []));
      expect(started.length).toBeLessThanOrEqual(1);
      for (const next of started)
        await world.store.runs.commit(next, { events: [event(1, "error")], finish: { ...ending, history: [] } });
    }
  });

  test("concurrent sweeps, erasures and reads delete each run once and do not fail", async () => {
    await using world = await openWorld(place);
    const [first, second, third] = await threeStores(world);
    const threads = await Promise.all(Array.from({ length: 30 }, () => idleThread(world)));
    for (let more = 0; more < 9; more++)
      await Promise.all(threads.map(async ({ threadId }) => world.finish(await world.start({ threadId }))));
    world.clock.advance(DAY_MS + 1);
    const fresh = await world.start();

    const [one, two] = await Promise.all([
      first!.sweep({ days: 1 }),
      second!.sweep({ days: 1 }),
      ...threads.slice(0, 10).map(({ threadId }) => third!.threads.erase(world.agentId, threadId)),
      ...threads.slice(20).map(({ threadId }) => third!.threads.get(world.agentId, threadId, { limit: 100 })),
      third!.runs.renew("replica-a", [fresh.runId], LEASE_MS),
    ]);

    expect(one + two).toBeLessThanOrEqual(300);
    await world.store.sweep({ days: 1 });
    const { items } = await world.store.threads.list(world.agentId, { limit: 100 });
    expect(items).toMatchObject([{ threadId: fresh.threadId }]);
  });
}

async function threeStores(world: World): Promise<Store[]> {
  return [world.store, await world.another(), await world.another()];
}

/** A thread whose only run has ended. */
async function idleThread(world: World): Promise<RunRecord> {
  const run = await world.start();
  await world.finish(run);
  return run;
}

async function claimNext({ store }: World, threadId: string): Promise<RunRecord | undefined> {
  const [next] = await store.runs.claim({ owner: "replica-b", leaseMs: LEASE_MS, limit: 1, threadId });
  return next;
}

/** A run whose thread was erased fails; any other failure is a bug. */
async function lenient(work: Promise<unknown>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (!(error instanceof LeaseLost)) throw error;
  }
}

const byText = (a: string, b: string): number => (a < b ? -1 : 1);
