import { Client } from "pg";
import { describe, expect, test } from "vitest";
import { callerIdsOf } from "@patchbay/engine/ports/callers";
import { silentLog } from "@patchbay/kit";
import { inspectStore, openStore } from "../src/open.ts";
import { earlierDatabase, emptyDatabase, ENGINE_NAMES, type MigratedPlace } from "./earlier-version/place.ts";
import { postgresPlace } from "./postgres-place.ts";

const MIGRATIONS = [
  "0001-initial-schema",
  "0039-squashed-migrations",
  "0040-reasoning-tokens",
  "0041-audit-keys",
  "0042-flow-notices",
  "0043-written-values",
  "0044-detached-calls",
  "0045-task-models",
];
const namesIn = async (place: MigratedPlace) =>
  (await place.rows("select name from kysely_migration order by name")).map(({ name }) => name as string);
const open = async ({ url }: MigratedPlace) => (await openStore(url)).close();

describe.each(ENGINE_NAMES)("a database on %s", (engine) => {
  test("that an unreleased version made is refused, with its location and a remedy", async () => {
    await using place = await emptyDatabase(engine);
    await open(place);
    await place.execute("update kysely_migration set name = '0002-audit' where name = '0001-initial-schema'");

    const refused =
      `A version of Patchbay before 0.1.0 made the database ${place.location}, ` +
      "which this version cannot read: move it away, or use an empty database.";
    await expect(openStore(place.url)).rejects.toThrow(refused);
    await expect(inspectStore(place.url)).rejects.toThrow(refused);
    await place.execute("update kysely_migration set name = '0001-initial-schema' where name = '0002-audit'");
  });

  test("has a status with what was run, what is pending and what a newer version has run", async () => {
    await using place = await earlierDatabase(engine);
    const earlier = await namesIn(place);

    expect(await inspectStore(place.url)).toEqual({
      database: place.location,
      applied: earlier,
      pending: MIGRATIONS.slice(1),
      unknown: [],
    });
    await open(place);
    expect(await inspectStore(place.url)).toMatchObject({ applied: MIGRATIONS, pending: [], unknown: [] });
    await place.execute("insert into kysely_migration values ('9999-later', '2040-01-01T00:00:00.000Z')");
    const newer = { applied: [...MIGRATIONS, "9999-later"], pending: [], unknown: ["9999-later"] };
    expect(await inspectStore(place.url)).toMatchObject(newer);
    expect(await inspectStore(place.url)).toMatchObject(newer);
    await place.execute("delete from kysely_migration where name = '9999-later'");
  });

  test("that a newer version has used is refused and stays as it is", async () => {
    await using place = await emptyDatabase(engine);
    await open(place);
    await place.execute("insert into kysely_migration values ('9999-later', '2040-01-01T00:00:00.000Z')");

    await expect(openStore(place.url)).rejects.toThrow("A newer version of Patchbay has used this database.");

    expect(await namesIn(place)).toEqual([...MIGRATIONS, "9999-later"]);
    await place.execute("delete from kysely_migration where name = '9999-later'");
  });

  test("stays unchanged by a migration that fails, and continues with it at the next start", async () => {
    await using place = await earlierDatabase(engine);
    const earlier = await namesIn(place);
    // The migration creates this table, after others.
    await place.execute("create table served (name text)");

    await expect(openStore(place.url)).rejects.toThrow(
      /^The migration 0039-squashed-migrations failed and changed nothing: .*served.* already exists/,
    );

    expect(await namesIn(place)).toEqual(earlier);
    await expect(place.rows("select * from upkeep")).rejects.toThrow("upkeep");
    await place.execute("drop table served");
    await open(place);
    expect(await inspectStore(place.url)).toMatchObject({ applied: MIGRATIONS, pending: [], unknown: [] });
  });

  test("of the earlier version gets the schema of a new one and keeps its rows", async () => {
    await using fresh = await emptyDatabase(engine);
    await fresh.drop();
    await open(fresh);
    await using place = await earlierDatabase(engine);
    const before = new Map<string, Awaited<ReturnType<typeof rowsOf>>>();
    for (const table of await tablesOf(place)) before.set(table, await rowsOf(place, table));
    expect([...before].filter(([, rows]) => rows.length === 0)).toEqual([]);

    await open(place);

    expect(await place.schema()).toEqual(await fresh.schema());
    expect(await namesIn(place)).toEqual(await namesIn(fresh));
    for (const [table, rows] of before) {
      const kept = (await rowsOf(place, table)).filter(({ action }) => action !== "audit.deleted");
      expect(kept, table).toMatchObject(rows);
      expect(kept, table).toHaveLength(rows.length);
    }
    expect(await place.rows("select last_at, since, gap_from from served")).toEqual([
      { last_at: Date.UTC(2030, 0, 1, 0, 1, 30), since: Date.UTC(2030, 0, 1, 0, 1, 30), gap_from: null },
    ]);
  });

  test("of the earlier version is read, written and searched", async () => {
    await using place = await earlierDatabase(engine);
    await using store = Object.assign(await openStore(place.url), { [Symbol.asyncDispose]: () => store.close() });

    expect(await store.accounts.grant("org_1", -500)).toBe(4_999_500);
    expect(await store.runs.get("agt_1", "run_ada_2")).toMatchObject({
      status: "succeeded",
      callerId: callerIdsOf({ subject: "ada" })[0],
      result: { response: "Two orders are late, ada." },
    });
    const user = { agentId: "agt_1", keyId: "key_1" };
    expect(await store.runs.findByIdempotencyKey(user, "once")).toEqual({ runId: "run_ada_2", bodyHash: "b1" });
    const { items } = await store.threads.list("agt_1", { limit: 9 });
    expect(items).toHaveLength(4);
    expect(await store.runs.events("run_ada_2", 0, 9)).toHaveLength(2);
  });

  test("of the earlier version gives runs and threads the callers that their subjects name", async () => {
    await using place = await earlierDatabase(engine);

    await open(place);

    const callerOf = (subject: string) => callerIdsOf({ subject })[0];
    const owners = {
      thr_ada: callerOf("ada"),
      thr_nobody: null,
      thr_odd: callerOf('a"b,"caller":"x\u0000'),
      thr_services: null,
    };
    const threads = await place.rows("select id, caller_id from threads order by id");
    expect(Object.fromEntries(threads.map(({ id, caller_id }) => [id, caller_id]))).toEqual(owners);
    const roles = await place.rows("select thread_id as id, caller_id from thread_roles order by thread_id");
    expect(roles).toEqual(threads);
    const runs = await place.rows("select thread_id, caller_id from runs where position = 2 order by thread_id");
    expect(runs.map(({ caller_id }) => caller_id)).toEqual(Object.values(owners));
  });

  test("that has run the last separate migrations opens unchanged", async () => {
    await using place = await earlierDatabase(engine);
    const earlier = (await namesIn(place)).slice(1);
    await open(place);
    const schema = await place.schema();
    const rows = () => place.rows("select * from audit order by id");
    const before = await rows();
    await place.execute("delete from kysely_migration where name = '0039-squashed-migrations'");
    const separate = "callers retries quarantine audit-heads served request-keys makers upkeep".split(" ");
    const names = [...earlier, ...separate.map((name, index) => `00${31 + index}-${name}`)];
    await place.execute(`insert into kysely_migration values ${names.map((name) => `('${name}', '2026')`).join(", ")}`);

    await open(place);

    expect(await namesIn(place)).toEqual(MIGRATIONS);
    expect(await place.schema()).toEqual(schema);
    expect(await rows()).toEqual(before);
  });

  test.each(["0018-waiting-times", "0034-audit-heads"])("whose last migration is %s is refused", async (last) => {
    await using place = await earlierDatabase(engine);
    await place.execute(`delete from kysely_migration where name > '${last}'`);
    await place.execute(`insert into kysely_migration values ('${last}', '2026') on conflict do nothing`);

    const refused =
      `The last migration of the database ${place.location} is ${last}. This version continues only after 0030-feedback-tags ` +
      "or 0038-upkeep, and has no migrations before them. Run `patchbay db migrate` of an earlier version that ends with " +
      "one of these two, then start this version.";
    await expect(openStore(place.url)).rejects.toThrow(refused);
    await expect(inspectStore(place.url)).rejects.toThrow(refused);
    await place.drop();
  });
});

