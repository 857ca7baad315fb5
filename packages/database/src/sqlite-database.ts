import { monotonicMs, sleep } from "@patchbay/kit/time";
import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";
import { type Dialect, type Driver, SqliteAdapter, type SqliteDatabase } from "kysely";
import { SqliteIntrospector, SqliteQueryCompiler, type SqliteStatement } from "kysely";
import { StoreUnavailable } from "@patchbay/engine/ports/store/run-store";
import { storedText } from "./stored-text.ts";

const BUSY = 5;

const REASONS: Record<number, string> = {
  [BUSY]: "another process kept the database locked for too long",
  6: "another connection kept a table locked",
  8: "the database is read-only",
  10: "the disk failed",
  13: "the disk is full",
  14: "the database file cannot be opened",
};

/** Turns disk and lock faults into `StoreUnavailable`. Returns all other errors unchanged: they are bugs. */
export function translateSqliteError(error: unknown): unknown {
  const code = primaryCode(error);
  const reason = code === undefined ? undefined : REASONS[code];
  return reason === undefined ? error : new StoreUnavailable(`The store is unavailable: ${reason}.`, { cause: error });
}

/** True for the error of a statement that met another connection's lock. */
export function isBusy(error: unknown): boolean {
  return primaryCode(error) === BUSY;
}

/** Longest pause between two attempts. */
const LONGEST_PAUSE_MS = 25;

/**
 * Executes a statement and repeats it while another process has the lock. A statement that failed with SQLITE_BUSY has
 * changed nothing, so repeating is safe. SQLite's own busy timeout would block the event loop instead.
 */
export function whileBusy<T>(execute: () => T, timeoutMs: number): T | Promise<T> {
  try {
    return execute();
  } catch (error) {
    if (!isBusy(error)) throw translateSqliteError(error);
    return retryWhileBusy(execute, timeoutMs);
  }
}

async function retryWhileBusy<T>(execute: () => T, timeoutMs: number): Promise<T> {
  const giveUpAt = monotonicMs() + timeoutMs;
  for (let pauseMs = 1; ; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
    await sleep(pauseMs);
    try {
      return execute();
    } catch (error) {
      if (!isBusy(error) || monotonicMs() >= giveUpAt) throw translateSqliteError(error);
    }
  }
}

/** SQLite's primary result code. Extended codes have the cause in the higher bytes. */
function primaryCode(error: unknown): number | undefined {
  if (!(error instanceof Error) || !("errcode" in error) || typeof error.errcode !== "number") return undefined;
  return error.errcode & 0xff;
}

const STATEMENTS_KEPT = 300;

/** A database in the form that Kysely's SQLite dialect expects. */
export interface EmbeddedDatabase extends SqliteDatabase {
  readonly inTransaction: boolean;
}

/** A `node:sqlite` database for Kysely. Prepared statements are cached by their text. */
export function adaptSqlite(database: DatabaseSync): EmbeddedDatabase {
  const kept = new Map<string, SqliteStatement>();
  return {
    get inTransaction() {
      return database.isTransaction;
    },
    close: () => database.close(),
    prepare(sql) {
      const known = kept.get(sql);
      if (known) return known;
      const statement = adaptStatement(prepare(database, sql));
      if (kept.size >= STATEMENTS_KEPT) kept.delete(kept.keys().next().value ?? "");
      kept.set(sql, statement);
      return statement;
    },
  };
}

/**
 * Compiles a statement, a second time if the first fails. After another process has changed the schema, as a migration
 * does, the first compilation of a statement whose triggers write to the full-text index finds no table: the index
 * reads the schema again halfway.
 */
function prepare(database: DatabaseSync, sql: string): StatementSync {
  try {
    return database.prepare(sql);
  } catch {
    return database.prepare(sql);
  }
}

function adaptStatement(statement: StatementSync): SqliteStatement {
  return {
    reader: statement.columns().length > 0,
    all: (parameters) => statement.all(...values(parameters)),
    run: (parameters) => statement.run(...values(parameters)),
    iterate: (parameters) => statement.iterate(...values(parameters)),
  };
}

const values = (parameters: readonly unknown[]): SQLInputValue[] => parameters.map(storedText) as SQLInputValue[];

/** Kysely's SQLite dialect with a driver that shares its connections between callers. */
export const sqliteWith = (createDriver: () => Driver): Dialect => ({
  createAdapter: () => new SharedSqliteAdapter(),
  createDriver,
  createIntrospector: (db) => new SqliteIntrospector(db),
  createQueryCompiler: () => new SqliteQueryCompiler(),
});

class SharedSqliteAdapter extends SqliteAdapter {
  /** SQLite runs schema changes in transactions, so two starting processes migrate one after the other. */
  override get supportsTransactionalDdl(): boolean {
    return true;
  }

  /** Kysely must not serialise the callers itself. */
  override get supportsMultipleConnections(): boolean {
    return true;
  }
}
