import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { Kysely, sql } from "kysely";
import { expect, test, vi } from "vitest";
import { sqliteDialect } from "../src/dialect/sqlite.ts";
import { lockStore, openStore } from "../src/open.ts";
import { event, openWorld, sampleCall, sampleRequest, sampleTurn } from "./contract/world.ts";
import { sqlitePlace } from "./sqlite-place.ts";

const CANARY = "canary-4711";

test("only the owner can read the files of a database, whatever the umask and the folder's mode", async () => {
  await using place = await sqlitePlace();
  const umask = process.umask(0);
  try {
    await using _lock = await lockStore(place.url);
    const store = await openStore(place.url);
    await store.accounts.createOrg({ orgId: "org_1", name: "Desk", tier: "sandbox" });
    await store.backup(join(place.folder, "backup.db"));

    const files = await readdir(place.folder);
    const modes = await Promise.all(files.map(async (file) => (await stat(join(place.folder, file))).mode & 0o777));

    expect(Object.fromEntries(files.map((file, i) => [file, modes[i]]))).toEqual({
      "backup.db": 0o600,
      "patchbay.db": 0o600,
      "patchbay.db-shm": 0o600,
      "patchbay.db-wal": 0o600,
      "patchbay.db.lock": 0o600,
      "patchbay.db.lock-journal": 0o600,
    });
    await store.close();
  } finally {
    process.umask(umask);
  }
});

test("the text of an erased thread is in no file of the database, while the store stays open", async () => {
  await using world = await openWorld(sqlitePlace);
  const place = world.place as Awaited<ReturnType<typeof sqlitePlace>>;
  // Its rows share pages with those of other threads, and its longest text has pages of its own.
  await writeThreads(world, "kept", 20);
  const erased = await writeThreads(world, CANARY, 20);
  await writeThreads(world, "kept", 20);
  expect(await filesWith(place.folder, CANARY)).not.toEqual([]);

  for (const threadId of erased) await world.store.threads.erase(world.agentId, threadId);

  await vi.waitFor(async () => expect(await filesWith(place.folder, CANARY)).toEqual([]));
  expect(await filesWith(place.folder, "kept")).toContain("patchbay.db");
});

test("the text of an erased thread is removed when a reader of an older state has ended", async () => {
  await using world = await openWorld(sqlitePlace);
  const place = world.place as Awaited<ReturnType<typeof sqlitePlace>>;
  const [threadId = ""] = await writeThreads(world, CANARY, 1);
  const reader = new DatabaseSync(place.file);
  reader.exec("begin; select * from threads");

  await world.store.threads.erase(world.agentId, threadId);
  await world.store.threads.exists(world.agentId, threadId);
  reader.exec("commit");
  reader.close();

  await vi.waitFor(async () => expect(await filesWith(place.folder, CANARY)).toEqual([]));
});

test("a sweep returns the space of deleted rows to the disk", async () => {
  await using place = await sqlitePlace();
  const store = await openStore(place.url);
  await place.execute("create table notes (text text)");
  const execute = (statement: string) => place.execute(statement);
  await execute(
    "with recursive n(i) as (select 1 union all select i + 1 from n where i < 4000) insert into notes select hex(randomblob(4000)) from n",
  );
  const pages = async () => (await place.rows("pragma page_count"))[0]!["page_count"] as number;
  const full = await pages();
  await execute("delete from notes");

  await store.sweep({ days: 1 });

  expect(full).toBeGreaterThan(8_000);
  expect(await pages()).toBeLessThan(2_000);
  expect(await place.rows("pragma integrity_check")).toEqual([{ integrity_check: "ok" }]);
  await store.close();
});

test("a long read holds up neither writes nor other statements", async () => {
  await using place = await sqlitePlace();
  const dialect = sqliteDialect(place.file);
  const [db, reads] = [dialect.kysely, dialect.reads!].map((dialect) => new Kysely<object>({ dialect }));
  await sql`create table notes (text text)`.execute(db!);
  const done: string[] = [];

  const long =
    sql`with recursive n(i) as (select 1 union all select i + 1 from n where i < 3000000) select count(*) from n`
      .execute(reads!)
      .then(() => done.push("read"));
  await sql`insert into notes values ('a')`.execute(db!);
  done.push("write");
  const next = sql<{ text: string }>`select text from notes`.execute(reads!);
  await long;

  expect(done).toEqual(["write", "read"]);
  expect((await next).rows).toEqual([{ text: "a" }]);
  await reads!.destroy();
  await db!.destroy();
});

test("reads cannot write, and a failed read does not affect later ones", async () => {
  await using place = await sqlitePlace();
  const dialect = sqliteDialect(place.file);
  const [db, reads] = [dialect.kysely, dialect.reads!].map((dialect) => new Kysely<object>({ dialect }));
  await sql`create table notes (text text)`.execute(db!);

  await expect(sql`insert into notes values ('a')`.execute(reads!)).rejects.toThrow("the database is read-only");
  await expect(sql`select * from missing`.execute(reads!)).rejects.toThrow("no such table: missing");
  expect((await sql`select * from notes`.execute(reads!)).rows).toEqual([]);

  await reads!.destroy();
  await expect(sql`select * from notes`.execute(reads!)).rejects.toThrow();
  await db!.destroy();
});

async function writeThreads(world: Awaited<ReturnType<typeof openWorld>>, word: string, count: number) {
  const ids: string[] = [];
  for (let i = 0; i < count; i++) {
    const text = `${word} ${"x".repeat(i * 400)} ${word}`;
    const run = await world.start({ request: sampleRequest({ query: text, context: { text } }) });
    ids.push(run.threadId);
    const call = sampleCall(`c_${run.runId}`, { arguments: { text }, outcome: { ok: true, value: text } });
    await world.store.runs.commit(run, { events: [event(1, text)], turn: sampleTurn(0), calls: [call] });
    await world.finish({ ...run, lastSeq: 1 }, {}, text);
  }
  return ids;
}

async function filesWith(folder: string, text: string): Promise<string[]> {
  const files = await readdir(folder);
  const bytes = await Promise.all(files.map((file) => readFile(join(folder, file))));
  return files.filter((_, i) => bytes[i]!.includes(text));
}
