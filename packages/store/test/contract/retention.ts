import { expect, test } from "vitest";
import type { Budget } from "@patchbay/engine/ports/store/upkeep";
import { waiting } from "./asking-runs.ts";
import {
  consoleOf,
  event,
  openWorld,
  sampleCall,
  sampleRequest,
  sampleTurn,
  type MakePlace,
  type World,
} from "./world.ts";

const DAY_MS = 86_400_000;

export function retentionContract(place: MakePlace): void {
  test("a sweep asks its budget before each batch of each part, so that queries are served in between", async () => {
    await using world = await openWorld(place);
    for (let i = 0; i < 45; i++) await world.finish(await world.start());
    world.clock.advance(31 * DAY_MS);
    const spent: string[] = [];
    const left: number[] = [];
    let within = 0;
    const budget: Budget = {
      async spend(kind, batch) {
        spent.push(kind);
        if (kind === "runs") left.push((await world.place.rows("select id from runs")).length);
        expect(++within).toBe(1);
        const rows = await batch();
        within--;
        return rows;
      },
    };

    expect(await world.store.sweep({ days: 30 }, { budget })).toBe(45);

    expect(left).toEqual([45, 25, 5]);
    for (const part of [
      "audit",
      "threads",
      "sessions",
      "runtimes",
      "function sets",
      "request keys",
      "sign-in",
      "usage",
    ])
      expect(spent, part).toContain(part);
  });

  test("a sweep that is stopped ends with its batch, and the next one does the rest", async () => {
    await using world = await openWorld(place);
    for (let i = 0; i < 25; i++) await world.finish(await world.start());
    world.clock.advance(31 * DAY_MS);
    const stop = new AbortController();
    const budget: Budget = {
      async spend(_kind, batch) {
        const rows = await batch();
        stop.abort();
        return rows;
      },
    };

    expect(await world.store.sweep({ days: 30 }, { budget, signal: stop.signal })).toBe(20);
    expect(await world.store.sweep({ days: 30 })).toBe(5);
  });

  test("old usage of deleted runs remains as one row for each day, role and model, with the same totals", async () => {
    await using world = await openWorld(place);
    const first = await figures(world, world.clock.now());
    for (let day = 0; day < 3; day++) {
      for (const role of ["clerk", "guest", "clerk"]) await spend(world, role);
      world.clock.advance(DAY_MS);
    }
    const before = await first();
    world.clock.advance(90 * DAY_MS);

    await world.store.sweep({ days: 30, usageDays: 90 });
    const condensed = await world.place.rows("select turns, cost_micros from usage order by created_at, role");
    await world.store.sweep({ days: 30, usageDays: 90 });

    expect(condensed).toEqual(
      [0, 1, 2].flatMap(() => [
        { turns: 4, cost_micros: 20 },
        { turns: 2, cost_micros: 10 },
      ]),
    );
    expect(await world.place.rows("select turns, cost_micros from usage order by created_at, role")).toEqual(condensed);
    expect(await first()).toEqual(before);
  });

  test("later usage of a condensed day is added to its row", async () => {
    await using world = await openWorld(place);
    await spend(world, "clerk");
    world.clock.advance(DAY_MS / 2);
    await spend(world, "clerk");
    world.clock.advance(90 * DAY_MS - DAY_MS / 4);

    await world.store.sweep({ days: 30, usageDays: 90 });
    const half = await world.place.rows("select turns from usage order by turns desc");
    world.clock.advance(DAY_MS);
    await world.store.sweep({ days: 30, usageDays: 90 });

    expect(half).toEqual([{ turns: 2 }, { turns: 1 }, { turns: 1 }]);
    expect(await world.place.rows("select turns, input_tokens, cache_write_input_tokens from usage")).toEqual([
      { turns: 4, input_tokens: 400, cache_write_input_tokens: 120 },
    ]);
  });

  test("usage and credits of a run that is kept stay as they are, however old", async () => {
    await using world = await openWorld(place);
    await world.store.accounts.grant(world.orgId, 1_000);
    await spend(world, "clerk");
    world.clock.advance(100 * DAY_MS);

    await world.store.sweep({ days: 365, usageDays: 90 });

    expect(await world.place.rows("select turns from usage")).toEqual([{ turns: 1 }, { turns: 1 }]);
    expect(await world.place.rows("select kind from ledger where kind <> 'grant' and run_id is null")).toEqual([]);
  });

  test("old movements of credits become one a day, grants stay, and the ledger adds up to the balance", async () => {
    await using world = await openWorld(place);
    const { store, orgId } = world;
    await store.accounts.grant(orgId, 1_000);
    for (let day = 0; day < 2; day++) {
      for (let i = 0; i < 3; i++) await spend(world, "clerk");
      world.clock.advance(DAY_MS);
    }
    const today = Math.floor(world.clock.now() / DAY_MS);
    const days = await consoleOf(store).credits.days(orgId, today - 3, today);
    world.clock.advance(90 * DAY_MS);
    await spend(world, "clerk");

    await store.sweep({ days: 30, usageDays: 90 });

    const sums = "select kind, micros from ledger where run_id is null order by created_at, kind";
    expect(await world.place.rows(sums)).toEqual([
      { kind: "grant", micros: 1_000 },
      { kind: "settle", micros: -30 },
      { kind: "settle", micros: -30 },
    ]);
    const [{ sum }] = (await world.place.rows("select cast(sum(micros) as bigint) as sum from ledger")) as [
      { sum: number },
    ];
    expect(sum).toBe(await store.accounts.balance(orgId));
    expect(await consoleOf(store).credits.days(orgId, today - 3, today)).toEqual(days);
    expect((await consoleOf(store).credits.ledger(orgId, { limit: 50 })).items).toHaveLength(3 + 4);
  });

  test("a failing part of the sweep is reported and does not stop the others", async () => {
    await using world = await openWorld(place);
    const { store, clock } = world;
    await world.finish(await world.start({ sessionId: "s1" }));
    await store.accounts.countQuery(world.orgId);
    clock.advance(31 * DAY_MS);
    // Threads cannot be deleted while something unknown refers to them.
    await world.place.execute("create table notes (thread_id text references threads (id))");
    await world.place.execute("insert into notes select id from threads");
    const failed: string[] = [];

    expect(await store.sweep({ days: 30 }, { failed: (part) => failed.push(part) })).toBe(1);

    expect(failed).toEqual(["threads"]);
    for (const table of ["runs", "sessions", "rate_windows"])
      expect(await world.place.rows(`select * from ${table}`), table).toEqual([]);
    await expect(store.sweep({ days: 30 })).rejects.toThrow();
    await world.place.execute("drop table notes");
  });

  test("threads are deleted with their last run, over several statements; those with an open run stay", async () => {
    await using world = await openWorld(place);
    const ended = { code: "internal", event: event(1, "error"), result: undefined } as const;
    for (let i = 0; i < 1_003; i++) await world.store.runs.refuse(world.newRun(), ended);
    for (const kind of ["call", "task"] as const) await world.store.runs.refuse(world.newRun({ kind }), ended);
    const open = await world.start();
    world.clock.advance(31 * DAY_MS);

    await world.store.sweep({ days: 30 });

    expect(await world.place.rows("select id from threads")).toEqual([{ id: open.threadId }]);
  });

  test("an agent with fewer days of its own loses what ended before them, and open runs and other agents lose nothing", async () => {
    await using world = await openWorld(place);
    const { store, orgId, agentId } = world;
    await store.accounts.createAgent({ agentId: "agt_2", orgId, name: "Other", instructions: "" });
    await store.accounts.updateAgent(agentId, { settings: { retentionDays: 7 } });
    await store.webhooks.set({ agentId, orgId, url: "https://hooks.example", secret: "s" });
    const waits = await waiting(world, ["a"], { a: 90 * DAY_MS });
    const old = await endedWithTraces(world, agentId);
    const kept = await endedWithTraces(world, "agt_2");
    world.clock.advance(8 * DAY_MS);
    const young = await endedWithTraces(world, agentId);

    expect(await store.sweep({ days: 30 })).toBe(1);

    const ids = async (query: string) => (await world.place.rows(query)).map(({ id }) => id as string).toSorted();
    const left = [kept, young].map(({ runId }) => runId).toSorted();
    expect(await ids("select id from runs")).toEqual([...left, waits.runId].toSorted());
    expect(await ids("select id from threads")).toEqual(
      [kept, young, waits].map(({ threadId }) => threadId).toSorted(),
    );
    for (const table of ["run_events", "turns", "run_facts", "feedback"])
      expect(await ids(`select distinct run_id as id from ${table} where run_id <> '${waits.runId}'`), table).toEqual(
        left,
      );
    expect(await world.place.rows("select id from run_texts")).toHaveLength(2);
    expect(await world.place.rows("select id from webhook_deliveries where status <> 'pending'")).toHaveLength(1);
    // What is charged and what was done are kept for the days of the service.
    for (const table of ["usage", "audit"])
      expect(await world.place.rows(`select run_id from ${table} where run_id = '${old.runId}'`), table).not.toEqual(
        [],
      );
    await store.accounts.updateAgent(agentId, { settings: { retentionDays: null } });
    world.clock.advance(8 * DAY_MS);
    expect(await store.sweep({ days: 30 })).toBe(0);
  });

  test("more days of an agent than those of the service change nothing", async () => {
    await using world = await openWorld(place);
    await world.store.accounts.updateAgent(world.agentId, { settings: { retentionDays: 400 } });
    await world.finish(await world.start());
    world.clock.advance(31 * DAY_MS);

    expect(await world.store.sweep({ days: 30 })).toBe(1);
  });

  test("a thread is hidden from a role whose runs in it are deleted", async () => {
    await using world = await openWorld(place);
    const { store, agentId } = world;
    const old = await world.start({ request: sampleRequest({ role: "clerk" }) });
    await world.finish(old);
    world.clock.advance(31 * DAY_MS);
    const { threadId } = old;
    await world.finish(await world.start({ threadId, request: sampleRequest({ role: "guest" }) }));

    await store.sweep({ days: 30 });

    expect((await store.threads.list(agentId, { limit: 9, roles: ["clerk"] })).items).toEqual([]);
    expect((await store.threads.list(agentId, { limit: 9, roles: ["guest"] })).items).toMatchObject([{ threadId }]);
    expect(await world.place.rows("select role from thread_roles")).toEqual([{ role: "guest" }]);
  });
}

