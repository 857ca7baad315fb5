import { execFileSync } from "node:child_process";
import { Kysely, sql } from "kysely";
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { type OwnPostgres, ownPostgres, testDatabase } from "@patchbay/test-support/postgres";
import { silentLog } from "@patchbay/kit";
import { StoreUnavailable } from "@patchbay/engine/ports/store/run-store";
import type { Store } from "@patchbay/engine/ports/store/stores";
import { postgresDialect } from "../src/dialect/postgres.ts";
import { openStore } from "../src/open.ts";
import type { Schema } from "../src/tables/schema.ts";
import { event, sampleRun } from "./contract/world.ts";

let server: OwnPostgres;
beforeAll(async () => {
  server = await ownPostgres();
});
afterAll(() => server[Symbol.asyncDispose]());

const ORG = { orgId: "org_1", name: "Desk", tier: "starter" };

const ENDS = {
  "killed with kill -9": () => server.kill9(),
  "stopped at once": () => server.stop("immediate"),
  "shut down": () => server.stop("fast"),
};

for (const [how, end] of Object.entries(ENDS)) {
  test(`when the server is ${how}, open transactions fail as unavailable and later work succeeds`, async () => {
    await using database = await testDatabase(server.url);
    await using opened = await openBoth(database.url);
    const { store, db } = opened;
    const begun = Array.from({ length: 6 }, () => Promise.withResolvers<void>());
    const gate = Promise.withResolvers<void>();
    const transactions = begun.map(({ resolve }, i) =>
      db.transaction().execute(async (trx) => {
        await insertOrg(trx, `org_lost_${i}`);
        resolve();
        await gate.promise;
        await insertOrg(trx, `org_lost_too_${i}`);
      }),
    );
    await Promise.all(begun.map(({ promise }) => promise));

    await end();
    gate.resolve();
    for (const outcome of await Promise.allSettled(transactions))
      expect(outcome).toMatchObject({ status: "rejected", reason: { name: "StoreUnavailable" } });
    await expect(store.ping()).rejects.toThrow(StoreUnavailable);
    await expect(store.accounts.createOrg({ ...ORG, orgId: "org_none" })).rejects.toThrow(/no database server answers/);
    await server.start();

    await Promise.all(
      Array.from({ length: 12 }, (_, i) => store.accounts.createOrg({ ...ORG, orgId: `org_new_${i}` })),
    );
    const kept = (await store.accounts.listOrgs()).map(({ orgId }) => orgId.replace(/^(org_new)_\d+$/, "$1"));
    expect(kept).toEqual(["org_1", ...Array<string>(12).fill("org_new")]);
  });
}

test("connections that died in the pool are replaced, for reads, writes and transactions", async () => {
  await using database = await testDatabase(server.url);
  await using opened = await openBoth(database.url);
  const { store, db } = opened;
  const realNow = performance.now.bind(performance);
  let aheadMs = 0;
  const clock = vi.spyOn(performance, "now").mockImplementation(() => realNow() + aheadMs);
  onTestFinished(() => clock.mockRestore());
  let orgs = 1;

  for (const use of [
    () => store.accounts.getOrg("org_1"),
    () => store.accounts.createOrg({ ...ORG, orgId: `org_${++orgs}` }),
    () => db.transaction().execute((trx) => insertOrg(trx, `org_${++orgs}`)),
    () => store.within("org_1", () => store.accounts.updateAgent("agt_1", { name: "x" })),
  ]) {
    await Promise.all(Array.from({ length: 8 }, () => store.ping()));
    terminateAll(database.adminUrl);
    aheadMs += 5_000;
    await use();
  }

  expect(await store.accounts.listOrgs()).toHaveLength(3);
});

test("a write is never sent twice: it fails as unavailable when its connection dies", async () => {
  await using database = await testDatabase(server.url);
  await using opened = await openBoth(database.url);
  await opened.store.ping();

  const slow = sql`insert into orgs select 'org_2', 'x', 'x', 0 from pg_sleep(60)`.execute(opened.db);
  const refused = expect(slow).rejects.toThrow(StoreUnavailable);
  await vi.waitFor(async () => expect(await sleepers(database)).toHaveLength(1));
  terminateAll(database.adminUrl);
  await refused;

  expect(await opened.store.accounts.listOrgs()).toHaveLength(1);
});

test("a silent server is unavailable, and its connection is not used again", async () => {
  await using database = await testDatabase(server.url);
  await (await openBoth(database.url))[Symbol.asyncDispose]();
  await using opened = await openBoth(`${database.url}?query_timeout=3000&pool_size=1`);
  const backend = sql<{ pid: number }>`select pg_backend_pid() as pid`;
  const pidOf = async () => (await backend.execute(opened.db)).rows[0]?.pid ?? 0;

  const silent = await pidOf();
  process.kill(silent, "SIGSTOP");
  await expect(pidOf()).rejects.toThrow(/unavailable: the database does not answer/);
  const next = await pidOf();
  process.kill(silent, "SIGCONT");

  expect(next).toBeGreaterThan(0);
  expect(next).not.toBe(silent);
});

