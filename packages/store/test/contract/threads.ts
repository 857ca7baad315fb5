import { expect, test } from "vitest";
import { LeaseLost } from "@patchbay/engine/ports/store/run-store";
import { ServiceError } from "@patchbay/engine/ports/service-error";
import { event, failing, openWorld, sampleCall, sampleRequest, sampleTurn, type MakePlace } from "./world.ts";

export function threadContract(place: MakePlace): void {
  test("threads are listed by their last change, page by page, each once", async () => {
    await using world = await openWorld(place);
    const ids: string[] = [];
    for (let i = 0; i < 7; i++) {
      if (i % 2 === 0) world.clock.advance(1000); // pairs of one millisecond
      ids.push((await world.start({ threadId: `thr_${i}`, newThread: true })).threadId);
    }

    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await world.store.threads.list(world.agentId, { limit: 3, ...(cursor && { cursor }) });
      seen.push(...page.items.map(({ threadId }) => threadId));
      cursor = page.nextCursor ?? undefined;
    } while (cursor);

    expect(seen).toEqual(ids.toReversed());
  });

  test("the thread of a call is not listed until a query continues it", async () => {
    await using world = await openWorld(place);
    const { threads } = world.store;
    const listed = async (asked = {}) =>
      (await threads.list(world.agentId, { limit: 5, ...asked })).items.map(({ threadId }) => threadId);
    const shown = async () => [
      await listed(),
      await listed({ roles: ["clerk"] }),
      (await world.console.threads.list(world, { limit: 5 })).items.map((one) => one.threadId),
    ];
    const request = sampleRequest({ role: "clerk" });
    const { threadId } = await world.start({ threadId: "thr_call", newThread: true, kind: "call", request });
    await world.start({ threadId: "thr_task", newThread: true, kind: "task", request });
    expect(await shown()).toEqual([[], [], []]);
    expect(await threads.get(world.agentId, threadId, { limit: 5, roles: ["clerk"] })).toMatchObject({ threadId });

    await world.start({ threadId, newThread: false, request });
    expect(await shown()).toEqual([[threadId], [threadId], [threadId]]);

    await world.start({ threadId, newThread: false, kind: "call", request });
    expect(await shown()).toEqual([[threadId], [threadId], [threadId]]);
  });

  test("a page that ends with the last thread has no next one", async () => {
    await using world = await openWorld(place);
    await world.start();

    expect(await world.store.threads.list(world.agentId, { limit: 1 })).toMatchObject({ nextCursor: null });
    expect(await world.store.threads.list("agt_2", { limit: 1 })).toEqual({ items: [], nextCursor: null });
  });

  test.each(["", "x", "e30", Buffer.from('{"u":"1","id":2}').toString("base64url")])(
    "the cursor %j, which no page gave, is refused as the caller's fault",
    async (cursor) => {
      await using world = await openWorld(place);

      await expect(world.store.threads.list(world.agentId, { limit: 1, cursor })).rejects.toThrow(ServiceError);
    },
  );

  test("a thread shows its queries and the answers of those that succeeded", async () => {
    await using world = await openWorld(place);
    const first = await world.start({ sessionId: "s1" });
    world.clock.advance(1000);
    await world.finish(first, {}, "Two are late.");
    const second = await world.start({ threadId: first.threadId, request: sampleRequest({ query: "Which?" }) });
    await world.finish(second, failing(second));

    const thread = await world.store.threads.get(world.agentId, first.threadId, { limit: 100 });

    const created = new Date(first.createdAt).toISOString();
    const later = new Date(first.createdAt + 1000).toISOString();
    expect(thread).toEqual({
      threadId: first.threadId,
      sessionId: "s1",
      title: "Which orders are late?",
      createdAt: created,
      updatedAt: later,
      messages: [
        { role: "user", content: "Which orders are late?", runId: first.runId, createdAt: created },
        { role: "assistant", content: "Two are late.", runId: first.runId, createdAt: later },
        { role: "user", content: "Which?", runId: second.runId, createdAt: later },
      ],
      nextCursor: null,
    });
    expect(await world.store.threads.get("agt_2", first.threadId, { limit: 100 })).toBeUndefined();
    expect(await world.store.threads.exists("agt_2", first.threadId)).toBe(false);
  });

  test("roles can see all, some or none of a thread", async () => {
    await using world = await openWorld(place);
    const { threadId } = await world.start({ request: sampleRequest({ role: "clerk" }) });
    await world.start({ threadId });
    const readable = (roles?: string[]) => world.store.threads.readable(world.agentId, threadId, { roles });

    expect([await readable(), await readable(["clerk"]), await readable(["manager"])]).toEqual(["all", "all", "some"]);
    const other = await world.start({ request: sampleRequest({ role: "clerk" }) });
    expect(await world.store.threads.readable(world.agentId, other.threadId, { roles: ["manager"] })).toBe("none");
    expect(await world.store.threads.readable("agt_2", threadId)).toBe("none");
  });

  test("a key with a role list sees turns of its roles and turns without a role", async () => {
    await using world = await openWorld(place);
    const manager = await world.start({ request: sampleRequest({ role: "manager", query: "secret" }) });
    const { threadId } = manager;
    await world.finish(manager, {}, "hush");
    const customer = await world.start({ threadId, request: sampleRequest({ role: "customer" }) });
    await world.finish(customer);
    const nobody = await world.start({ threadId });
    const { threads } = world.store;

    const seen = await threads.get(world.agentId, threadId, { limit: 100, roles: ["customer"] });
    const open = await threads.get(world.agentId, threadId, { limit: 100, roles: [] });

    expect(seen?.messages.map(({ runId }) => runId)).toEqual([customer.runId, customer.runId, nobody.runId]);
    expect(open?.messages.map(({ runId }) => runId)).toEqual([nobody.runId]);
    expect(seen?.title).toBe("Which orders are late?");
    expect(JSON.stringify(seen)).not.toMatch(/secret|hush/);
  });

  test("a thread without a visible turn is unknown to a key with a role list", async () => {
    await using world = await openWorld(place);
    const { threadId } = await world.start({ request: sampleRequest({ role: "manager" }) });
    const { threads } = world.store;

    expect(await threads.list(world.agentId, { limit: 5, roles: ["customer"] })).toMatchObject({ items: [] });
    expect(await threads.get(world.agentId, threadId, { limit: 100, roles: ["customer"] })).toBeUndefined();
    expect(await threads.list(world.agentId, { limit: 5, roles: ["manager"] })).toMatchObject({
      items: [{ threadId }],
    });
  });

  test("a key with a role list lists each visible thread once, by its newest visible run", async () => {
    await using world = await openWorld(place);
    const { store, clock, agentId } = world;
    const ask = async (threadId: string, role?: string) => {
      clock.advance(1000);
      const newThread = !(await store.threads.exists(agentId, threadId));
      const run = await world.start({
        threadId,
        newThread,
        request: sampleRequest(role === undefined ? {} : { role }),
      });
      await world.finish(run);
    };
    for (let i = 0; i < 9; i++) await ask(`thr_${i}`, ["clerk", "guest", "manager"][i % 3]);
    // These have newer runs of another visible role, which decide their position.
    for (const i of [0, 3, 6]) await ask(`thr_${i}`, "guest");
    await ask("thr_4");
    await ask("thr_1", "manager");

    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const asked = { limit: 2, roles: ["clerk", "guest"], ...(cursor && { cursor }) };
      const page = await store.threads.list(agentId, asked);
      seen.push(...page.items.map(({ threadId }) => threadId));
      cursor = page.nextCursor ?? undefined;
    } while (cursor);

    expect(seen).toEqual(["thr_4", "thr_6", "thr_3", "thr_0", "thr_7", "thr_1"]);
  });

  test("a key with a role list sees no session or time of another role's runs", async () => {
    await using world = await openWorld(place);
    const { store, clock, agentId } = world;
    const createdAt = new Date(clock.now()).toISOString();
    const own = await world.start({ sessionId: "s-own", request: sampleRequest({ role: "clerk", query: "mine" }) });
    clock.advance(1_000);
    await world.finish(own);
    const updatedAt = new Date(clock.now()).toISOString();
    clock.advance(60_000);
    const { threadId } = own;
    const other = await world.start({ threadId, sessionId: "s-other", request: sampleRequest({ role: "manager" }) });
    await world.finish(other);

    const { items } = await store.threads.list(agentId, { limit: 9, roles: ["clerk"] });
    const detail = await store.threads.get(agentId, threadId, { limit: 100, roles: ["clerk"] });

    const summary = { threadId, sessionId: "s-own", title: "mine", createdAt, updatedAt };
    expect(items).toEqual([summary]);
    expect(detail).toMatchObject(summary);
    expect((await store.threads.list(agentId, { limit: 9 })).items).toMatchObject([{ sessionId: "s-other" }]);
  });

  test("erasing a thread deletes its runs, events, turns, calls and keys; the ledger stays", async () => {
    await using world = await openWorld(place);
    const run = await world.start({ idempotency: { key: "k", bodyHash: "b" } });
    const kept = await world.start();
    await world.store.runs.commit(run, { events: [event(1)], turn: sampleTurn(0), calls: [sampleCall("c1")] });

    expect(await world.store.threads.erase("agt_2", run.threadId)).toBe(false);
    expect(await world.store.threads.erase(world.agentId, run.threadId)).toBe(true);
    expect(await world.store.threads.erase(world.agentId, run.threadId)).toBe(false);

    for (const table of ["run_events", "turns", "calls", "idempotency_keys"])
      expect(await world.place.rows(`select * from ${table}`), table).toEqual([]);
    expect(await world.place.rows("select id from runs")).toEqual([{ id: kept.runId }]);
    expect(await world.place.rows("select run_id from usage")).toEqual([{ run_id: run.runId }]);
    await expect(world.store.runs.commit(run, { events: [event(2)] })).rejects.toThrow(LeaseLost);
  });
}
