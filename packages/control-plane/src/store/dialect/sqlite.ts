import { AsyncLocalStorage } from "node:async_hooks";
import { resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type Driver, sql, SqliteAdapter, SqliteDialect } from "kysely";
import type { Clock } from "../../ports/clock.ts";
import { createPrivateFile } from "./private-file.ts";
import { adaptSqlite, type EmbeddedDatabase } from "./sqlite-database.ts";
import { type DriverOptions, GroupingSqliteDriver } from "./sqlite-driver.ts";
import { translateSqliteError } from "./sqlite-errors.ts";
import { sqliteReader } from "./sqlite-reader.ts";
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
  const reader = path === MEMORY ? undefined : new DatabaseSync(path, { readOnly: true, timeout: 0 });
  const now = clock && (() => Math.trunc(clock.now()));
  if (now) for (const one of [database, reader]) one?.function("now_ms", now);
  const served = new AsyncLocalStorage<string>();
  const client = (): string => served.getStore() ?? "";
  return {
    kysely: new PatientSqliteDialect(adaptSqlite(database), {
      busyTimeoutMs,
      client,
      ...(reader && { reader: adaptSqlite(reader) }),
    }),
    ...(path !== MEMORY && { reads: sqliteReader(path, now) }),
    now: clock ? sql`now_ms()` : sql`cast(unixepoch('subsec') * 1000 as integer)`,
    // There is one writer at a time, so no row needs a lock.
    lockForClaim: (query) => query,
    lockShared: (query) => query,
    indexOf: (text, part) => sql`instr(${text}, ${sql.lit(part)})`,
    retryable: () => false,
    within: (orgId, work) => served.run(orgId, work),
  };
}

/**
 * SQLite for kysely, which waits for a database that another connection has locked without stopping the event loop (SQLite's
 * own waiting would, and for ever where both connections are of this process), and in which what comes side by side shares one
 * commit: the disk takes as long for many as for one.
 */
export class PatientSqliteDialect extends SqliteDialect {
  readonly #database: EmbeddedDatabase;
  readonly #options: DriverOptions;

  constructor(database: EmbeddedDatabase, options: DriverOptions) {
    super({ database });
    this.#database = database;
    this.#options = options;
  }

  override createDriver(): Driver {
    return new GroupingSqliteDriver(this.#database, this.#options);
  }

  override createAdapter(): SqliteAdapter {
    return new TransactionalSqliteAdapter();
  }
}

class TransactionalSqliteAdapter extends SqliteAdapter {
  /** SQLite takes schema changes into a transaction, and its lock keeps two starting processes apart. */
  override get supportsTransactionalDdl(): boolean {
    return true;
  }

  /** The driver gives its one connection in turns, and takes it back while a commit is still on its way. */
  override get supportsMultipleConnections(): boolean {
    return true;
  }
}

const MEMORY = ":memory:";

/** The file of a `sqlite:` address; undefined when the database is in memory. */
export function sqliteFile(url: string): string | undefined {
  const path = url.slice("sqlite:".length);
  return path === MEMORY ? undefined : resolve(path);
}

function openDatabase(path: string): DatabaseSync {
  try {
    if (path !== MEMORY) createPrivateFile(path);
    const database = new DatabaseSync(path, { timeout: OPENING_TIMEOUT_MS, enableForeignKeyConstraints: true });
    // Takes effect in a new file only, and only before anything is written to it.
    database.exec("pragma auto_vacuum = incremental");
    database.exec("pragma journal_mode = wal; pragma synchronous = full; pragma busy_timeout = 0");
    // Deleted text is overwritten, not left in free space.
    database.exec("pragma secure_delete = on");
    // A savepoint's rollback data is of no use after a crash.
    database.exec("pragma temp_store = memory");
    return database;
  } catch (error) {
    throw translateSqliteError(error);
  }
}
