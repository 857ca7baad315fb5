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
    expect(await world.store.runs.findByIdempotencyKey(world.newRun(), "k")).toEqual({
      runId: first.runId,
      bodyHash: "b",
    });
  });

  test("a hundred simultaneous queries with one Idempotency-Key are one run", async () => {
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

  test("a query that joins the run of its key finds that run immediately", async () => {
    await using world = await openWorld(place);
    const { runs } = world.store;
    const findJoined = async () => {
      const started = await runs.start(world.newRun({ idempotency }));
      return started.kind === "joined" ? runs.facts(world.agentId, started.runId) : started;
    };

    const answers = await Promise.all([findJoined(), findJoined(), findJoined()]);

    expect(answers.filter((answer) => answer === undefined)).toEqual([]);
  });

  test("a key counts for 24 hours", async () => {
    await using world = await openWorld(place);
    const first = await world.start({ idempotency });
    await world.finish(first);

    world.clock.advance(DAY_MS - 1);
    expect(await world.store.runs.start(world.newRun({ idempotency }))).toMatchObject({ kind: "joined" });
    world.clock.advance(1);
    expect(await world.store.runs.findByIdempotencyKey(world.newRun(), "k")).toBeUndefined();
    const next = await world.start({ idempotency });

    expect(await world.store.runs.findByIdempotencyKey(world.newRun(), "k")).toMatchObject({ runId: next.runId });
  });

  test("a key belongs to one agent", async () => {
    await using world = await openWorld(place);
    await world.store.accounts.createAgent({ agentId: "agt_2", orgId: world.orgId, name: "Other", instructions: "" });
    await world.start({ idempotency });

    expect(await world.start({ agentId: "agt_2", idempotency })).toMatchObject({ agentId: "agt_2" });
  });

  test("a key belongs to the credential that used it and to those that replace it by rotation", async () => {
    await using world = await openWorld(place);
    const { accounts, runs } = world.store;
    const { agentId } = world;
    const secret = (name: string) => ({ credentialId: name, hash: `hash of ${name}`, hint: name });
    for (const name of ["key_1", "key_other"])
      await accounts.createCredential({ ...secret(name), kind: "api", agentId });
    const first = await world.start({ idempotency });
    const used = { key: "after", bodyHash: "b" };

    await accounts.rotateCredential("api", "key_1", secret("key_2"), 60_000);
    await accounts.rotateCredential("api", "key_2", secret("key_3"), 60_000);
    const third = await world.start({ keyId: "key_3", idempotency: used });
    const other = await world.start({ keyId: "key_other", idempotency: { key: "k", bodyHash: "of another body" } });

    for (const keyId of ["key_1", "key_2", "key_3"]) {
      expect(await runs.findByIdempotencyKey({ agentId, keyId }, "k")).toMatchObject({ runId: first.runId });
      expect(await runs.findByIdempotencyKey({ agentId, keyId }, "after")).toMatchObject({ runId: third.runId });
      expect(await runs.start(world.newRun({ keyId, idempotency }))).toMatchObject({ runId: first.runId });
    }
    expect(await runs.findByIdempotencyKey({ agentId, keyId: "key_other" }, "k")).toMatchObject({ runId: other.runId });
    expect(await runs.findByIdempotencyKey({ agentId, keyId: "mem_1" }, "k")).toBeUndefined();
  });

  test("a run can release its key when it ends", async () => {
    await using world = await openWorld(place);
    const run = await world.start({ idempotency });
    const { finish } = ending(run);

    await world.finish(run, finish && { finish: { ...finish, releaseIdempotencyKey: true } });

    expect(await world.store.runs.findByIdempotencyKey(world.newRun(), "k")).toBeUndefined();
    expect(await world.start({ idempotency })).toMatchObject({ status: "running" });
  });
}
