import { type Dialect, Kysely } from "kysely";
import { Client } from "pg";
import { describe, expect, test } from "vitest";
import { silentLog } from "../../src/ports/log.ts";
import { postgresDialect } from "../../src/store/dialect/postgres.ts";
import { sqliteDialect } from "../../src/store/dialect/sqlite.ts";
import { migrate } from "../../src/store/migrate.ts";
import { inspectStore, openStore } from "../../src/store/open.ts";
import { sampleRequest, sampleRun } from "./contract/world.ts";
import type { Schema } from "../../src/store/schema.ts";
import { postgresPlace } from "./postgres-place.ts";
import { sqlitePlace } from "./sqlite-place.ts";

const ENGINES = {
  async SQLite() {
    const place = await sqlitePlace();
    return {
      place,
      url: place.url,
      location: place.file,
      withoutTables: [],
      dialect: async () => sqliteDialect(place.file).kysely,
    };
  },
  async Postgres() {
    const place = await postgresPlace();
    const { url } = place.database;
    const dialect = async () => (await postgresDialect(url, { log: silentLog })).patient;
    // An earlier test may have used the database.
    const withoutTables = ["drop schema public cascade", "create schema public authorization pg_database_owner"];
    return { place, url, location: url.replace(/:[^:@]*@/, "@"), withoutTables, dialect };
  },
};

describe.each(Object.keys(ENGINES) as (keyof typeof ENGINES)[])("a database on %s", (engine) => {
  test("that an unreleased version made is refused, with its location and a remedy", async () => {
    const { place, url, location } = await ENGINES[engine]();
    await using _place = place;
    await (await openStore(url)).close();
    await place.execute("update kysely_migration set name = '0002-audit' where name = '0001-initial-schema'");

    const refused =
      `A version of Patchbay before 0.1.0 made the database ${location}, ` +
      "which this version cannot read: move it away, or use an empty database.";
    await expect(openStore(url)).rejects.toThrow(refused);
    await expect(inspectStore(url)).rejects.toThrow(refused);
    await place.execute("update kysely_migration set name = '0001-initial-schema' where name = '0002-audit'");
  });

  test("has a status with what was run, what is pending and what a newer version has run", async () => {
    const { place, url, location } = await ENGINES[engine]();
    await using _place = place;
    await (await openStore(url)).close();
    const current = await inspectStore(url);
    expect(current).toMatchObject({ database: location, pending: [], unknown: [] });
    const rows = await place.rows("select name, timestamp from kysely_migration order by name");
    expect(current.applied).toEqual(rows.map(({ name }) => name));
    const last = rows.at(-1) as { name: string; timestamp: string };

    await place.execute("insert into kysely_migration values ('9999-later', '2040-01-01T00:00:00.000Z')");
    await place.execute(`delete from kysely_migration where name = '${last.name}'`);

    const changed = await inspectStore(url);
    expect(changed).toMatchObject({ pending: [last.name], unknown: ["9999-later"] });
    expect(changed.applied).toEqual([...current.applied.slice(0, -1), "9999-later"]);
    expect(await inspectStore(url)).toEqual(changed);
    await place.execute(`insert into kysely_migration values ('${last.name}', '${last.timestamp}')`);
    await place.execute("delete from kysely_migration where name = '9999-later'");
  });

  test("that a newer version has used is refused and stays as it is", async () => {
    const { place, url } = await ENGINES[engine]();
    await using _place = place;
    await (await openStore(url)).close();
    const executed = () => place.rows("select name from kysely_migration order by name");
    const before = await executed();
    await place.execute("insert into kysely_migration values ('9999-later', '2040-01-01T00:00:00.000Z')");

    await expect(openStore(url)).rejects.toThrow("A newer version of Patchbay has used this database.");

    expect(await executed()).toEqual([...before, { name: "9999-later" }]);
    await place.execute("delete from kysely_migration where name = '9999-later'");
  });

  test("keeps the migrations before one that fails, and continues with it at the next start", async () => {
    const { place, url, dialect, withoutTables } = await ENGINES[engine]();
    await using _place = place;
    for (const statement of withoutTables) await place.execute(statement);
    await migrateTo("0018-waiting-times", await dialect(), engine);
    // The migration creates this table, after another one.
    await place.execute("create table first_start (name text)");

    await expect(openStore(url)).rejects.toThrow(
      /^The migration 0024-service-tokens failed and changed nothing: .*first_start.* already exists/,
    );

    const { applied, pending } = await inspectStore(url);
    expect([applied.at(-1), pending[0]]).toEqual(["0023-traces", "0024-service-tokens"]);
    await expect(place.rows("select * from service_tokens")).rejects.toThrow("service_tokens");
    await place.execute("drop table first_start");
    await (await openStore(url)).close();
    expect(await inspectStore(url)).toMatchObject({ pending: [], unknown: [] });
    expect(await place.rows("select * from first_start")).toEqual([]);
  });

  test("of the version before keeps its balances", async () => {
    const { place, url, dialect, withoutTables } = await ENGINES[engine]();
    await using _place = place;
    for (const statement of withoutTables) await place.execute(statement);
    await migrateTo("0002-service-address", await dialect(), engine);
    await place.execute(
      `insert into orgs (id, name, tier, created_at, balance_micros)
        values ('org_rich', 'R', 'starter', 0, 1500), ('org_poor', 'P', 'starter', 0, 0)`,
    );

    await using store = await opened(url);

    expect(await store.accounts.balance("org_rich")).toBe(1500);
    expect(await store.accounts.balance("org_poor")).toBe(0);
    expect(await store.accounts.grant("org_rich", -500)).toBe(1000);
    expect(await store.accounts.grant("org_poor", 7)).toBe(7);
    await expect(store.accounts.grant("org_poor", -8)).rejects.toThrow("would fall below 0");
  });

  test("of the version before keeps test calls and queries apart", async () => {
    const { place, url } = await ENGINES[engine]();
    await using _place = place;
    const of = { orgId: "org_1", agentId: "agt_1", newThread: true };
    const called = sampleRequest({ provider: "test_call", model: "test_call" });
    {
      await using store = await opened(url);
      await store.accounts.createOrg({ orgId: "org_1", name: "Desk", tier: "starter" });
      await store.accounts.createAgent({ agentId: "agt_1", orgId: "org_1", name: "Clerk", instructions: "" });
      await store.runs.start(sampleRun({ ...of, threadId: "thr_call", keyId: "mem_1", request: called }));
      await store.runs.start(sampleRun({ ...of, threadId: "thr_own", keyId: "mem_1" }));
      await store.runs.start(sampleRun({ ...of, threadId: "thr_context", request: called }));
    }
    for (const statement of BEFORE_KINDS) await place.execute(statement);

    await using store = await opened(url);

    expect(await place.rows("select thread_id, kind from runs order by thread_id")).toEqual([
      { thread_id: "thr_call", kind: "call" },
      { thread_id: "thr_context", kind: "query" },
      { thread_id: "thr_own", kind: "query" },
    ]);
    for (const asked of [{}, { roles: [] }]) {
      const { items } = await store.threads.list("agt_1", { limit: 5, ...asked });
      expect(items.map(({ threadId }) => threadId).toSorted()).toEqual(["thr_context", "thr_own"]);
    }
  });
});

