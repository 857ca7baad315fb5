import { setTimeout as delay } from "node:timers/promises";
import {
  type CompiledQuery,
  type DatabaseConnection,
  DeleteQueryNode,
  type Driver,
  InsertQueryNode,
  type QueryResult,
  type RootOperationNode,
  SelectQueryNode,
  SqliteAdapter,
  SqliteDialect,
  UpdateQueryNode,
} from "kysely";
import { StoreUnavailable } from "../../ports/run-store.ts";
import type { EmbeddedDatabase } from "./sqlite-database.ts";
import { isBusy, translateSqliteError } from "./sqlite-errors.ts";
import { createTurns } from "./turns.ts";

const LONGEST_PAUSE_MS = 25;
/** A group takes in what the event loop brings, for so long at most. */
const GROUP_MS = 20;

/**
 * SQLite for kysely, which waits for a database that another connection has locked without stopping the event loop (SQLite's
 * own waiting would, and for ever where both connections are of this process), and in which what comes side by side shares one
 * commit: the disk takes as long for many as for one.
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

/** Transactions and single statements inside one of SQLite's transactions: what they did or saw counts once that is on the disk. */
interface Group {
  /** How many came so far. */
  visits: number;
  readonly beganAt: number;
  readonly ended: PromiseWithResolvers<void>;
}

/** The connection as one borrower has it. */
interface Borrowed extends DatabaseConnection {
  /** The group in which its transaction is, from the beginning to the end of that. */
  group?: Group | undefined;
  /** True where a rollback must spare what others did in the group before. */
  savepoint: boolean;
  giveBack(): void;
}

class GroupingSqliteDriver implements Driver {
  readonly #database: EmbeddedDatabase;
  readonly #busyTimeoutMs: number;
  readonly #turns = createTurns();
  #group: Group | undefined;

  constructor(database: EmbeddedDatabase, busyTimeoutMs: number) {
    this.#database = database;
    this.#busyTimeoutMs = busyTimeoutMs;
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<DatabaseConnection> {
    const borrowed: Borrowed = {
      savepoint: false,
      giveBack: await this.#turns.take(),
      executeQuery: (query) => (borrowed.group ? this.#give(query) : this.#giveAlone(borrowed, query)),
      // oxlint-disable-next-line require-yield -- there is nothing to yield
      async *streamQuery() {
        throw new Error("the store reads in pages, never in streams");
      },
    };
    return borrowed;
  }

  async releaseConnection(connection: DatabaseConnection): Promise<void> {
    (connection as Borrowed).giveBack();
  }

  async beginTransaction(connection: DatabaseConnection): Promise<void> {
    const borrowed = connection as Borrowed;
    const group = await this.#join();
    // The first one has the whole of SQLite's transaction to itself.
    borrowed.savepoint = group.visits > 1;
    if (borrowed.savepoint) this.#run("savepoint member");
    borrowed.group = group;
  }

  async commitTransaction(connection: DatabaseConnection): Promise<void> {
    const borrowed = connection as Borrowed;
    const { group, savepoint } = borrowed;
    if (savepoint) this.#run("release member");
    borrowed.group = undefined;
    borrowed.giveBack();
    await group?.ended.promise;
  }

  async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    const borrowed = connection as Borrowed;
    const { group } = borrowed;
    borrowed.group = undefined;
    // Its group may have ended already, and the turn be another's.
    if (!group || this.#group !== group) return;
    if (!borrowed.savepoint) return this.#endGroup("rollback");
    this.#run("rollback to member");
    this.#run("release member");
  }

  async destroy(): Promise<void> {
    const giveBack = await this.#turns.take();
    this.#endGroup("commit");
    this.#database.close();
    giveBack();
  }

  /** A statement outside of transactions. */
  async #giveAlone<Row>(borrowed: Borrowed, query: CompiledQuery): Promise<QueryResult<Row>> {
    if (SelectQueryNode.is(query.query)) return this.#look(borrowed, query);
    if (!isWrite(query.query)) {
      this.#endGroup("commit");
      return this.#give(query);
    }
    const group = await this.#join();
    const result = await this.#give<Row>(query);
    borrowed.giveBack();
    await group.ended.promise;
    return result;
  }

  /** What a reader saw of a group counts only once that is on the disk. */
  async #look<Row>(borrowed: Borrowed, query: CompiledQuery): Promise<QueryResult<Row>> {
    for (;;) {
      const group = this.#group;
      const result = await this.#give<Row>(query);
      if (!group) return result;
      group.visits++;
      borrowed.giveBack();
      try {
        await group.ended.promise;
        return result;
      } catch {
        borrowed.giveBack = await this.#turns.take();
      }
    }
  }

