import { monotonicMs, setImmediate } from "@patchbay/kit/time";
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
import { StoreUnavailable } from "@patchbay/engine/ports/store/run-store";
import { type EmbeddedDatabase, translateSqliteError, whileBusy } from "./sqlite-database.ts";
import { createTurns, type EndTurn } from "./turns.ts";

/** Maximum time that a group stays open for further members. All of them wait for its commit. */
const GROUP_MS = 8;
/** A group with more text is committed immediately: the process does nothing else while SQLite writes to the disk. */
const GROUP_CHARS = 524_288;
/** How many transactions get a savepoint after a group was undone: one failing caller must not undo many others. */
const CAREFUL = 256;

export interface DriverOptions {
  busyTimeoutMs: number;
  /** A second connection to the same file, for reads. Absent for an in-memory database. */
  reader?: EmbeddedDatabase;
  /** The caller's organisation. Organisations take turns at the connection. */
  client(): string;
}

/**
 * Group commit: transactions and single statements from several callers inside one SQLite transaction. Writing many to
 * the disk takes as long as one, so this multiplies the writes per second. Callers get their answers only after the
 * commit: otherwise a crash could undo what a client has already seen.
 */
interface Group {
  /** Number of transactions and statements that have joined. */
  joined: number;
  readonly beganAt: number;
  /** Characters written so far. */
  chars: number;
  readonly ended: PromiseWithResolvers<void>;
}

/** Undoes a transaction because another group member rolled back. Nothing is stored: the caller repeats it. */
export class GroupUndone extends Error {}

/** The shared connection, as one borrower sees it. */
interface Borrowed extends DatabaseConnection {
  /** The transaction's group, while open. */
  group?: Group | undefined;
  /** What a rollback undoes. `group`: also the work of earlier members, which they then repeat. */
  undoes: "own" | "savepoint" | "group";
  /** Ends its turn at the connection. Absent between turns. */
  endTurn?: EndTurn | undefined;
}

/** One writing connection that callers share in turns, within the SQLite transaction of a {@link Group}. */
export class GroupingSqliteDriver implements Driver {
  readonly #database: EmbeddedDatabase;
  readonly #options: DriverOptions;
  readonly #turns = createTurns();
  /** Number of borrowed connections. Closing waits until all are released. */
  #borrowed = 0;
  #released: PromiseWithResolvers<void> | undefined;
  #group: Group | undefined;
  /** How many of the next transactions get a savepoint. */
  #careful = 0;

