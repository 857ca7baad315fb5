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
  UpdateQueryNode,
} from "kysely";
import { StoreUnavailable } from "../../ports/run-store.ts";
import type { EmbeddedDatabase } from "./sqlite-database.ts";
import { isBusy, translateSqliteError } from "./sqlite-errors.ts";
import { createTurns, type EndTurn } from "./turns.ts";

const LONGEST_PAUSE_MS = 25;
/** A group takes in what the event loop brings, for so long at most: everything in it waits for its end. */
const GROUP_MS = 8;
/** And up to about this size: the whole process waits while the disk takes it. */
const GROUP_CHARS = 524_288;

export interface DriverOptions {
  busyTimeoutMs: number;
  /** A second connection to the same file, for reads. A database in memory has none. */
  reader?: EmbeddedDatabase;
  /** For whom the caller works: clients take turns. */
  client(): string;
}

/** Transactions and single statements inside one of SQLite's transactions: what they did or saw counts once that is on the disk. */
interface Group {
  /** How many came so far. */
  visits: number;
  readonly beganAt: number;
  /** Of the text that was written to it so far. */
  chars: number;
  readonly ended: PromiseWithResolvers<void>;
}

/** The connection as one borrower has it. */
interface Borrowed extends DatabaseConnection {
  /** The group in which its transaction is, from the beginning to the end of that. */
  group?: Group | undefined;
  /** True where a rollback must spare what others did in the group before. */
  savepoint: boolean;
  /** Ends its turn at the connection, where it has one. */
  endTurn?: EndTurn | undefined;
}

export class GroupingSqliteDriver implements Driver {
  readonly #database: EmbeddedDatabase;
  readonly #options: DriverOptions;
  readonly #turns = createTurns();
  /** Connections that are borrowed now; closing waits until all are released. */
  #borrowed = 0;
  #released: PromiseWithResolvers<void> | undefined;
  #group: Group | undefined;

  constructor(database: EmbeddedDatabase, options: DriverOptions) {
    this.#database = database;
    this.#options = options;
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<DatabaseConnection> {
    this.#borrowed++;
    const borrowed: Borrowed = {
      savepoint: false,
      executeQuery: (query) => (borrowed.group ? this.#give(query) : this.#giveAlone(borrowed, query)),
      // oxlint-disable-next-line require-yield -- there is nothing to yield
      async *streamQuery() {
        throw new Error("the store reads in pages, never in streams");
      },
    };
    return borrowed;
  }

  async releaseConnection(connection: DatabaseConnection): Promise<void> {
    giveBack(connection as Borrowed);
    if (--this.#borrowed === 0) this.#released?.resolve();
  }

  async beginTransaction(connection: DatabaseConnection): Promise<void> {
    const borrowed = connection as Borrowed;
    await this.#takeTurn(borrowed);
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
    if (group && group === this.#group && group.chars >= GROUP_CHARS) this.#endGroup("commit");
    giveBack(borrowed);
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
    giveBack(borrowed);
    // It may have decided by what others did in the group: readers must find that, or the decision was wrong.
    await group.ended.promise;
  }

  async destroy(): Promise<void> {
    this.#released = Promise.withResolvers();
    if (this.#borrowed > 0) await this.#released.promise;
    const endTurn = await this.#turns.takeNext();
    this.#endGroup("commit");
    // The last connection brings the log into the file.
    this.#options.reader?.close();
    this.#database.close();
    endTurn();
  }

  async #takeTurn(borrowed: Borrowed): Promise<void> {
    borrowed.endTurn ??= await this.#turns.take(this.#options.client());
  }

  /** A statement outside of transactions. */
  async #giveAlone<Row>(borrowed: Borrowed, query: CompiledQuery): Promise<QueryResult<Row>> {
    const isRead = SelectQueryNode.is(query.query);
    const { reader } = this.#options;
    // It sees what was committed, so it waits for no group and for no turn.
    if (isRead && reader) return this.#execute(reader, query);
    await this.#takeTurn(borrowed);
    if (isRead) return this.#look(borrowed, query);
    if (!isWrite(query.query)) {
      this.#endGroup("commit");
      return this.#give(query);
    }
    const group = await this.#join();
    const result = await this.#give<Row>(query);
    giveBack(borrowed);
    await group.ended.promise;
    return result;
  }

  /** Over the connection that writes, what a reader saw of a group counts only once that is on the disk. */
  async #look<Row>(borrowed: Borrowed, query: CompiledQuery): Promise<QueryResult<Row>> {
    for (;;) {
      const group = this.#group;
      const result = await this.#give<Row>(query);
      if (!group) return result;
      group.visits++;
      giveBack(borrowed);
      try {
        await group.ended.promise;
        return result;
      } catch {
        await this.#takeTurn(borrowed);
      }
    }
  }

  /** SQLite's transaction begins with the write lock: one that began by reading could not write after another process did. */
  async #join(): Promise<Group> {
    if (!this.#group) {
      await this.#patiently(() => this.#run("begin immediate"));
      const group = { visits: 0, beganAt: performance.now(), chars: 0, ended: Promise.withResolvers<void>() };
      // Where every member takes itself back, the rejection has no handler.
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
    const endTurn = await this.#turns.takeNext();
    try {
      if (this.#group === group) this.#endGroup("commit");
    } finally {
      endTurn();
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

  async #give<Row>(query: CompiledQuery): Promise<QueryResult<Row>> {
    if (this.#group) this.#group.chars += charsIn(query.parameters);
    try {
      return await this.#execute<Row>(this.#database, query);
    } catch (error) {
      // SQLite takes everything back by itself when a disk fails: what others had done in the group is lost with it.
      if (!this.#database.inTransaction) this.#endGroup("commit");
      throw error;
    }
  }

  async #execute<Row>(database: EmbeddedDatabase, { sql, parameters }: CompiledQuery): Promise<QueryResult<Row>> {
    return await this.#patiently(() => {
      const statement = database.prepare(sql);
      if (statement.reader) return { rows: statement.all(parameters) as Row[] };
      return { rows: [], numAffectedRows: BigInt(statement.run(parameters).changes) };
    });
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
    const giveUpAt = performance.now() + this.#options.busyTimeoutMs;
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

function giveBack(borrowed: Borrowed): void {
  borrowed.endTurn?.();
  borrowed.endTurn = undefined;
}

function charsIn(parameters: readonly unknown[]): number {
  let length = 0;
  for (const value of parameters) if (typeof value === "string") length += value.length;
  return length;
}

const isWrite = (node: RootOperationNode): boolean =>
  InsertQueryNode.is(node) || UpdateQueryNode.is(node) || DeleteQueryNode.is(node);