/** Tables with rows: not the migrations, nor the parts of the index of words. */
async function tablesOf(place: MigratedPlace): Promise<string[]> {
  const { columns } = await place.schema();
  const names = (columns as string[]).map((column) => (JSON.parse(column) as string[])[0]!);
  return [...new Set(names)].filter((name) => !/^(run_words|kysely|sqlite)/.test(name));
}

async function rowsOf(place: MigratedPlace, table: string) {
  const rows = await place.rows(`select * from ${table}`);
  const keyOf = (row: object) => JSON.stringify(Object.values(row).slice(0, 3));
  return rows.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
}

test("a migration on Postgres waits for a table in use, and lets others use it meanwhile", async () => {
  await using place = await earlierDatabase("Postgres");
  const reader = new Client({ connectionString: place.url, options: "-c patchbay.org=*" });
  await reader.connect();
  await reader.query("begin; lock table runs in access share mode");
  const waited = Promise.withResolvers<void>();
  const warn = (message: string): void => void (message.startsWith("a migration waits") && waited.resolve());

  const opening = openStore(place.url, { log: { ...silentLog, warn } });
  await waited.promise;
  // Behind a migration that waited without end, this would wait too.
  expect(await place.rows("select count(*) as runs from runs")).toEqual([{ runs: 12 }]);
  expect((await inspectStore(place.url)).pending).toEqual(MIGRATIONS.slice(1));
  await reader.query("commit");
  await reader.end();

  await (await opening).close();
  expect(await inspectStore(place.url)).toMatchObject({ pending: [] });
});

test("no foreign key of a row that a query writes points at its organisation or agent on Postgres", async () => {
  await using place = await postgresPlace();
  await (await openStore(place.database.url)).close();

  const keys = await place.rows(`select conrelid::regclass::text as name, confrelid::regclass::text as target
    from pg_constraint where contype = 'f' and confrelid in ('orgs'::regclass, 'agents'::regclass)`);

  const written = ["sessions", "threads", "runs", "usage", "ledger", "audit", "calls", "turns"];
  expect(keys.filter(({ name }) => written.some((table) => table === name))).toEqual([]);
  expect(keys.map(({ name }) => name)).toContain("credentials");
});