  constructor(database: EmbeddedDatabase, options: DriverOptions) {
    this.#database = database;
    this.#options = options;
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<DatabaseConnection> {
    this.#borrowed++;
    const borrowed: Borrowed = {
      undoes: "own",
      executeQuery: (query) => (borrowed.group ? this.#executeHere(query) : this.#executeAlone(borrowed, query)),
      // oxlint-disable-next-line require-yield -- there is nothing to yield
      async *streamQuery() {
        throw new Error("the store reads pages, not streams");
      },
    };
    return borrowed;
  }

  async releaseConnection(connection: DatabaseConnection): Promise<void> {
    endTurnOf(connection as Borrowed);
    if (--this.#borrowed === 0) this.#released?.resolve();
  }

  async beginTransaction(connection: DatabaseConnection): Promise<void> {
    const borrowed = connection as Borrowed;
    await this.#takeTurn(borrowed);
    const group = await this.#join();
    // Savepoints would take a sixth of the store's time with 16 concurrent queries, and almost none is used. The first
    // member never needs one: rolling back the whole SQLite transaction undoes only its own work.
    borrowed.undoes = group.joined === 1 ? "own" : this.#careful > 0 ? "savepoint" : "group";
    if (this.#careful > 0) this.#careful--;
    if (borrowed.undoes === "savepoint") this.#run("savepoint member");
    borrowed.group = group;
  }

  async commitTransaction(connection: DatabaseConnection): Promise<void> {
    const borrowed = connection as Borrowed;
    const { group, undoes } = borrowed;
    if (undoes === "savepoint") this.#run("release member");
    borrowed.group = undefined;
    if (group && group === this.#group && group.chars >= GROUP_CHARS) this.#endGroup("commit");
    endTurnOf(borrowed);
    await group?.ended.promise;
  }

  async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    const borrowed = connection as Borrowed;
    const { group } = borrowed;
    borrowed.group = undefined;
    // A failed commit may have ended the group already. The connection then belongs to the next turn: change nothing.
    if (!group || this.#group !== group) return;
    if (borrowed.undoes === "own") return this.#endGroup("rollback");
    if (borrowed.undoes === "group") throw this.#undoGroup(group);
    this.#run("rollback to member");
    this.#run("release member");
    endTurnOf(borrowed);
    // The caller may have rolled back because of rows that the group has not committed yet, for example a used
    // idempotency key. If the group's commit fails, that decision was wrong, and the caller must get the error.
    await group.ended.promise;
  }

  async destroy(): Promise<void> {
    this.#released = Promise.withResolvers();
    if (this.#borrowed > 0) await this.#released.promise;
    const endTurn = await this.#turns.takeNext();
    this.#endGroup("commit");
    // Closing the last connection writes the -wal file into the database file.
    this.#options.reader?.close();
    this.#database.close();
    endTurn();
  }

  async #takeTurn(borrowed: Borrowed): Promise<void> {
    borrowed.endTurn ??= await this.#turns.take(this.#options.client());
  }

  async #executeAlone<Row>(borrowed: Borrowed, query: CompiledQuery): Promise<QueryResult<Row>> {
    const isRead = SelectQueryNode.is(query.query);
    const { reader } = this.#options;
    // The reader's connection sees committed rows only, so a read waits for no group and no turn.
    if (isRead && reader) return this.#execute(reader, query);
    await this.#takeTurn(borrowed);
    if (!isRead && !isWrite(query.query)) {
      this.#endGroup("commit");
      return this.#executeHere(query);
    }
    return this.#executeInGroup(borrowed, query, isRead);
  }

  /**
   * Executes a write as a group member, or a read, which sees the open group's uncommitted rows. Returns the result
   * after the group's commit. A read is repeated when the commit fails, a write when the group was undone.
   */
  async #executeInGroup<Row>(borrowed: Borrowed, query: CompiledQuery, isRead: boolean): Promise<QueryResult<Row>> {
    for (;;) {
      const group = isRead ? this.#group : await this.#join();
      const result = await this.#executeHere<Row>(query);
      if (!group) return result;
      if (isRead) group.joined++;
      endTurnOf(borrowed);
      try {
        await group.ended.promise;
        return result;
      } catch (error) {
        if (!isRead && !(error instanceof GroupUndone)) throw error;
        await this.#takeTurn(borrowed);
      }
    }
  }

  /**
   * Joins the open group or begins one. `begin immediate` takes the write lock first: a transaction that began with a
   * read fails with SQLITE_BUSY at its first write when another process has written in between, and cannot be
   * continued.
   */
  async #join(): Promise<Group> {
    if (!this.#group) {
      await whileBusy(() => this.#run("begin immediate"), this.#options.busyTimeoutMs);
      const group = { joined: 0, beganAt: monotonicMs(), chars: 0, ended: Promise.withResolvers<void>() };
      // When all members have rolled back, a rejection has no other handler and would end the process.
      group.ended.promise.catch(() => undefined);
      this.#group = group;
      this.#commitWhenQuiet(group, 1);
    }
    this.#group.joined++;
    return this.#group;
  }

  /** Commits a group when an iteration of the event loop has added no member, or when its time is up. */
  #commitWhenQuiet(group: Group, joined: number): void {
    setImmediate(() => {
      if (this.#group !== group) return;
      if (group.joined > joined && monotonicMs() - group.beganAt < GROUP_MS) this.#commitWhenQuiet(group, group.joined);
      else void this.#commit(group);
    });
  }

  async #commit(group: Group): Promise<void> {
    const endTurn = await this.#turns.takeNext();
    try {
      if (this.#group === group) this.#endGroup("commit");
    } finally {
      endTurn();
    }
  }

  /** The caller must have the turn: then no member is between two statements. */
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
      this.#rollBack();
    }
  }

  /**
   * Rolls back everything in the group. Its members, including the caller, get an error after which they are repeated:
   * the caller may have rolled back because of rows that are now undone.
   */
  #undoGroup(group: Group): GroupUndone {
    const undone = new GroupUndone("another transaction of the group was rolled back");
    this.#group = undefined;
    this.#careful = CAREFUL;
    group.ended.reject(undone);
    this.#rollBack();
    return undone;
  }

  /** Rolls back what SQLite has not. If that fails too, the next group fails and reports that to its members. */
  #rollBack(): void {
    try {
      if (this.#database.inTransaction) this.#run("rollback");
    } catch {
      // The members already got an error.
    }
  }

  #run(statement: string): void {
    this.#database.prepare(statement).run([]);
  }

  async #executeHere<Row>(query: CompiledQuery): Promise<QueryResult<Row>> {
    if (this.#group) this.#group.chars += charsIn(query.parameters);
    try {
      return await this.#execute<Row>(this.#database, query);
    } catch (error) {
      // When a disk fails, SQLite rolls the whole transaction back by itself. The group is lost: all its members must fail.
      if (!this.#database.inTransaction) this.#endGroup("commit");
      throw error;
    }
  }

  #execute<Row>(
    database: EmbeddedDatabase,
    { sql, parameters }: CompiledQuery,
  ): QueryResult<Row> | Promise<QueryResult<Row>> {
    return whileBusy(() => {
      const statement = database.prepare(sql);
      if (statement.reader) return { rows: statement.all(parameters) as Row[] };
      return { rows: [], numAffectedRows: BigInt(statement.run(parameters).changes) };
    }, this.#options.busyTimeoutMs);
  }
}

function endTurnOf(borrowed: Borrowed): void {
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
