import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";
import type { SqliteDatabase, SqliteStatement } from "kysely";

const STATEMENTS_KEPT = 300;

/** A `node:sqlite` database in the shape that kysely's SQLite dialect takes. Statements are kept by their text. */
export function adaptSqlite(database: DatabaseSync): SqliteDatabase {
  const kept = new Map<string, SqliteStatement>();
  return {
    close: () => database.close(),
    prepare(text) {
      const sql = controlStatement(text, database);
      const known = kept.get(sql);
      if (known) return known;
      const statement = adaptStatement(database.prepare(sql));
      if (kept.size >= STATEMENTS_KEPT) kept.delete(kept.keys().next().value ?? "");
      kept.set(sql, statement);
      return statement;
    },
  };
}

/**
 * Transactions begin with the write lock: one that began by reading could not write after another process did. SQLite
 * rolls back by itself when a disk fails, and a second rollback would hide the first error.
 */
function controlStatement(sql: string, database: DatabaseSync): string {
  if (sql === "begin") return "begin immediate";
  if (sql === "rollback" && !database.isTransaction) return "select 1";
  return sql;
}

function adaptStatement(statement: StatementSync): SqliteStatement {
  return {
    reader: statement.columns().length > 0,
    all: (parameters) => statement.all(...(parameters as SQLInputValue[])),
    run: (parameters) => statement.run(...(parameters as SQLInputValue[])),
    iterate: (parameters) => statement.iterate(...(parameters as SQLInputValue[])),
  };
}
