import { AsyncLocalStorage } from "node:async_hooks";
import { resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { wallMs } from "@patchbay/kit/time";
import { sql } from "kysely";
import type { Clock } from "@patchbay/engine/ports/clock";
import { createPrivateFile, refuseUnfinishedRestore } from "./sqlite-files.ts";
import { adaptSqlite, sqliteWith, translateSqliteError } from "@patchbay/database/sqlite-database";
import { GroupingSqliteDriver, GroupUndone } from "@patchbay/database/sqlite-driver";

import { sqliteReader } from "@patchbay/database/sqlite-reader";
import type { StoreDialect } from "../engine.ts";

/** SQLite's own waiting, only while the database is opened. Later statements wait without blocking the event loop. */
const OPENING_TIMEOUT_MS = 5000;

/**
 * Opens the embedded database. A `clock` replaces SQLite's clock, which is the machine's. A database in memory has the process's
 * clock, so that a test that replaces `Date` has one time.
 */
export function sqliteDialect(
  path: string,
  options: { clock?: Pick<Clock, "now"> | undefined; busyTimeoutMs?: number; readOnly?: boolean } = {},
): StoreDialect {
  const { clock = path === MEMORY ? { now: wallMs } : undefined, busyTimeoutMs = 5000, readOnly = false } = options;
  const database = openDatabase(path, readOnly);
  const reader = path === MEMORY ? undefined : new DatabaseSync(path, { readOnly: true, timeout: 0 });
  const now = clock && (() => Math.trunc(clock.now()));
  if (now) for (const one of [database, reader]) one?.function("now_ms", now);
  const served = new AsyncLocalStorage<string>();
  const client = (): string => served.getStore() ?? "";
  const driverOptions = { busyTimeoutMs, client, ...(reader && { reader: adaptSqlite(reader) }) };
  return {
    kysely: sqliteWith(() => new GroupingSqliteDriver(adaptSqlite(database), driverOptions)),
    ...(path !== MEMORY && { reads: sqliteReader(path, now) }),
    now: clock ? sql`now_ms()` : sql`cast(unixepoch('subsec') * 1000 as integer)`,
    used() {
      const { user, system } = process.threadCpuUsage();
      return (user + system) / 1000;
    },
    // Commits follow one another, and none takes seconds.
    oldestWriteMs: sql`0`,
    // SQLite has one writer at a time, so rows need no locks.
    lockForClaim: (query) => query,
    lockShared: (query) => query,
    indexOf: (text, part) => sql`instr(${text}, ${sql.lit(part)})`,
    rowsOf(json, { names }) {
      const values = names.map((name) => sql`value ->> ${sql.lit(name)} as ${sql.id(name)}`);
      return sql`(select ${sql.join(values)} from json_each(${json}))`;
    },
    storedWords: (words) => sql`${words}`,
    hasWords: (words) =>
      sql`run_facts.id in (select rowid from run_words where run_words match ${`${words.map((word) => `"${word}"`).join(" ")}*`})`,
    retryable: (error) => error instanceof GroupUndone,
    scope: client,
    within: (orgId, work) => served.run(orgId, work),
  };
}

const MEMORY = ":memory:";

/** A `sqlite:` address's file; undefined for an in-memory database. */
export function sqliteFile(url: string): string | undefined {
  const path = url.slice("sqlite:".length);
  return path === MEMORY ? undefined : resolve(path);
}

/**
 * `synchronous = full` makes every commit wait for the disk: with less, a power failure could undo commits that clients have
 * already seen. `busy_timeout = 0` because the driver waits itself.
 */
function openDatabase(path: string, readOnly: boolean): DatabaseSync {
  try {
    if (readOnly) return new DatabaseSync(path, { timeout: OPENING_TIMEOUT_MS, readOnly });
    if (path !== MEMORY) {
      refuseUnfinishedRestore(path);
      createPrivateFile(path);
    }
    const database = new DatabaseSync(path, { timeout: OPENING_TIMEOUT_MS, enableForeignKeyConstraints: true });
    // Only effective in a new file, before the first write. In an existing one it would wait for the lock of a write in
    // progress, which a write in this process never releases while the opening blocks it.
    const isNew = database.prepare("pragma page_count").get()!["page_count"] === 0;
    if (isNew) database.exec("pragma auto_vacuum = incremental");
    database.exec("pragma journal_mode = wal; pragma synchronous = full; pragma busy_timeout = 0");
    // Overwrite deleted text instead of leaving it in free pages: erased threads must not stay readable in the file.
    database.exec("pragma secure_delete = on");
    // Rollback data of savepoints needs no disk: it is useless after a crash.
    database.exec("pragma temp_store = memory");
    return database;
  } catch (error) {
    throw translateSqliteError(error);
  }
}