/** An ended run with rows in every table that refers to runs, and a delivery of its agent's webhook that was sent. */
async function endedWithTraces(world: World, agentId: string) {
  const { store, orgId } = world;
  const run = await world.start({ agentId, audit: [{ action: "run.started" }] });
  await store.runs.commit(run, { events: [event(1)], turn: sampleTurn(0), calls: [sampleCall(`c_${run.runId}`)] });
  await world.finish({ ...run, lastSeq: 1 });
  await store.runs.recordFeedback({ runId: run.runId, orgId, keyId: "key_1" }, { score: 1 });
  await store.index.record();
  if ((await store.webhooks.get(agentId)) === undefined) return run;
  await store.webhooks.add({ agentId, orgId }, { type: "webhook.test", data: {} });
  for (const { delivery } of await store.webhooks.claim(agentId, { limit: 10, leaseMs: 1_000 }))
    await store.webhooks.settle(delivery, { delivered: true, status: 204, durationMs: 1, retryInMs: 0 });
  return run;
}

/** A run of two turns, held for and settled where the organisation has credits. */
async function spend(world: World, role: string): Promise<void> {
  const charged = (await world.store.accounts.balance(world.orgId)) > 0;
  const reservedMicros = charged ? 8 : 0;
  const run = await world.start({
    request: sampleRequest({ role }),
    ...(charged && { reserveMicros: reservedMicros }),
  });
  const next = charged ? { reserve: { step: 1, micros: reservedMicros } } : {};
  await world.store.runs.commit(run, {
    events: [event(1)],
    turn: sampleTurn(0, { costMicros: 5, reservedMicros }),
    ...next,
  });
  const turn = sampleTurn(1, { costMicros: 5, reservedMicros });
  await world.finish({ ...run, lastSeq: 1 }, { turn });
}

async function figures({ store, orgId, agentId }: World, from: number) {
  const range = { orgId, agentId, from, to: from + 4 * DAY_MS };
  return async () => {
    const { models, roles } = await consoleOf(store).analytics.figures(range, {
      firstAt: from,
      widthMs: DAY_MS,
      count: 4,
    });
    return {
      models,
      spent: roles.map(({ role, costUsd }) => ({ role, costUsd })).toSorted((a, b) => a.costUsd - b.costUsd),
    };
  };
}
