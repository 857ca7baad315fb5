import { expect, test } from "vitest";
import type { CredentialKind } from "@patchbay/engine/ports/store/stores";
import { asking, no, waiting, yes } from "./asking-runs.ts";
import { openWorld, type MakePlace } from "./world.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const claim = { owner: "replica-b", leaseMs: 15_000, limit: 10 };

export function waitingRunContract(place: MakePlace): void {
  test("a waiting run is claimed when all of its approvals are decided, with the time that it had left", async () => {
    await using world = await openWorld(place);
    const { runs, approvals } = world.store;
    const run = await waiting(world, ["a", "b"]);

    world.clock.advance(HOUR_MS / 2);
    expect(await approvals.decide(world.agentId, "apr_a", yes)).toMatchObject({ decided: true });
    expect([await runs.wake(), await runs.waiting(), await runs.claim(claim)]).toEqual([[], [], []]);
    await approvals.decide(world.agentId, "apr_b", no);

    expect(await runs.facts(world.agentId, run.runId)).toMatchObject({ status: "waiting" });
    expect([await runs.wake(), await runs.waiting()]).toEqual([["org_1"], ["org_1"]]);
    const [claimed] = await runs.claim(claim);
    expect(claimed).toMatchObject({ runId: run.runId, status: "running", fence: 2, crashes: 0 });
    expect(claimed!.deadlineAt - world.clock.now()).toBe(100_000);
    expect(await runs.wake()).toEqual([]);
    const { calls } = await runs.checkpoint(run.runId);
    expect(calls.map((call) => call.approval?.status)).toEqual(["approved", "rejected"]);
  });

  test("a waiting run is claimed when the first of its approvals expires", async () => {
    await using world = await openWorld(place);
    const { runs, approvals } = world.store;
    const run = await waiting(world, ["a", "b"], { b: 2 * HOUR_MS });

    world.clock.advance(HOUR_MS - 1);
    expect(await runs.wake()).toEqual([]);
    world.clock.advance(1);
    expect(await runs.wake()).toEqual(["org_1"]);
    const [claimed] = await runs.claim(claim);

    expect((await approvals.close(run.runId)).map(({ status }) => status)).toEqual(["expired", "pending"]);
    await runs.commit(claimed!, { wait: { remainingMs: 50 } });
    expect(await runs.wake()).toEqual([]);
    world.clock.advance(HOUR_MS);
    expect(await runs.wake()).toEqual(["org_1"]);
  });

  test("a decision that is stored while the run begins to wait is not missed", async () => {
    await using world = await openWorld(place);
    const other = await world.another();
    for (let round = 0; round < 10; round++) {
      const name = `round${round}`;
      const run = await asking(world, [name]);
      await Promise.all([
        world.store.runs.commit(run, { wait: { remainingMs: 1000 } }),
        other.approvals.decide(world.agentId, `apr_${name}`, yes),
      ]);

      expect(await world.store.runs.wake()).toEqual(["org_1"]);
    }
  });

  test("two replicas never wake or claim the same waiting run", async () => {
    await using world = await openWorld(place);
    const other = await world.another();
    const names = Array.from({ length: 20 }, (_, i) => `n${i}`);
    for (const name of names) await waiting(world, [name]);
    world.clock.advance(HOUR_MS);

    await Promise.all([world.store.runs.wake(), other.runs.wake()]);
    const claimed = await Promise.all(
      [world.store, other].map(({ runs }, i) => runs.claim({ ...claim, owner: `replica-${i}`, limit: 20 })),
    );

    const ids = claimed.flat().map(({ runId }) => runId);
    expect([ids.length, new Set(ids).size]).toEqual([20, 20]);
  });

  test("a waiting run has no lease, blocks its thread and refuses another run of it at once", async () => {
    await using world = await openWorld(place);
    const { runs } = world.store;
    const first = await asking(world, ["a"]);
    const { threadId } = first;
    const queued = await world.start({ threadId });
    await runs.commit(first, { wait: { remainingMs: 1000 } });

    await runs.endLeases({ owner: "replica-b", working: [] });
    expect(await runs.renew("replica-a", [first.runId], 1000)).toEqual([]);
    expect(await runs.claim(claim)).toEqual([]);
    expect(await runs.start(world.newRun({ threadId }))).toEqual({ kind: "busy", waits: true });
    expect(await runs.active(threadId)).toEqual([first.runId, queued.runId]);
    expect(await runs.heads([first.runId])).toEqual([
      { runId: first.runId, lastSeq: 1, waitsFor: "approval", ended: false },
    ]);
  });

  test("a cancelled waiting run continues at once, and nothing can be decided any more", async () => {
    await using world = await openWorld(place);
    const { runs, approvals } = world.store;
    const run = await waiting(world, ["a"]);

    expect(await runs.requestCancel(world.agentId, run.runId)).toBe("running");
    expect(await approvals.decide(world.agentId, "apr_a", yes)).toMatchObject({
      decided: false,
      approval: { status: "cancelled" },
    });
    expect(await runs.claimExpired(claim)).toMatchObject([{ runId: run.runId, cancelRequested: true }]);
    expect(await runs.start(world.newRun({ threadId: run.threadId }))).toMatchObject({ run: { status: "queued" } });
  });

  test("a run whose key is revoked while it waits is due, and must not continue", async () => {
    await using world = await openWorld(place);
    const { accounts, runs } = world.store;
    const mayContinue = (keyId: string, ...heldBy: string[]) =>
      accounts.mayContinue({ agentId: "agt_1", keyId, heldBy: heldBy.length > 0 ? heldBy : ["clerk"] });
    const key = (credentialId: string, kind: CredentialKind = "api") =>
      accounts.createCredential({
        credentialId,
        kind,
        agentId: world.agentId,
        hash: credentialId,
        hint: "x",
        roles: ["clerk"],
      });
    await key("key_1");
    await key("key_9");
    await waiting(world, ["a"]);

    await accounts.revokeCredential("api", "key_9");
    expect(await runs.wake()).toEqual([]);
    expect(await mayContinue("key_1")).toBe(true);
    expect(await mayContinue("key_1", "manager")).toBe(false);
    expect(await mayContinue("key_1", "guest", "clerk")).toBe(true);
    for (const [id, overlapMs] of [
      ["key_1b", 1000],
      ["key_1c", 0],
    ] as const) {
      world.clock.advance(1);
      await accounts.rotateCredential(
        "api",
        id === "key_1b" ? "key_1" : "key_1b",
        { credentialId: id, hash: id, hint: "x" },
        overlapMs,
      );
      expect([id, await mayContinue("key_1"), await mayContinue("key_1b")]).toEqual([id, true, true]);
    }
    world.clock.advance(1);
    await accounts.revokeCredential("api", "key_1c");

    expect(await runs.wake()).toEqual(["org_1"]);
    expect(await mayContinue("key_1")).toBe(false);
  });

  test("a run whose key is revoked before it waits, or as it begins to, is due", async () => {
    await using world = await openWorld(place);
    const { accounts, runs } = world.store;
    const other = await world.another();
    for (let round = 0; round < 10; round++) {
      const id = `key_${round}`;
      await accounts.createCredential({ credentialId: id, kind: "api", agentId: "agt_1", hash: id, hint: "x" });
      const run = await asking(world, [id], {}, id);
      const revoke = () => other.accounts.revokeCredential("api", id);
      if (round === 0) await revoke();
      await Promise.all([runs.commit(run, { wait: { remainingMs: 1000 } }), round > 0 && revoke()]);

      expect([id, await runs.wake()]).toEqual([id, ["org_1"]]);
    }
  });

  test("a removed member, and the keys and members of a deleted agent, must not continue a run", async () => {
    await using world = await openWorld(place);
    const { accounts, members, runs } = world.store;
    const mayContinue = (keyId: string) => accounts.mayContinue({ agentId: "agt_1", keyId, heldBy: ["clerk"] });
    for (const memberId of ["mem_1", "mem_2"])
      await members.create({
        memberId,
        orgId: "org_1",
        email: `${memberId}@example.com`,
        name: "",
        role: "owner",
        passwordHash: "x",
      });
    await accounts.createCredential({ credentialId: "key_1", kind: "api", agentId: "agt_1", hash: "h", hint: "x" });
    await waiting(world, ["a"], {}, "mem_1");
    await waiting(world, ["b"]);
    expect(await mayContinue("mem_1")).toBe(true);

    await members.remove("org_1", "mem_1");
    expect([await runs.wake(), await mayContinue("mem_1")]).toEqual([["org_1"], false]);
    await accounts.deleteAgent("agt_1");

    expect([await runs.wake(), await mayContinue("key_1"), await mayContinue("mem_2")]).toEqual([
      ["org_1"],
      false,
      false,
    ]);
  });

  test("retention leaves a waiting run, its approval and its Idempotency-Key, which counts for 24 hours from its deadline", async () => {
    await using world = await openWorld(place);
    const { runs, approvals } = world.store;
    const idempotency = { key: "k", bodyHash: "b" };
    const run = await waiting(world, ["a"], { a: 100 * DAY_MS }, "key_1", { idempotency });
    const known = () => runs.findByIdempotencyKey(world.newRun(), "k");
    world.clock.advance(90 * DAY_MS);

    await world.store.sweep({ days: 1 });
    expect([(await known())?.runId, (await approvals.get(world.agentId, "apr_a"))?.status]).toEqual([
      run.runId,
      "pending",
    ]);
    await approvals.decide(world.agentId, "apr_a", yes);
    await runs.wake();
    const [claimed] = await runs.claim(claim);
    await world.finish(claimed!, { approvals: { reported: ["apr_a"] } });
    world.clock.advance(DAY_MS - 1);
    expect((await known())?.runId).toBe(run.runId);
    world.clock.advance(100_001);

    expect(await known()).toBeUndefined();
    world.clock.advance(DAY_MS);
    await world.store.sweep({ days: 1 });
    expect(await approvals.get(world.agentId, "apr_a")).toBeUndefined();
  });
}