test("timeouts, a read-only database and too many connections count as unavailable", async () => {
  await using database = await testDatabase(server.url);
  await (await openStore(database.url)).close();
  await using opened = await openBoth(`${database.url}?statement_timeout=2000&lock_timeout=500`);
  const { db, store } = opened;

  await expect(sql`select pg_sleep(5)`.execute(db)).rejects.toThrow(/unavailable: a statement took too long/);
  await db.transaction().execute(async (trx) => {
    await trx.updateTable("orgs").set({ name: "x" }).execute();
    await expect(db.updateTable("orgs").set({ name: "y" }).execute()).rejects.toThrow(/a lock .* held for too long/);
  });
  await database.query(`alter role patchbay_test in database ${new URL(database.url).pathname.slice(1)}
    set default_transaction_read_only = on`);
  terminateAll(database.adminUrl);
  await store.ping();
  await expect(store.accounts.createOrg({ ...ORG, orgId: "org_2" })).rejects.toThrow(/the database is read-only/);
  await database.query(`alter database ${new URL(database.url).pathname.slice(1)} connection limit 0`);
  await expect(openStore(database.url)).rejects.toThrow(/has reached its limit of connections/);
});

test("a deadlock is retryable, and a number beyond the safe integers is an error", async () => {
  await using database = await testDatabase(server.url);
  await using opened = await openBoth(database.url);
  const { db, dialect, store } = opened;
  await store.accounts.createOrg({ ...ORG, orgId: "org_2" });
  const both = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const crossing = [["org_1", "org_2"] as const, ["org_2", "org_1"] as const].map(([first, second], i) =>
    db.transaction().execute(async (trx) => {
      await trx.updateTable("orgs").set({ name: "x" }).where("id", "=", first).execute();
      both[i]?.resolve();
      await Promise.all(both.map(({ promise }) => promise));
      await trx.updateTable("orgs").set({ name: "x" }).where("id", "=", second).execute();
    }),
  );

  const outcomes = await Promise.allSettled(crossing);
  const failed = outcomes.filter((outcome) => outcome.status === "rejected");

  expect(failed.map(({ reason }) => dialect.retryable(reason))).toEqual([true]);
  await expect(sql`select 9007199254740993::bigint`.execute(db)).rejects.toThrow("not a safe integer");
  expect((await sql<object>`select 9007199254740991::bigint as n`.execute(db)).rows).toEqual([{ n: 9007199254740991 }]);
});

test("a run continues after the server has restarted", async () => {
  await using database = await testDatabase(server.url);
  await using opened = await openBoth(database.url);
  const { runs } = opened.store;
  const run = sampleRun({ orgId: "org_1", agentId: "agt_1" });
  await runs.start(run);
  await runs.commit({ runId: run.runId, fence: 1 }, { events: [event(1)] });

  await server.kill9();
  await expect(runs.commit({ runId: run.runId, fence: 1 }, { events: [event(2)] })).rejects.toThrow(StoreUnavailable);
  await server.start();
  await runs.commit({ runId: run.runId, fence: 1 }, { events: [event(2)] });

  expect(await runs.events(run.runId, 0, 10)).toEqual([event(1), event(2)]);
});

interface Opened extends AsyncDisposable {
  store: Store;
  /** For statements past the store's methods. */
  db: Kysely<Schema>;
  dialect: Awaited<ReturnType<typeof postgresDialect>>;
}

async function openBoth(url: string): Promise<Opened> {
  const store = await openStore(url);
  const dialect = await postgresDialect(url, { log: silentLog });
  const db = new Kysely<Schema>({ dialect: dialect.kysely });
  if (!(await store.accounts.getOrg("org_1"))) {
    await store.accounts.createOrg(ORG);
    await store.accounts.createAgent({ agentId: "agt_1", orgId: "org_1", name: "Clerk", instructions: "" });
  }
  return {
    store,
    db,
    dialect,
    async [Symbol.asyncDispose]() {
      await store.close();
      await db.destroy();
    },
  };
}

async function insertOrg(db: Kysely<Schema>, id: string): Promise<void> {
  await db.insertInto("orgs").values({ id, name: "", tier: "", created_at: 0 }).execute();
}

function sleepers(database: { query(text: string): Promise<object[]> }): Promise<object[]> {
  return database.query("select 1 from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'");
}

/** Ends the database's other sessions while this process is blocked, so that it has not noticed when this returns. */
function terminateAll(adminUrl: string): void {
  const script = `
    import { Client } from "pg";
    const client = new Client({ connectionString: process.argv[1] });
    await client.connect();
    await client.query("select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()");
    await client.end();`;
  const cwd = new URL("..", import.meta.url);
  execFileSync(process.execPath, ["--input-type=module", "-e", script, adminUrl], { cwd });
}