test("a migration on Postgres waits for a table in use, and lets others use it meanwhile", async () => {
  const { place, url, dialect, withoutTables } = await ENGINES.Postgres();
  await using _place = place;
  for (const statement of withoutTables) await place.execute(statement);
  await migrateTo("0018-waiting-times", await dialect(), "Postgres");
  const reader = new Client({ connectionString: place.database.adminUrl });
  await reader.connect();
  await reader.query("begin; lock table runs in access share mode");
  const waited = Promise.withResolvers<void>();
  const warn = (message: string): void => void (message.startsWith("a migration waits") && waited.resolve());

  const opening = openStore(url, { log: { ...silentLog, warn } });
  await waited.promise;
  // Behind a migration that waited without end, this would wait too.
  expect(await place.rows("select count(*) as runs from runs")).toEqual([{ runs: 0 }]);
  expect((await inspectStore(url)).pending[0]).toBe("0019-run-kinds");
  await reader.query("commit");
  await reader.end();

  await (await opening).close();
  expect(await inspectStore(url)).toMatchObject({ pending: [] });
});

/** Takes the migrations from the run kinds on back. */
const BEFORE_KINDS = [
  "drop index feedback_tagged",
  "create index runs_by_agent on runs (agent_id, created_at)",
  "drop index runs_of_agent",
  "drop index runs_left",
  "alter table runs drop column left_as",
  "alter table manifests drop column reported_cases",
  "alter table manifests drop column access_lock",
  "alter table manifests drop column lock_since",
  "alter table sign_in_links drop column created_by_token",
  "drop table service_tokens",
  "alter table runs drop column trace",
  "drop index run_facts_by_request",
  "drop table client_tokens",
  "drop table first_start",
  "drop table thread_keys",
  "drop index threads_by_update",
  "drop index thread_roles_by_update",
  ...["runs drop column kind", "threads drop column listed", "thread_roles drop column listed"].map(
    (change) => `alter table ${change}`,
  ),
  "create index threads_by_update on threads (agent_id, updated_at, id)",
  "create index thread_roles_by_update on thread_roles (agent_id, role, updated_at, thread_id)",
  "delete from kysely_migration where name >= '0019'",
];

async function migrateTo(last: string, dialect: Dialect, engine: keyof typeof ENGINES): Promise<void> {
  const db = new Kysely<Schema>({ dialect });
  const options = { location: "the database", rowLevelSecurity: engine === "Postgres", log: silentLog };
  await migrate(db, options, last);
  await db.destroy();
}

async function opened(url: string) {
  const store = await openStore(url);
  return Object.assign(store, { [Symbol.asyncDispose]: () => store.close() });
}

test("no foreign key of a row that a query writes points at its organisation or agent on Postgres", async () => {
  await using place = await postgresPlace();
  await (await openStore(place.database.url)).close();

  const keys = await place.rows(`select conrelid::regclass::text as name, confrelid::regclass::text as target
    from pg_constraint where contype = 'f' and confrelid in ('orgs'::regclass, 'agents'::regclass)`);

  const written = ["sessions", "threads", "runs", "usage", "ledger", "audit", "calls", "turns"];
  expect(keys.filter(({ name }) => written.some((table) => table === name))).toEqual([]);
  expect(keys.map(({ name }) => name)).toContain("credentials");
});
