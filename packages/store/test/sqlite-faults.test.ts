import { mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { Kysely, sql } from "kysely";
import { expect, test } from "vitest";
import { StoreUnavailable } from "@patchbay/engine/ports/store/run-store";
import { BackupFailed } from "../src/backup.ts";
import { sqliteDialect } from "../src/dialect/sqlite.ts";
import { NO_FILES, ping, transact } from "../src/engine.ts";
import { openStore } from "../src/open.ts";
import type { Schema } from "../src/tables/schema.ts";

import { event, HandClock, openWorld } from "./contract/world.ts";
import { sqlitePlace } from "./sqlite-place.ts";
import { StoreHealth } from "../src/health.ts";

test("the store waits for a database locked by another process without blocking this one", async () => {
  await using place = await sqlitePlace();
  const store = await place.open(new HandClock());
  const other = new DatabaseSync(place.file);
  other.exec("begin immediate");

  const created = store.accounts.createOrg({ orgId: "org_1", name: "Desk", tier: "sandbox" });
  await new Promise((resolve) => setImmediate(resolve));
  other.exec("commit");
  await created;

  expect(await store.accounts.getOrg("org_1")).toMatchObject({ name: "Desk" });
  other.close();
  await store.close();
});

test("a database is opened while another connection of the process writes to it", async () => {
  await using place = await sqlitePlace();
  const store = await place.open(new HandClock());
  const other = new DatabaseSync(place.file);
  other.exec("begin immediate");

  const opened = sqliteDialect(place.file);
  other.exec("commit");

  const db = new Kysely<Schema>({ dialect: opened.kysely });
  await db.updateTable("orgs").set({ name: "Desk" }).execute();
  await db.destroy();
  other.close();
  await store.close();
});

test("a database locked for too long is unavailable, and works again afterwards", async () => {
  await using place = await sqlitePlace();
  const other = new DatabaseSync(place.file);
  other.exec("create table notes (text text); pragma journal_mode = wal; begin immediate");
  const db = new Kysely<{ notes: { text: string } }>({
    dialect: sqliteDialect(place.file, { busyTimeoutMs: 20 }).kysely,
  });
  const write = () => db.insertInto("notes").values({ text: "x" }).execute();

  await expect(write()).rejects.toThrow(StoreUnavailable);
  await expect(db.transaction().execute(async () => {})).rejects.toThrow(StoreUnavailable);
  other.exec("commit");
  await write();

  other.close();
  await db.destroy();
});

test("a write to a full disk fails as unavailable, loses nothing, and works again later", async () => {
  await using place = await sqlitePlace();
  const db = new Kysely<{ notes: { text: string } }>({ dialect: sqliteDialect(place.file).kysely });
  await db.schema.createTable("notes").addColumn("text", "text").execute();
  const write = (text: string) =>
    db.transaction().execute((trx) => trx.insertInto("notes").values({ text }).executeTakeFirst());
  await write("small");

  await sql`pragma max_page_count = 1`.execute(db);
  await expect(write("x".repeat(100_000))).rejects.toThrow(/The store is unavailable: the disk is full/);
  await sql`pragma max_page_count = 10000`.execute(db);
  await write("again");

  expect((await db.selectFrom("notes").select("text").execute()).map(({ text }) => text)).toEqual(["small", "again"]);
  await db.destroy();
});

test("a database that cannot be opened is unavailable", async () => {
  await using place = await sqlitePlace();
  await mkdir(join(place.folder, "a-folder"));

  await expect(openStore(`sqlite:${join(place.folder, "a-folder")}`)).rejects.toThrow(StoreUnavailable);
});

test("an unsupported address is refused with an example", async () => {
  await expect(openStore("mysql://localhost/x")).rejects.toThrow(/sqlite:PATH or postgres:/);
  await expect(openStore("patchbay.db")).rejects.toThrow("for example sqlite:./data/patchbay.db");
  await expect(openStore("sqlite:")).rejects.toThrow("must be sqlite:PATH");
});

test("a store in memory works, and the folder of a file is created if necessary", async () => {
  await using place = await sqlitePlace();
  const memory = await openStore("sqlite::memory:");
  const nested = await openStore(`sqlite:${join(place.folder, "a", "b", "patchbay.db")}`);

  await memory.accounts.createOrg({ orgId: "org_1", name: "Desk", tier: "sandbox" });

  expect(await memory.accounts.listOrgs()).toHaveLength(1);
  expect(await nested.accounts.listOrgs()).toEqual([]);
  await Promise.all([memory.close(), nested.close()]);
});

test("times come from the database's own clock when none is given", async () => {
  const store = await openStore("sqlite::memory:");
  const before = Date.now();

  await store.accounts.createOrg({ orgId: "org_1", name: "Desk", tier: "sandbox" });
  await store.accounts.createAgent({ agentId: "agt_1", orgId: "org_1", name: "Clerk", instructions: "" });
  await store.audit.record([{ orgId: "org_1", agentId: "agt_1", action: "agent.created" }]);

  const [entry] = (await store.audit.list({ agentId: "agt_1", limit: 1 })).items;
  expect(entry?.at).toBeGreaterThanOrEqual(before - 1);
  expect(entry?.at).toBeLessThanOrEqual(Date.now());
  await store.close();
});

test("every commit waits for the disk, and foreign keys are enforced", async () => {
  const db = new Kysely<object>({ dialect: sqliteDialect(":memory:").kysely });
  const read = async (name: string) =>
    Object.values((await sql.raw<object>(`pragma ${name}`).execute(db)).rows[0] ?? {});

  expect([await read("synchronous"), await read("foreign_keys")]).toEqual([[2], [1]]);
  await db.destroy();
});

test("a backup made during writes is consistent and opens as a store", async () => {
  const place = await sqlitePlace();
  await using world = await openWorld(async () => place);
  const runs = await Promise.all(Array.from({ length: 20 }, () => world.start()));
  const file = join(place.folder, "copy.db");

  const writing = runs.map((run) => world.store.runs.commit(run, { events: [event(1)] }));
  const backup = world.store.backup(file);
  await Promise.all([...writing, backup]);

  const copy = await openStore(`sqlite:${file}`);
  expect(await copy.runs.list(world.agentId, { limit: 100 })).toHaveLength(20);
  await copy.close();
  expect((await stat(file)).mode & 0o777).toBe(0o600);
});

test("a backup overwrites no file and leaves no partial one", async () => {
  await using place = await sqlitePlace();
  const store = await place.open(new HandClock());
  const file = join(place.folder, "precious");
  await writeFile(file, "precious");

  await expect(store.backup(file)).rejects.toThrow(BackupFailed);
  await expect(store.backup(join(place.folder, "none", "copy.db"))).rejects.toThrow(/folder that exists/);

  expect(await readFile(file, "utf8")).toBe("precious");
  await store.close();
});

test("a store that failed to write fails its ping until the next write succeeds", async () => {
  await using place = await sqlitePlace();
  const store = await place.open(new HandClock());
  await store.accounts.createOrg({ orgId: "org_1", name: "Desk", tier: "sandbox" });
  const dialect = sqliteDialect(place.file, { busyTimeoutMs: 20 });
  const db = new Kysely<Schema>({ dialect: dialect.kysely });
  const engine = { db, reads: db, urgent: db, dialect, files: NO_FILES, health: new StoreHealth() };
  const other = new DatabaseSync(place.file);
  other.exec("begin immediate");

  await ping(engine);
  await expect(transact(engine, async () => {})).rejects.toThrow(StoreUnavailable);
  await expect(ping(engine)).rejects.toThrow(StoreUnavailable);
  other.exec("commit");
  await ping(engine);

  expect(engine.health.writable).toBe(true);
  other.close();
  await db.destroy();
  await store.close();
});
