import { expect, test } from "vitest";
import { consoleOf, event, openWorld, sampleRequest, sampleTurn, type MakePlace, type World } from "./world.ts";

const DAY_MS = 86_400_000;

export function retentionContract(place: MakePlace): void {
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
