import { type DatabaseConnection, type Driver, PostgresDialect, type TransactionSettings } from "kysely";
import { PostgresConnection, type Sessions } from "./postgres-connection.ts";
import type { PostgresPool } from "./postgres-pool.ts";

/** Kysely's Postgres dialect, with connections that serve one organisation at a time: that of `scope`. */
export class ScopedPostgresDialect extends PostgresDialect {
  readonly #source: PostgresPool;
  readonly #scope: () => string;

  constructor(source: PostgresPool, scope: () => string) {
    super({ pool: source.pool });
    this.#source = source;
    this.#scope = scope;
  }

  override createDriver(): Driver {
    return new ScopedPostgresDriver(this.#source, this.#scope);
  }
}

class ScopedPostgresDriver implements Driver {
  readonly #source: PostgresPool;
  readonly #scope: () => string;
  readonly #sessions: Sessions = new WeakMap();

  constructor(source: PostgresPool, scope: () => string) {
    this.#source = source;
    this.#scope = scope;
  }

  async init(): Promise<void> {}

  acquireConnection(): Promise<DatabaseConnection> {
    return PostgresConnection.borrow(this.#source, this.#sessions, this.#scope);
  }

  async beginTransaction(connection: DatabaseConnection, settings: TransactionSettings): Promise<void> {
    if (settings.isolationLevel || settings.accessMode) throw new Error("the store's transactions are all of one kind");
    await (connection as PostgresConnection).begin();
  }

  async commitTransaction(connection: DatabaseConnection): Promise<void> {
    await (connection as PostgresConnection).commit();
  }

  async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    await (connection as PostgresConnection).rollback();
  }

  async releaseConnection(connection: DatabaseConnection): Promise<void> {
    (connection as PostgresConnection).giveBack();
  }

  async destroy(): Promise<void> {
    await this.#source.pool.end();
  }
}
