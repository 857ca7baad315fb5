import { expect, test } from "vitest";
import { no, requestOf, waiting, yes } from "./asking-runs.ts";
import { openWorld, sampleCall, sampleTurn, type MakePlace } from "./world.ts";

const HOUR_MS = 3_600_000;

export function approvalContract(place: MakePlace): void {
  test("a request is stored with its run, and a decision with who made it", async () => {
    await using world = await openWorld(place);
    const run = await waiting(world, ["a"]);
    const { approvals } = world.store;
    const asked = { ...requestOf(world, "a"), orgId: "org_1", agentId: "agt_1", runId: run.runId };
    const pending = { ...asked, threadId: run.threadId, role: "clerk", status: "pending", requestedBy: "key_1" };

    expect(await approvals.get(world.agentId, "apr_a")).toMatchObject(pending);
    expect(await approvals.get("agt_2", "apr_a")).toBeUndefined();
    world.clock.advance(5);
    const decided = await approvals.decide(world.agentId, "apr_a", { ...yes, edited: { amount: 1 } });

    expect(decided).toMatchObject({
      decided: true,
      approval: { status: "approved", decidedBy: "key_2", decidedAs: "manager", decidedAt: world.clock.now() },
    });
    expect(decided?.approval.edited).toEqual({ amount: 1 });
    expect((await world.store.audit.list({ runId: run.runId, action: "approval", limit: 9 })).items).toMatchObject([
      {
        action: "approval.approved",
        keyId: "key_2",
        callId: "call_a",
        detail: { approvalId: "apr_a", edited: ["amount"] },
      },
    ]);
    expect(await approvals.decide(world.agentId, "apr_none", yes)).toBeUndefined();
  });

  test("of twenty decisions at the same time one is stored", async () => {
    await using world = await openWorld(place);
    await waiting(world, ["a"]);
    const stores = [world.store, await world.another()];

    const all = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        stores[i % 2]!.approvals.decide(world.agentId, "apr_a", { ...(i % 3 === 0 ? yes : no), by: `key_${i}` }),
      ),
    );

    const [won] = all.filter((one) => one?.decided);
    expect(all.filter((one) => one?.decided)).toHaveLength(1);
    expect(all.map((one) => one?.approval)).toEqual(all.map(() => won?.approval));
    expect((await world.store.audit.list({ action: "approval", limit: 9 })).items).toHaveLength(1);
  });

  test("of an expiry, a cancellation and a decision at the same moment one is stored", async () => {
    await using world = await openWorld(place);
    const other = await world.another();
    for (let round = 0; round < 10; round++) {
      const name = `round${round}`;
      const run = await waiting(world, [name]);
      const [decided, closed] = await Promise.all([
        world.store.approvals.decide(world.agentId, `apr_${name}`, yes),
        other.approvals.close(run.runId, { cancel: true }),
      ]);

      expect([decided?.approval.status, closed[0]?.status]).toEqual(
        decided?.decided ? ["approved", "approved"] : ["cancelled", "cancelled"],
      );
    }
    const run = await waiting(world, ["a"]);
    world.clock.advance(HOUR_MS);
    const [late, expired] = await Promise.all([
      world.store.approvals.decide(world.agentId, "apr_a", yes),
      other.approvals.close(run.runId),
    ]);
    expect(late).toMatchObject({ decided: false, approval: { status: "expired" } });
    expect(expired).toMatchObject([{ status: "expired" }]);
  });

  test("an approval can be decided up to its expiry, and not at it", async () => {
    await using world = await openWorld(place);
    await waiting(world, ["a", "b"]);
    world.clock.advance(HOUR_MS - 1);
    expect(await world.store.approvals.decide(world.agentId, "apr_a", yes)).toMatchObject({ decided: true });
    world.clock.advance(1);

    expect(await world.store.approvals.decide(world.agentId, "apr_b", yes)).toMatchObject({ decided: false });
    expect(await world.store.approvals.get(world.agentId, "apr_b")).toMatchObject({ status: "expired" });
  });

  test("approvals are listed newest first, by status, run and roles, in pages", async () => {
    await using world = await openWorld(place);
    const { approvals } = world.store;
    const first = await waiting(world, ["a", "b"]);
    world.clock.advance(1);
    await waiting(world, ["c"]);
    await approvals.decide(world.agentId, "apr_a", yes);
    const list = async (filter: Parameters<typeof approvals.list>[0]) =>
      (await approvals.list(filter)).items.map(({ approvalId }) => approvalId);
    const ofAgent = { agentId: world.agentId, limit: 10 };

    expect(await list(ofAgent)).toEqual(["apr_c", "apr_b", "apr_a"]);
    expect(await list({ orgId: "org_1", limit: 10 })).toHaveLength(3);
    expect(await list({ ...ofAgent, agentId: "agt_2" })).toEqual([]);
    expect(await list({ ...ofAgent, runId: first.runId })).toEqual(["apr_b", "apr_a"]);
    expect(await list({ orgId: "org_1", approvalId: "apr_a", limit: 10 })).toEqual(["apr_a"]);
    expect(await list({ orgId: "org_2", approvalId: "apr_a", limit: 10 })).toEqual([]);
    expect(await list({ ...ofAgent, status: "approved" })).toEqual(["apr_a"]);
    expect(await list({ ...ofAgent, visibleTo: { roles: ["guest"] } })).toEqual([]);
    const page = await approvals.list({ ...ofAgent, status: "pending", visibleTo: { roles: ["clerk"] }, limit: 1 });
    expect(page.items).toMatchObject([{ approvalId: "apr_c" }]);
    expect(await list({ ...ofAgent, status: "pending", limit: 1, cursor: page.nextCursor! })).toEqual(["apr_b"]);
    world.clock.advance(HOUR_MS);
    expect(await list({ ...ofAgent, status: "pending" })).toEqual([]);
    expect(await list({ ...ofAgent, status: "expired" })).toEqual(["apr_c", "apr_b"]);
    await expect(approvals.list({ ...ofAgent, cursor: "x" })).rejects.toThrow(/cursor/);
  });

  test("erasing a thread erases its approvals", async () => {
    await using world = await openWorld(place);
    const { threadId } = await waiting(world, ["a"]);

    await world.store.threads.erase(world.agentId, threadId);

    expect(await world.place.rows("select id from approvals")).toEqual([]);
  });

  test("the result that asked for an approval does not count for the next attempt", async () => {
    await using world = await openWorld(place);
    const { calls, runs } = world.store;
    const run = await world.start();
    const call = sampleCall("call_a");
    await runs.commit(run, { turn: sampleTurn(0), calls: [call] });
    const address = { agentId: world.agentId, instanceId: "rt_1", callId: "call_a", attempt: 1 };
    const asks = { ok: false as const, code: "approval_required" as const, message: "Over 100." };
    await calls.arrive(address, asks);
    await runs.commit(run, {
      calls: [{ ...call, approval: { approvalId: "apr_a" } as never }],
      approvals: { requested: [requestOf(world, "a")] },
    });

    await runs.commit(run, { wait: { remainingMs: 1000 } });
    expect(await calls.arrive(address, asks)).toEqual({ over: true });
    await world.store.approvals.decide(world.agentId, "apr_a", { ...yes, edited: { amount: 2 } });
    await runs.wake();
    const [again] = await runs.claim({ owner: "replica-b", leaseMs: 15_000, limit: 1 });
    await runs.commit(again!, { calls: [{ ...call, attempt: 2, approval: { approvalId: "apr_a" } as never }] });
    expect(await calls.arrivals(["call_a"])).toEqual([]);
    const accepted = await calls.accept({ callId: "call_a", attempt: 2, fence: 2, replicaId: "replica-b" });

    expect(accepted?.approval).toMatchObject({
      approvalId: "apr_a",
      argumentsHash: "hash_a",
      decidedAs: "manager",
      edited: { amount: 2 },
    });
    await calls.arrive({ ...address, attempt: 2 }, { ok: true, value: 1 });
    expect(await calls.arrivals(["call_a"])).toEqual([{ callId: "call_a", outcome: { ok: true, value: 1 } }]);
    expect((await world.store.audit.list({ runId: run.runId, action: "call.late", limit: 9 })).items).toEqual([]);
  });
}
