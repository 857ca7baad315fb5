import { Client } from "pg";
import { expect, onTestFinished, test, vi } from "vitest";
import type { RunRecord } from "@patchbay/engine/ports/records";
import { LeaseLost } from "@patchbay/engine/ports/store/run-store";
import { event, failing, openWorld, sampleCall, sampleTurn, type World } from "./contract/world.ts";
import { postgresPlace } from "./postgres-place.ts";

/** Messages to the server, which are its round trips. The clock stops: a connection that was idle for a second is tested first. */
function countedMessages(): { count: number } {
  const sent = { count: 0 };
  const { query } = Client.prototype;
  const spy = vi.spyOn(Client.prototype, "query").mockImplementation(function (this: Client, ...given: unknown[]) {
    sent.count++;
    return Reflect.apply(query, this, given) as never;
  });
  vi.useFakeTimers({ toFake: ["performance"] });
  onTestFinished(() => {
    spy.mockRestore();
    vi.useRealTimers();
  });
  return sent;
}

const startAll = (world: World, count: number): Promise<RunRecord[]> =>
  Promise.all(Array.from({ length: count }, () => world.start()));

/** The first commit is a group of its own; all others form the next one. */
const commitAll = (world: World, runs: readonly RunRecord[]) =>
  Promise.allSettled(
    runs.map((run) =>
      world.store.runs.commit(run, {
        events: [event(1), event(2)],
        turn: sampleTurn(0),
        calls: [sampleCall(`call_${run.runId}`)],
        audit: [{ action: "call.succeeded" }],
      }),
    ),
  );

/** Rows per table of the runs whose step is stored, which must be the same runs in each. */
async function storedIn(world: World): Promise<Set<unknown>[]> {
  const of = async (table: string) =>
    new Set((await world.place.rows(`select run_id from ${table}`)).map(({ run_id }) => run_id));
  return Promise.all(["run_events", "turns", "usage", "calls", "audit"].map(of));
}

test("steps of concurrent runs share a statement", async () => {
  await using world = await openWorld(postgresPlace);
  const runs = await startAll(world, 20);
  await world.store.ping();
  const sent = countedMessages();

  const results = await commitAll(world, runs);

  expect(sent.count).toBe(2);
  expect(new Set(results.map(({ status }) => status))).toEqual(new Set(["fulfilled"]));
  for (const stored of await storedIn(world)) expect(stored).toEqual(new Set(runs.map(({ runId }) => runId)));
});

test("a lost lease writes nothing, and the steps that share its statement are stored", async () => {
  await using world = await openWorld(postgresPlace);
  const [first, lost, ...others] = await startAll(world, 10);
  await world.store.runs.release("replica-a", [lost!.runId]);
  await world.store.runs.claim({ owner: "replica-b", leaseMs: 15_000, limit: 1, runId: lost!.runId });

  const [, ofLost, ...results] = await commitAll(world, [first!, lost!, ...others]);

  expect(ofLost).toMatchObject({ status: "rejected", reason: expect.any(LeaseLost) as unknown });
  expect(new Set(results.map(({ status }) => status))).toEqual(new Set(["fulfilled"]));
  for (const stored of await storedIn(world))
    expect(stored).toEqual(new Set([first!, ...others].map(({ runId }) => runId)));
});

test.each([
  ["a gap in its event numbers", { events: [event(3)] }, "event 3 would follow event 0"],
  ["a gap within its event numbers", { events: [event(1), event(3)] }, "event 3 would follow event 1"],
  ["a turn that is stored already", { turn: sampleTurn(7) }, "turns_key"],
  [
    "an amount that is not whole",
    { turn: sampleTurn(0, { reservedMicros: 5, costMicros: 0.5 }) },
    "invalid input syntax",
  ],
])("a step with %s fails without the others of its group", async (_fault, change, message) => {
  await using world = await openWorld(postgresPlace);
  const [first, bad, ...others] = await startAll(world, 10);
  await world.place.execute(
    `insert into turns select id, 7, org_id, '[]', '[]', null, 0, 0, 0, 0, 0, 0, 0 from runs where id = '${bad!.runId}'`,
  );

  const committed = commitAll(world, [first!]);
  const failed = world.store.runs
    .commit(bad!, { ...change, audit: [{ action: "bad" }] })
    .catch((error: Error) => error);
  const results = [...(await commitAll(world, others)), ...(await committed)];

  // A turn that is stored already counts as stored, as after an answer that was lost.
  if (message === "turns_key") expect(await failed).toEqual({ reservedMicros: 0 });
  else expect(await failed).toMatchObject({ message: expect.stringContaining(message) as unknown });
  expect(new Set(results.map(({ status }) => status))).toEqual(new Set(["fulfilled"]));
  expect(await world.place.rows("select id from audit where action = 'bad'")).toEqual([]);
  expect(await world.place.rows("select run_id from usage")).toHaveLength(9);
});

test("steps are stored once while leases are renewed and credit is reserved", async () => {
  await using world = await openWorld(postgresPlace);
  const { runs, accounts } = world.store;
  await accounts.grant(world.orgId, 100_000);
  const all = await startAll(world, 12);
  const ids = all.map(({ runId }) => runId);
  const ended = new AbortController();
  const renewing = (async () => {
    while (!ended.signal.aborted) await runs.renew("replica-a", ids, 15_000);
  })();

  await Promise.all(
    all.map(async (run) => {
      for (let step = 0; step < 8; step++) {
        const reservedMicros = await runs.reserve(world.orgId, run.runId, step, 100);
        if (reservedMicros === undefined) throw new Error("the balance is too low");
        const turn = sampleTurn(step, { reservedMicros, costMicros: 30 });
        await runs.commit(run, { events: [event(step + 1)], turn, reserve: { step: step + 1, micros: 90 } });
      }
      await runs.commit(run, failing({ ...run, lastSeq: 8 }));
    }),
  );
  ended.abort();
  await renewing;

  expect(await accounts.balance(world.orgId)).toBe(100_000 - 12 * 8 * 30);
  expect(await world.place.rows("select sum(micros) as micros from ledger")).toEqual([
    { micros: 100_000 - 12 * 8 * 30 },
  ]);
  expect(await world.place.rows("select run_id from run_events group by run_id having count(*) = 9")).toHaveLength(12);
});

