import { DatabaseSync } from "node:sqlite";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { seedStatements } from "../../bench/seed.ts";
import { embedded, tablesOf } from "../../bench/storage.ts";

const TABLES = `
  create table threads (id text primary key, title text, created_at bigint);
  create table runs (id text primary key, thread_id text references threads (id), result text, finished_at bigint, created_at bigint);
  create table run_events (run_id text references runs (id), seq integer, body text, primary key (run_id, seq));
  create table thread_roles (thread_id text references threads (id), role text);
  create table orgs (id text primary key, name text);
  insert into orgs values ('org', 'Bench');
`;
const LONG = "a text that is longer than forty characters";

function addRuns(database: DatabaseSync, count: number): void {
  for (let i = 0; i < count; i++)
    database.exec(`
      insert into threads values ('thread${i}', 'title', ${1e12 + i});
      insert into runs values ('run${i}', 'thread${i}', '${LONG}', ${1e12 + i}, ${1e12 + i});
      insert into run_events values ('run${i}', 1, '${LONG}'), ('run${i}', 2, 'short');
      insert into thread_roles values ('thread${i}', 'support');`);
}

function seeded(stored: number, seed: { runs: number; newest: number }) {
  const database = new DatabaseSync(":memory:");
  database.exec(TABLES);
  addRuns(database, stored);
  for (const statement of seedStatements(tablesOf(database), seed)) database.exec(statement);
  return (sql: string) => database.prepare(sql).all();
}

test("the newest runs are copied with all their rows and ids of their own, and refer to their own rows", () => {
  const rows = seeded(25, { runs: 200, newest: 40 });

  expect(rows("select count(*) as runs, count(distinct thread_id) as threads from runs")).toEqual([
    { runs: 225, threads: 225 },
  ]);
  expect(rows("select count(*) as count from run_events")).toEqual([{ count: 450 }]);
  expect(rows("select count(*) as count from thread_roles")).toEqual([{ count: 225 }]);
  expect(rows("pragma foreign_key_check")).toEqual([]);
  expect(rows("select count(*) as count from runs where id like 'run4!_%' escape '!'")).toEqual([{ count: 0 }]);
  expect(rows("select count(*) as count from runs where id like 'run5!_%' escape '!'")).toEqual([{ count: 10 }]);
  expect(rows("select name from orgs")).toEqual([{ name: "Bench" }]);
});

test("only the long texts of old copies are shortened, and copies are older than the runs", () => {
  const rows = seeded(20, { runs: 200, newest: 40 });

  expect(rows("select body, count(*) as count from run_events group by body order by body")).toEqual([
    { body: LONG, count: 60 },
    { body: "short", count: 220 },
    { body: "{}", count: 160 },
  ]);
  expect(rows("select max(created_at) as newest from runs where id like '%!_%' escape '!'")).toEqual([
    { newest: 1e12 + 19 - 20 * 8_640 },
  ]);
  expect(
    rows(
      "select count(*) as count from runs old join runs new on old.result = '{}' and new.result <> '{}' and old.created_at > new.created_at",
    ),
  ).toEqual([{ count: 0 }]);
});

test("a copy of the embedded database is seeded in its file, without changing the template", async () => {
  const folder = mkdtempSync(join(tmpdir(), "patchbay-seed-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const storage = embedded(folder);
  using template = new DatabaseSync(join(folder, "template/patchbay.db"));
  template.exec(TABLES);
  addRuns(template, 20);

  await using copy = await storage.copy();
  const before = await copy.bytes();
  await copy.seed({ runs: 2_000, newest: 100 });

  expect(await copy.bytes()).toBeGreaterThan(before + 2_000 * 50);
  expect(template.prepare("select count(*) as count from runs").all()).toEqual([{ count: 20 }]);
});
