import { mkdirSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { sql } from "kysely";
import type { Clock } from "../../ports/clock.ts";
import { adaptSqlite } from "./sqlite-database.ts";
import { PatientSqliteDialect } from "./sqlite-driver.ts";
import { translateSqliteError } from "./sqlite-errors.ts";
import type { StoreDialect } from "./dialect.ts";

/** Only for the statements that open the database: later ones wait without SQLite. */
const OPENING_TIMEOUT_MS = 5000;

/** Opens the embedded database. A `clock` replaces SQLite's own, which is that of this machine. */
export function sqliteDialect(
  path: string,
  options: { clock?: Clock | undefined; busyTimeoutMs?: number } = {},
): StoreDialect {
  const { clock, busyTimeoutMs = 5000 } = options;
  const database = openDatabase(path);
  if (clock) database.function("now_ms", () => Math.trunc(clock.now()));
  return {
    kysely: new PatientSqliteDialect(adaptSqlite(database), { busyTimeoutMs }),
    now: clock ? sql`now_ms()` : sql`cast(unixepoch('subsec') * 1000 as integer)`,
    // One writer at a time: nothing needs a lock of its own, and nobody is ever in another's way.
    lockForClaim: (query) => query,
    lockShared: (query) => query,
    indexOf: (text, part) => sql`instr(${text}, ${sql.lit(part)})`,
    retryable: () => false,
    within: (_orgId, work) => work(),
  };
}

/** The file of a `sqlite:` address; undefined when the database lives in memory alone. */
export function sqliteFile(url: string): string | undefined {
  const path = url.slice("sqlite:".length);
  return path === ":memory:" ? undefined : resolve(path);
}

function openDatabase(path: string): DatabaseSync {
  try {
    if (path !== ":memory:") mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    const database = new DatabaseSync(path, { timeout: OPENING_TIMEOUT_MS, enableForeignKeyConstraints: true });
    database.exec("pragma journal_mode = wal; pragma synchronous = full; pragma busy_timeout = 0");
    // What a savepoint would need to go back to is never wanted after a crash.
    database.exec("pragma temp_store = memory");
    return database;
  } catch (error) {
    throw translateSqliteError(error);
  }
}