test("a query takes one round trip for its start and one for each step", async () => {
  await using world = await openWorld(postgresPlace);
  await world.store.accounts.grant(world.orgId, 1_000);
  await world.store.ping();
  const sent = countedMessages();

  const started = await world.store.runs.start(
    world.newRun({ reserveMicros: 100, audit: [{ action: "run.started" }] }),
  );
  if (started.kind !== "started") throw new Error(started.kind);
  const { run } = started;
  const turn = (step: number) => sampleTurn(step, { reservedMicros: 100, costMicros: 10 });
  const call = sampleCall("call_1");
  await world.store.runs.commit(run, { events: [event(1)], turn: turn(0), calls: [call] });
  await world.store.runs.commit(run, {
    events: [event(2)],
    calls: [{ ...call, outcome: { ok: true, value: 1 } }],
    reserve: { step: 1, micros: 100 },
  });
  await world.store.runs.commit(run, { ...failing({ ...run, lastSeq: 2 }), turn: turn(1) });

  expect(sent.count).toBe(4);
  expect(await world.store.accounts.balance(world.orgId)).toBe(980);
});

test("a run that cannot start leaves nothing, and the starts that share its statement are stored", async () => {
  await using world = await openWorld(postgresPlace);
  const { runs, accounts } = world.store;
  await accounts.grant(world.orgId, 10 * 100 + 50);
  const open = await world.start({ idempotency: { key: "taken", bodyHash: "a" } });
  const start = (change: Parameters<World["newRun"]>[0]) =>
    runs.start(world.newRun({ reserveMicros: 100, sessionId: "ses_1", audit: [{ action: "run.started" }], ...change }));
  const sent = countedMessages();

  const [first, ...all] = await Promise.all([
    start({}),
    start({ idempotency: { key: "taken", bodyHash: "b" } }),
    start({ threadId: open.threadId }),
    start({ threadId: "thr_gone", idempotency: { key: "of a thread that is gone", bodyHash: "c" } }),
    ...Array.from({ length: 10 }, (_, i) => start({ idempotency: { key: `free ${i}`, bodyHash: "d" } })),
  ]);

  // Two statements for eleven runs. The three others decide in transactions.
  expect(sent.count).toBeLessThan(2 + 3 * 12);
  const [joined, queued, gone, ...started] = all;
  expect(joined).toEqual({ kind: "joined", runId: open.runId, sameBody: false });
  expect(queued).toMatchObject({ kind: "started", run: { status: "queued" }, reservedMicros: 0 });
  expect(gone).toEqual({ kind: "thread_gone" });
  for (const one of [first, ...started])
    expect(one).toMatchObject({ kind: "started", run: { status: "running", fence: 1 } });
  const reserved = [first, ...started].map((one) => (one.kind === "started" ? one.reservedMicros : -1));
  expect(reserved.filter((micros) => micros === 100)).toHaveLength(10);
  expect(await accounts.balance(world.orgId)).toBe(50);
  expect(await world.place.rows("select sum(micros) as micros from ledger")).toEqual([{ micros: 50 }]);
  expect(await world.place.rows("select key from idempotency_keys where key like 'of%'")).toEqual([]);
  expect(await world.place.rows("select id from audit")).toHaveLength(12);
});

test("a follow-up query starts in one round trip, under its thread's next position", async () => {
  await using world = await openWorld(postgresPlace);
  const first = await world.start();
  await world.finish(first);
  const { threadId } = first;
  const sent = countedMessages();

  const idempotency = { key: "k", bodyHash: "a" };
  const started = await world.store.runs.start(world.newRun({ threadId, sessionId: "ses_1", idempotency }));

  expect(sent.count).toBe(1);
  if (started.kind !== "started") throw new Error(started.kind);
  expect(started.run).toEqual(await world.store.runs.get(world.agentId, started.run.runId));
  expect(await world.place.rows("select last_position, session_id from threads")).toEqual([
    { last_position: 2, session_id: "ses_1" },
  ]);
  expect(await world.place.rows("select position from runs order by position")).toEqual([
    { position: 1 },
    { position: 2 },
  ]);
});

test("a run's end returns credit that was reserved while the end waited for the run", async () => {
  const place = await postgresPlace();
  await using world = await openWorld(async () => place);
  await world.store.accounts.grant(world.orgId, 1_000);
  const run = await world.start();
  const other = new Client({ connectionString: place.database.url });
  await other.connect();
  await other.query("begin; set local patchbay.org = '*'");
  await other.query("update runs set status = status");
  await other.query(`insert into ledger values ('led_1', 'org_1', '${run.runId}', 0, 'reserve', -300, 0)`);
  await other.query("update balances set micros = micros - 300");

  const ended = world.finish(run);
  await expect
    .poll(() =>
      place.rows("select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"),
    )
    .toHaveLength(1);
  await other.query("commit");
  await other.end();
  await ended;

  expect(await world.store.accounts.balance(world.orgId)).toBe(1_000);
});
