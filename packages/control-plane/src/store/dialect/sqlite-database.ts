import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";
import type { SqliteDatabase, SqliteStatement } from "kysely";

const STATEMENTS_KEPT = 300;

/** A database in the shape that kysely's SQLite dialect takes. */
export interface EmbeddedDatabase extends SqliteDatabase {
  readonly inTransaction: boolean;
}

/** A `node:sqlite` database for kysely. Statements are kept by their text. */
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
      const statement = adaptStatement(database.prepare(sql));
      if (kept.size >= STATEMENTS_KEPT) kept.delete(kept.keys().next().value ?? "");
      kept.set(sql, statement);
      return statement;
    },
  };
}

function adaptStatement(statement: StatementSync): SqliteStatement {
  return {
    reader: statement.columns().length > 0,
    all: (parameters) => statement.all(...(parameters as SQLInputValue[])),
    run: (parameters) => statement.run(...(parameters as SQLInputValue[])),
    iterate: (parameters) => statement.iterate(...(parameters as SQLInputValue[])),
  };
}