  /** SQLite's transaction begins with the write lock: one that began by reading could not write after another process did. */
  async #join(): Promise<Group> {
    if (!this.#group) {
      await this.#patiently(() => this.#run("begin immediate"));
      const group = { visits: 0, beganAt: performance.now(), ended: Promise.withResolvers<void>() };
      // Perhaps every member takes itself back, and nobody waits for the group.
      group.ended.promise.catch(() => undefined);
      this.#group = group;
      this.#closeOnceQuiet(group, 1);
    }
    this.#group.visits++;
    return this.#group;
  }

  /** Ends a group when a turn of the event loop has brought nobody new. */
  #closeOnceQuiet(group: Group, visits: number): void {
    setImmediate(() => {
      if (this.#group !== group) return;
      if (group.visits > visits && performance.now() - group.beganAt < GROUP_MS)
        this.#closeOnceQuiet(group, group.visits);
      else void this.#close(group);
    });
  }

  async #close(group: Group): Promise<void> {
    const giveBack = await this.#turns.take();
    try {
      if (this.#group === group) this.#endGroup("commit");
    } finally {
      giveBack();
    }
  }

  /** Only for whoever has the turn: no member is in the midst of anything. */
  #endGroup(how: "commit" | "rollback"): void {
    const group = this.#group;
    if (!group) return;
    this.#group = undefined;
    try {
      if (!this.#database.inTransaction)
        throw new StoreUnavailable("The store is unavailable: a shared commit failed.");
      this.#run(how);
      group.ended.resolve();
    } catch (error) {
      group.ended.reject(translateSqliteError(error));
      this.#takeBack();
    }
  }

  /** After a commit that failed. What cannot be taken back either fails the next group, which says so to who waits for it. */
  #takeBack(): void {
    try {
      if (this.#database.inTransaction) this.#run("rollback");
    } catch {
      // The commit's own error was told.
    }
  }

  #run(statement: string): void {
    this.#database.prepare(statement).run([]);
  }

  async #give<Row>({ sql, parameters }: CompiledQuery): Promise<QueryResult<Row>> {
    try {
      return await this.#patiently(() => {
        const statement = this.#database.prepare(sql);
        if (statement.reader) return { rows: statement.all(parameters) as Row[] };
        return { rows: [], numAffectedRows: BigInt(statement.run(parameters).changes) };
      });
    } catch (error) {
      // SQLite takes everything back by itself when a disk fails: what others had done in the group is lost with it.
      if (!this.#database.inTransaction) this.#endGroup("commit");
      throw error;
    }
  }

  /** A statement that met a lock did nothing, so it may simply be given again. As a rule it meets none, and is done at once. */
  #patiently<T>(execute: () => T): T | Promise<T> {
    try {
      return execute();
    } catch (error) {
      if (!isBusy(error)) throw translateSqliteError(error);
      return this.#again(execute);
    }
  }

  async #again<T>(execute: () => T): Promise<T> {
    const giveUpAt = performance.now() + this.#busyTimeoutMs;
    for (let pauseMs = 1; ; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
      await delay(pauseMs);
      try {
        return execute();
      } catch (error) {
        if (!isBusy(error) || performance.now() >= giveUpAt) throw translateSqliteError(error);
      }
    }
  }
}

const isWrite = (node: RootOperationNode): boolean =>
  InsertQueryNode.is(node) || UpdateQueryNode.is(node) || DeleteQueryNode.is(node);
