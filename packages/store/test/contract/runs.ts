import { LIMITS } from "@patchbay/protocol";
import { expect, test } from "vitest";
import { LeaseLost } from "@patchbay/engine/ports/store/run-store";
import { ending, event, openWorld, sampleCall, sampleRequest, sampleTurn, type MakePlace, takeOver } from "./world.ts";

export function runContract(place: MakePlace): void {
  test("a run on a new thread starts immediately with a lease and a deadline by the database's clock", async () => {
    await using world = await openWorld(place);
    const asked = world.newRun({ subject: "u1", sessionId: "s1", manifestHash: "h1" });

    const started = await world.store.runs.start(asked);

    const createdAt = world.clock.now();
    const run = {
      runId: asked.runId,
      orgId: world.orgId,
      agentId: world.agentId,
      threadId: asked.threadId,
      sessionId: "s1",
      keyId: "key_1",
      subject: "u1",
      kind: "query",
      status: "running",
      fence: 1,
      manifestHash: "h1",
      request: asked.request,
      createdAt,
      startedAt: createdAt,
      deadlineAt: createdAt + 240_000,
      cancelRequested: false,
      claims: 0,
      crashes: 0,
      lastSeq: 0,
    };
    expect(started).toEqual({ kind: "started", run, reservedMicros: 0 });
    expect(await world.store.runs.get(world.agentId, asked.runId)).toEqual(run);
  });

  test("the role of a run is that of its request", async () => {
    await using world = await openWorld(place);

    const run = await world.start({ request: sampleRequest({ role: "manager" }) });

    expect(run.role).toBe("manager");
  });

  test("a run on a busy thread is queued, four deep, then refused without a trace", async () => {
    await using world = await openWorld(place);
    const { threadId } = await world.start();

    for (let i = 0; i < LIMITS.threadQueueDepth; i++) expect((await world.start({ threadId })).status).toBe("queued");
    const sixth = await world.store.runs.start(world.newRun({ threadId, idempotency: { key: "k", bodyHash: "b" } }));

    expect(sixth).toEqual({ kind: "busy" });
    expect(await world.store.runs.active(threadId)).toHaveLength(1 + LIMITS.threadQueueDepth);
    expect(await world.store.runs.findByIdempotencyKey(world.newRun(), "k")).toBeUndefined();
  });

  test("twenty simultaneous queries on one thread are ordered and limited", async () => {
    await using world = await openWorld(place);
    const first = await world.start();
    await world.finish(first);
    const { threadId } = first;

    const answers = await Promise.all(
      Array.from({ length: 20 }, () => world.store.runs.start(world.newRun({ threadId }))),
    );

    const statuses = answers.map((answer) => (answer.kind === "started" ? answer.run.status : answer.kind));
    expect(statuses.toSorted()).toEqual([...Array(15).fill("busy"), ...Array(4).fill("queued"), "running"]);
  });

  test("an erased thread, or one of another agent, accepts no run", async () => {
    await using world = await openWorld(place);
    const { accounts, runs } = world.store;
    await accounts.createAgent({ agentId: "agt_2", orgId: world.orgId, name: "Other", instructions: "" });
    const { threadId } = await world.start();

    const foreign = await runs.start(world.newRun({ agentId: "agt_2", threadId }));
    const erased = await runs.start(world.newRun({ threadId: "thr_gone", newThread: false }));

    expect([foreign, erased]).toEqual([{ kind: "thread_gone" }, { kind: "thread_gone" }]);
    expect(await runs.list("agt_2", { limit: 10 })).toEqual([]);
  });

  test("a run is visible to its own agent only", async () => {
    await using world = await openWorld(place);
    const { runId } = await world.start();

    expect(await world.store.runs.get("agt_2", runId)).toBeUndefined();
    expect(await world.store.runs.requestCancel("agt_2", runId)).toBeUndefined();
  });

  test("a step is stored as it was given", async () => {
    await using world = await openWorld(place);
    const run = await world.start();
    const turn = sampleTurn(0, { costMicros: 7, warnings: ["cut"], provider: "gemini", model: "gemini-next" });
    const { reservedMicros: _, ...kept } = turn;
    const calls = [sampleCall("c1"), sampleCall("c2", { position: 1, arguments: "not json" })];

    await world.store.runs.commit(run, { events: [event(1), event(2)], turn, calls });

    expect(await world.store.runs.checkpoint(run.runId)).toEqual({ turns: [kept], calls, lastSeq: 2 });
    expect(await world.store.runs.events(run.runId, 0, 10)).toEqual([event(1), event(2)]);
    expect(await world.store.runs.events(run.runId, 1, 10)).toEqual([event(2)]);
    expect(await world.store.runs.events(run.runId, 0, 1)).toEqual([event(1)]);
  });

  test("a call is replaced by its id, and never by another run", async () => {
    await using world = await openWorld(place);
    const [run, stranger] = [await world.start(), await world.start()];
    await world.store.runs.commit(run, { calls: [sampleCall("c1")] });
    const done = sampleCall("c1", { attempt: 2, instanceId: "rt_2", outcome: { ok: true, value: [1] } });

    await world.store.runs.commit(run, { calls: [done] });
    await world.store.runs.commit(stranger, { calls: [sampleCall("c1", { outcome: { ok: true, value: "forged" } })] });

    expect((await world.store.runs.checkpoint(run.runId)).calls).toEqual([done]);
  });

  test("events follow one another without gaps or repeats, else nothing of the step is stored", async () => {
    await using world = await openWorld(place);
    const run = await world.start();
    await world.store.runs.commit(run, { events: [event(1)] });

    for (const next of [event(1, "plan"), event(3)])
      await expect(world.store.runs.commit(run, { events: [next], calls: [sampleCall("c1")] })).rejects.toThrow();

    expect(await world.store.runs.checkpoint(run.runId)).toMatchObject({ lastSeq: 1, calls: [] });
    expect(await world.store.runs.events(run.runId, 0, 10)).toEqual([event(1)]);
  });

  test("a step that fails half-way leaves nothing behind", async () => {
    await using world = await openWorld(place);
    const run = await world.start();
    await world.store.runs.commit(run, { turn: sampleTurn(0) });

    await expect(world.store.runs.commit(run, { events: [event(1)], turn: sampleTurn(0) })).rejects.toThrow();

    expect(await world.store.runs.checkpoint(run.runId)).toMatchObject({ lastSeq: 0, turns: [{ step: 0 }] });
  });

  test("a step can be committed again after a lost acknowledgement and counts once", async () => {
    await using world = await openWorld(place);
    const { runs, accounts } = world.store;
    await accounts.grant(world.orgId, 1000);
    const run = await world.start();
    await runs.reserve(world.orgId, run.runId, 0, 600);
    const spent = { turn: sampleTurn(0, { reservedMicros: 600, costMicros: 150 }) };
    const silent = { turn: sampleTurn(1) };
    const [first, last] = [{ ...spent, events: [event(1), event(2)] }, ending({ ...run, lastSeq: 2 })];

    for (const step of [first, silent, last]) {
      await runs.commit(run, step);
      await runs.commit(run, step);
    }

    expect(await runs.checkpoint(run.runId)).toMatchObject({ lastSeq: 3, turns: [{ step: 0 }, { step: 1 }] });
    expect(await runs.events(run.runId, 0, 10)).toEqual([event(1), event(2), ...last.events!]);
    expect(await accounts.balance(world.orgId)).toBe(850);
    expect(await runs.get(world.agentId, run.runId)).toMatchObject({ status: "succeeded" });
  });

  test("the stored step of another owner does not count as one's own", async () => {
    await using world = await openWorld(place);
    const run = await world.start();
    await world.store.runs.commit(run, { events: [event(1)] });
    await world.store.runs.release("replica-a", [run.runId]);
    await world.store.runs.claim({ owner: "replica-b", leaseMs: 15_000, limit: 1 });

    await expect(world.store.runs.commit(run, { events: [event(1)] })).rejects.toThrow(LeaseLost);
  });

  test("a write under an old fence is refused and leaves nothing behind", async () => {
    await using world = await openWorld(place);
    const run = await world.start();
    world.clock.advance(15_000);
    const [claimed] = await takeOver(world.store, { owner: "replica-b", leaseMs: 15_000, limit: 1 });

    await expect(world.store.runs.commit(run, { events: [event(1)] })).rejects.toThrow(LeaseLost);

    expect(claimed).toMatchObject({ runId: run.runId, fence: 2 });
    expect(await world.store.runs.events(run.runId, 0, 10)).toEqual([]);
  });

  test("an ended run rejects further steps", async () => {
    await using world = await openWorld(place);
    const run = await world.start();
    await world.finish(run);

    await expect(world.store.runs.commit(run, { events: [event(2)] })).rejects.toThrow(LeaseLost);
    await expect(world.finish({ ...run, lastSeq: 1 })).rejects.toThrow(LeaseLost);
    await expect(world.finish(run, { events: [event(1, "error")] })).rejects.toThrow(LeaseLost);
    await expect(world.store.runs.commit({ runId: "run_none", fence: 1 }, {})).rejects.toThrow(LeaseLost);
  });

  test("an ended run keeps its result and is no longer active", async () => {
    await using world = await openWorld(place);
    const run = await world.start();
    world.clock.advance(10);

    await world.finish(run, {}, "Two.");

    const ended = await world.store.runs.get(world.agentId, run.runId);
    expect(ended).toMatchObject({
      status: "succeeded",
      finishedAt: run.createdAt + 10,
      lastSeq: 1,
      result: ending(run, "Two.").finish?.result,
    });
    expect(await world.store.runs.active(run.threadId)).toEqual([]);
  });

  test("a refused run has a row and one event, and its Idempotency-Key is free", async () => {
    await using world = await openWorld(place);
    const { runs } = world.store;
    const asked = world.newRun({ idempotency: { key: "k", bodyHash: "b" }, audit: [{ action: "run.refused" }] });

    await runs.refuse(asked, { code: "agent_session_not_found", event: event(1, "error"), result: undefined });

    expect(await runs.get(world.agentId, asked.runId)).toMatchObject({ status: "failed", lastSeq: 1 });
    expect(await runs.events(asked.runId, 0, 10)).toEqual([event(1, "error")]);
    expect(await runs.findByIdempotencyKey(world.newRun(), "k")).toBeUndefined();
    expect(await world.store.threads.exists(world.agentId, asked.threadId)).toBe(true);
    expect(await world.start({ threadId: asked.threadId })).toMatchObject({ status: "running" });
  });

  test("a refusal does not bring an erased thread back", async () => {
    await using world = await openWorld(place);
    const asked = world.newRun({ threadId: "thr_erased", newThread: false });

    await world.store.runs.refuse(asked, { code: "thread_busy", event: event(1, "error"), result: undefined });

    expect(await world.store.threads.exists(world.agentId, "thr_erased")).toBe(false);
  });

  test("the last events of many runs are read together", async () => {
    await using world = await openWorld(place);
    const [fresh, ended] = [await world.start(), await world.start()];
    const queued = await world.start({ threadId: fresh.threadId });
    await world.store.runs.commit(ended, { events: [event(1)] });
    await world.finish({ ...ended, lastSeq: 1 });
    const strangers = Array.from({ length: 20_000 }, (_, i) => `run_none_${i}`);

    const heads = await world.store.runs.heads([fresh.runId, ...strangers, ended.runId, queued.runId]);

    expect(new Set(heads)).toEqual(
      new Set([
        { runId: fresh.runId, lastSeq: 0, ended: false },
        { runId: ended.runId, lastSeq: 2, ended: true },
        { runId: queued.runId, lastSeq: 0, ended: false },
      ]),
    );
    expect(await world.store.runs.heads([])).toEqual([]);
  });

  test("runs are listed newest first", async () => {
    await using world = await openWorld(place);
    const first = await world.start();
    world.clock.advance(1);
    const second = await world.start();

    const listed = await world.store.runs.list(world.agentId, { limit: 10 });

    expect(listed.map(({ runId }) => runId)).toEqual([second.runId, first.runId]);
    expect(await world.store.runs.list(world.agentId, { limit: 1 })).toHaveLength(1);
  });

  test("a run keeps the id of its request", async () => {
    await using world = await openWorld(place);
    const { runId } = await world.start({ requestId: "req_7" });

    expect(await world.store.runs.get(world.agentId, runId)).toMatchObject({ requestId: "req_7" });
  });

  test("the facts of a run are read without its request and result", async () => {
    await using world = await openWorld(place);
    const run = await world.start({ request: sampleRequest({ role: "clerk" }) });
    await world.finish(run);

    const { runId, agentId, threadId } = run;
    expect(await world.store.runs.facts(agentId, runId)).toEqual({
      runId,
      agentId,
      threadId,
      role: "clerk",
      status: "succeeded",
      lastSeq: 1,
      finishedAt: world.clock.now(),
    });
    expect(await world.store.runs.facts("agt_2", runId)).toBeUndefined();
  });
}
