import { setTimeout as delay } from "node:timers/promises";
import {
  type DatabaseConnection,
  type Driver,
  SqliteAdapter,
  type SqliteDatabase,
  SqliteDialect,
  SqliteDriver,
} from "kysely";
import { isBusy, translateSqliteError } from "./sqlite-errors.ts";

const LONGEST_PAUSE_MS = 25;

/**
 * Kysely's SQLite dialect, but it waits for a database that another connection has locked without stopping the event
 * loop: SQLite's own waiting would, and for ever where both connections are of this process.
 */
export class PatientSqliteDialect extends SqliteDialect {
  readonly #database: SqliteDatabase;
  readonly #busyTimeoutMs: number;

  constructor(database: SqliteDatabase, { busyTimeoutMs }: { busyTimeoutMs: number }) {
    super({ database });
    this.#database = database;
    this.#busyTimeoutMs = busyTimeoutMs;
  }

  override createDriver(): Driver {
    return new PatientSqliteDriver(this.#database, this.#busyTimeoutMs);
  }

  override createAdapter(): SqliteAdapter {
    return new TransactionalSqliteAdapter();
  }
}

/** SQLite takes schema changes into a transaction, and its lock keeps two starting processes apart. */
class TransactionalSqliteAdapter extends SqliteAdapter {
  override get supportsTransactionalDdl(): boolean {
    return true;
  }
}

class PatientSqliteDriver extends SqliteDriver {
  readonly #busyTimeoutMs: number;
  #connection: DatabaseConnection | undefined;

  constructor(database: SqliteDatabase, busyTimeoutMs: number) {
    super({ database });
    this.#busyTimeoutMs = busyTimeoutMs;
  }

  override async acquireConnection(): Promise<DatabaseConnection> {
    this.#connection ??= patient(await super.acquireConnection(), this.#busyTimeoutMs);
    return this.#connection;
  }
}

/** A statement that met a lock did nothing, so it may simply be given again. */
function patient(connection: DatabaseConnection, busyTimeoutMs: number): DatabaseConnection {
  return {
    async executeQuery(query, options) {
      const giveUpAt = performance.now() + busyTimeoutMs;
      for (let pauseMs = 1; ; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
        try {
          return await connection.executeQuery(query, options);
        } catch (error) {
          if (!isBusy(error) || performance.now() >= giveUpAt) throw translateSqliteError(error);
          await delay(pauseMs);
        }
      }
    },
    streamQuery: (query, chunkSize, options) => connection.streamQuery(query, chunkSize, options),
  };
}
