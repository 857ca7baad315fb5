import { expect, test } from "vitest";
import { LeaseLost } from "@patchbay/engine/ports/store/run-store";
import { event, openWorld, takeOver, type MakePlace } from "./world.ts";

const LEASE_MS = 15_000;
const claim = { owner: "replica-b", leaseMs: LEASE_MS, limit: 10 };

export function claimContract(place: MakePlace): void {
  test("a run is claimed again after its lease has ended, not before", async () => {
    await using world = await openWorld(place);
    const run = await world.start();

    world.clock.advance(LEASE_MS - 1);
    expect(await takeOver(world.store, claim)).toEqual([]);
    world.clock.advance(1);
    const claimed = await takeOver(world.store, claim);

    expect(claimed).toEqual([{ ...run, fence: 2, crashes: 1 }]);
    expect(await takeOver(world.store, { ...claim, owner: "replica-c" })).toEqual([]);
  });

  test("a run that must wait is queued and claimed in order within its organisation", async () => {
    await using world = await openWorld(place);
    const { accounts, runs } = world.store;
    await accounts.createOrg({ orgId: "org_2", name: "Other", tier: "starter" });
    await accounts.createAgent({ agentId: "agt_2", orgId: "org_2", name: "Other", instructions: "" });
    const waiting = [];
    for (let i = 0; i < 3; i++) {
      world.clock.advance(1);
      waiting.push(await world.start({ mustWait: true }));
    }
    const other = await world.start({ orgId: "org_2", agentId: "agt_2", mustWait: true });
    await world.start();

    expect(waiting.map(({ status, fence }) => [status, fence])).toEqual(waiting.map(() => ["queued", 0]));
    expect((await runs.waiting()).toSorted()).toEqual(["org_1", "org_2"]);
    const claimed = await runs.claim({ ...claim, orgId: "org_1", limit: 2 });
    expect(claimed.map(({ runId }) => runId)).toEqual(waiting.slice(0, 2).map(({ runId }) => runId));
    expect((await runs.claim({ ...claim, orgId: "org_2" })).map(({ runId }) => runId)).toEqual([other.runId]);
    expect(await runs.waiting()).toEqual(["org_1"]);
  });

  test("four runs can wait behind a queued run", async () => {
    await using world = await openWorld(place);
    const { threadId } = await world.start({ mustWait: true });

    for (let i = 0; i < 4; i++) expect((await world.start({ threadId })).status).toBe("queued");

    expect(await world.store.runs.start(world.newRun({ threadId }))).toEqual({ kind: "busy" });
  });

  test("a lease is renewed only for its owner", async () => {
    await using world = await openWorld(place);
    const [mine, lost] = [await world.start(), await world.start()];
    await world.store.runs.release("replica-a", [lost.runId]);
    await world.store.runs.claim({ ...claim, runId: lost.runId });

    const held = await world.store.runs.renew("replica-a", [mine.runId, lost.runId, "run_none"], LEASE_MS);
    world.clock.advance(LEASE_MS - 1);

    expect(held).toEqual([{ runId: mine.runId, cancelRequested: false }]);
    expect(await world.store.runs.claim(claim)).toEqual([]);
    expect(await world.store.runs.renew("replica-a", [], LEASE_MS)).toEqual([]);
  });

  test("renewing a lease returns a request to cancel the run", async () => {
    await using world = await openWorld(place);
    const { runId, agentId } = await world.start();
    await world.store.runs.requestCancel(agentId, runId);

    const held = await world.store.runs.renew("replica-a", [runId], LEASE_MS);

    expect(held).toEqual([{ runId, cancelRequested: true }]);
  });

  test("released runs can be claimed immediately", async () => {
    await using world = await openWorld(place);
    const [first, second] = [await world.start(), await world.start()];

    await world.store.runs.release("replica-a", [first.runId]);
    const afterRelease = await world.store.runs.claim(claim);
    await world.store.runs.releaseAll();
    const afterAll = await takeOver(world.store, { ...claim, owner: "replica-c" });

    expect(afterRelease.map(({ runId }) => runId)).toEqual([first.runId]);
    expect(afterAll.map(({ runId }) => runId).toSorted()).toEqual([first.runId, second.runId].toSorted());
    expect(await world.store.runs.renew("replica-a", [first.runId], LEASE_MS)).toEqual([]);
  });

  test("another owner's lease cannot be released", async () => {
    await using world = await openWorld(place);
    const run = await world.start();

    await world.store.runs.release("replica-b", [run.runId]);

    expect(await world.store.runs.claim(claim)).toEqual([]);
  });

  test("a release with the fence of an earlier lease changes nothing", async () => {
    await using world = await openWorld(place);
    const { runId, fence } = await world.start();
    await world.store.runs.release("replica-a", [runId], { fence });
    const [again] = await world.store.runs.claim({ ...claim, owner: "replica-a" });

    await world.store.runs.release("replica-a", [runId], { fence });

    expect(await world.store.runs.renew("replica-a", [runId], LEASE_MS)).toHaveLength(1);
    await world.store.runs.release("replica-a", [runId], { fence: again!.fence });
    expect(await world.store.runs.claim(claim)).toMatchObject([{ runId }]);
  });

  test("queued runs of a thread are claimed one at a time, oldest first", async () => {
    await using world = await openWorld(place);
    const first = await world.start();
    const { threadId } = first;
    const second = await world.start({ threadId });
    const third = await world.start({ threadId });
    expect(await world.store.runs.claim({ ...claim, threadId })).toEqual([]);
    expect(await world.store.runs.claim({ ...claim, runId: third.runId })).toEqual([]);

    await world.finish(first);
    const next = await world.store.runs.claim({ ...claim, threadId });

    expect(next).toMatchObject([{ runId: second.runId, status: "running", fence: 1, startedAt: world.clock.now() }]);
    expect(await world.store.runs.claim({ ...claim, runId: third.runId })).toEqual([]);
    for (const run of next) await world.finish(run);
    expect(await world.store.runs.claim(claim)).toMatchObject([{ runId: third.runId }]);
  });

  test("a new run waits behind the queued runs of its thread", async () => {
    await using world = await openWorld(place);
    const first = await world.start();
    await world.start({ threadId: first.threadId });
    await world.finish(first);

    expect(await world.start({ threadId: first.threadId })).toMatchObject({ status: "queued" });
  });

  test("two replicas that claim at the same time never get the same run", async () => {
    await using world = await openWorld(place);
    const other = await world.another();
    const storeOf = (i: number) => (i % 2 === 0 ? world.store : other);
    await Promise.all(Array.from({ length: 40 }, () => world.start()));
    world.clock.advance(LEASE_MS);
    await Promise.all([0, 1].map((i) => storeOf(i).runs.endLeases({ owner: `replica-${i}`, working: [] })));

    const claimed = await Promise.all(
      Array.from({ length: 16 }, (_, i) => storeOf(i).runs.claim({ ...claim, owner: `replica-${i % 2}`, limit: 3 })),
    );

    const ids = claimed.flatMap((runs) => runs.map(({ runId }) => runId));
    expect(ids).toHaveLength(40);
    expect(new Set(ids).size).toBe(40);
  });

  test("a queued run past its deadline can be ended though its thread is busy", async () => {
    await using world = await openWorld(place);
    const first = await world.start();
    const queued = await world.start({ threadId: first.threadId, timeoutMs: 1000 });
    expect(await world.store.runs.claimExpired(claim)).toEqual([]);

    world.clock.advance(1000);
    const [expired] = await world.store.runs.claimExpired(claim);

    expect(expired).toMatchObject({ runId: queued.runId, status: "running", fence: 1 });
    expect(expired?.startedAt).toBeUndefined();
    if (expired) await world.finish(expired);
    await world.finish(first);
  });

  test("a cancel request is stored, returns the status and lets a queued run be ended immediately", async () => {
    await using world = await openWorld(place);
    const { runs } = world.store;
    const first = await world.start();
    const queued = await world.start({ threadId: first.threadId });

    expect(await runs.requestCancel(world.agentId, queued.runId)).toBe("queued");
    expect(await runs.requestCancel(world.agentId, first.runId)).toBe("running");
    expect(await runs.claimExpired(claim)).toMatchObject([{ runId: queued.runId, cancelRequested: true }]);
    await world.finish(first);

    expect(await runs.requestCancel(world.agentId, first.runId)).toBe("succeeded");
    expect(await runs.requestCancel(world.agentId, "run_none")).toBeUndefined();
  });

  test("a frozen owner cannot write after another replica has claimed its run", async () => {
    await using world = await openWorld(place);
    const frozen = await world.start();
    world.clock.advance(LEASE_MS);
    const other = await world.another();
    const [taken] = await takeOver(other, claim);
    if (taken) await other.runs.commit(taken, { events: [event(1)] });

    await expect(world.store.runs.commit(frozen, { events: [event(2)] })).rejects.toThrow(LeaseLost);

    expect(await world.store.runs.events(frozen.runId, 0, 10)).toEqual([event(1)]);
  });
}
