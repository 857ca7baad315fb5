import { setTimeout as delay } from "node:timers/promises";
import {
  CompiledQuery,
  type DatabaseConnection,
  type Driver,
  type QueryResult,
  SqliteAdapter,
  SqliteDialect,
  SqliteDriver,
} from "kysely";
import { StoreUnavailable } from "../../ports/run-store.ts";
import type { EmbeddedDatabase } from "./sqlite-database.ts";
import { isBusy, translateSqliteError } from "./sqlite-errors.ts";
import { createTurns } from "./turns.ts";

const LONGEST_PAUSE_MS = 25;
/** How often a statement lets transactions that came later go first. */
const GROUPS_PASSED = 4;

/**
 * Kysely's SQLite dialect, but it waits for a database that another connection has locked without stopping the event
 * loop (SQLite's own waiting would, and for ever where both connections are of this process), and transactions that end
 * in one turn of the event loop share one commit: the disk takes as long for many as for one.
 */
export class PatientSqliteDialect extends SqliteDialect {
  readonly #database: EmbeddedDatabase;
  readonly #busyTimeoutMs: number;

  constructor(database: EmbeddedDatabase, { busyTimeoutMs }: { busyTimeoutMs: number }) {
    super({ database });
    this.#database = database;
    this.#busyTimeoutMs = busyTimeoutMs;
  }

  override createDriver(): Driver {
    return new GroupingSqliteDriver(this.#database, this.#busyTimeoutMs);
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

/** The connection as one borrower has it. */
interface Borrowed extends DatabaseConnection {
  /** True from the beginning of a transaction to its end. */
  grouped: boolean;
  giveBack(): void;
}

class GroupingSqliteDriver extends SqliteDriver {
  readonly #database: EmbeddedDatabase;
  readonly #busyTimeoutMs: number;
  readonly #turns = createTurns();
  /** Transactions that have ended, or are under way, inside one of SQLite's; settled when that one is. */
  #group: PromiseWithResolvers<void> | undefined;

  constructor(database: EmbeddedDatabase, busyTimeoutMs: number) {
    super({ database });
    this.#database = database;
    this.#busyTimeoutMs = busyTimeoutMs;
  }

  override async acquireConnection(): Promise<DatabaseConnection> {
    const giveBack = await this.#turns.take();
    const connection = await super.acquireConnection();
    const borrowed: Borrowed = {
      grouped: false,
      giveBack,
      executeQuery: async (query, options) => {
        if (!borrowed.grouped) await this.#passGroups(borrowed);
        return this.#patiently(() => connection.executeQuery(query, options));
      },
      streamQuery: (query, chunkSize, options) => connection.streamQuery(query, chunkSize, options),
    };
    return borrowed;
  }

  override async releaseConnection(connection?: DatabaseConnection): Promise<void> {
    (connection as Borrowed | undefined)?.giveBack();
  }

  /** Transactions begin with the write lock: one that began by reading could not write after another process did. */
  override async beginTransaction(connection: DatabaseConnection): Promise<void> {
    if (!this.#group) {
      await this.#run("begin immediate");
      const group = Promise.withResolvers<void>();
      // Perhaps every member takes itself back, and nobody waits for the group.
      group.promise.catch(() => undefined);
      this.#group = group;
      setImmediate(() => void this.#close(group));
    }
    await this.#run("savepoint member");
    (connection as Borrowed).grouped = true;
  }

  override async commitTransaction(connection: DatabaseConnection): Promise<void> {
    await this.#run("release member");
    const group = this.#group;
    (connection as Borrowed).grouped = false;
    (connection as Borrowed).giveBack();
    await group?.promise;
  }

  override async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    // Where the commit of its group failed, the turn is another's already.
    if (!(connection as Borrowed).grouped) return;
    (connection as Borrowed).grouped = false;
    if (!this.#database.inTransaction) return this.#commitGroup();
    await this.#run("rollback to member");
    await this.#run("release member");
  }

  override async destroy(): Promise<void> {
    const giveBack = await this.#turns.take();
    await this.#commitGroup();
    await super.destroy();
    giveBack();
  }

  async #close(group: PromiseWithResolvers<void>): Promise<void> {
    if (this.#group !== group) return;
    const giveBack = await this.#turns.take();
    if (this.#group === group) await this.#commitGroup();
    giveBack();
  }

  /**
   * A single statement is no member of a group and must not see what is not yet on the disk: it lets others join until the
   * group ends by itself, but not for ever.
   */
  async #passGroups(borrowed: Borrowed): Promise<void> {
    for (let passed = 0; this.#group && passed < GROUPS_PASSED; passed++) {
      borrowed.giveBack();
      await this.#group.promise.catch(() => undefined);
      borrowed.giveBack = await this.#turns.take();
    }
    await this.#commitGroup();
  }

  /** Only for whoever has the turn: no member is in the midst of anything. */
  async #commitGroup(): Promise<void> {
    const group = this.#group;
    if (!group) return;
    this.#group = undefined;
    try {
      // SQLite takes everything back by itself when a disk fails: what others had done in the group is lost with it.
      if (!this.#database.inTransaction)
        throw new StoreUnavailable("The store is unavailable: a shared commit failed.");
      await this.#run("commit");
      group.resolve();
    } catch (error) {
      group.reject(error);
      if (this.#database.inTransaction) await this.#run("rollback");
    }
  }

  async #run(statement: string): Promise<void> {
    const connection = await super.acquireConnection();
    await this.#patiently(() => connection.executeQuery(CompiledQuery.raw(statement)));
  }

  /** A statement that met a lock did nothing, so it may simply be given again. */
  async #patiently<Row>(execute: () => Promise<QueryResult<Row>>): Promise<QueryResult<Row>> {
    const giveUpAt = performance.now() + this.#busyTimeoutMs;
    for (let pauseMs = 1; ; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
      try {
        return await execute();
      } catch (error) {
        if (!isBusy(error) || performance.now() >= giveUpAt) throw translateSqliteError(error);
        await delay(pauseMs);
      }
    }
  }
}
