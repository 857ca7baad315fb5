import {
  type DatabaseConnection,
  type Dialect,
  type Expression,
  type Kysely,
  type RawBuilder,
  type SelectQueryBuilder,
  sql,
  type SqlBool,
  type Transaction,
} from "kysely";
import type { CallStore } from "@patchbay/engine/ports/store/call-store";
import { type Lease, type NewRun, type RunCommit, StoreUnavailable } from "@patchbay/engine/ports/store/run-store";
import type { StoreHealth } from "./health.ts";
import type { Pass } from "./pass.ts";
import type { Schema } from "./tables/schema.ts";
import type { CallRow } from "./tables/calls.ts";
import type { RunRow } from "./tables/runs.ts";

/** The store's database connections, which all its queries use. */
export interface Engine {
  db: Kysely<Schema>;
  /**
   * Read-only connections for lists and sums, which may be slow: commits and leases never wait for them. For an
   * embedded database they are up to two threads with 10 MB each, which start with the first reads: background work in
   * an idle service must not use them.
   */
  reads: Kysely<Schema>;
  /** Connections for leases and heartbeats. They do not wait behind queries, or leases would expire under load. */
  urgent: Kysely<Schema>;
  dialect: StoreDialect;
  files: DatabaseFiles;
  health: StoreHealth;
  /** The connection of the transaction `db`, for compiled statements: using Kysely costs more than the query. */
  connection?: DatabaseConnection;
}

/** What the database decides about a run that it starts. */
export interface StartedInGroup {
  created_at: number;
  deadline_at: number;
  reserved: number;
}

/** The columns from an accepted call, and from its run. */
export const OF_CALL = ["run_id", "instance_id", "function_name", "arguments", "attempts", "state"] as const;
export const OF_RUN = ["agent_id", "thread_id", "session_id", "role", "request"] as const;
export type AcceptedInGroup = Pick<CallRow, (typeof OF_CALL)[number]> & Pick<RunRow, (typeof OF_RUN)[number]>;

/** Everything that differs between SQLite and Postgres. */
export interface StoreDialect {
  kysely: Dialect;
  /** Separate connections for slow reads. Absent when `kysely` serves them. */
  reads?: Dialect;
  /** The database's time in whole milliseconds since the epoch. */
  now: RawBuilder<number>;
  /** Milliseconds of work so far, for budgets: processor time if this thread executes the statements, else all time. */
  used(): number;
  /** Milliseconds since the oldest open transaction began that may still commit rows with a later time. */
  oldestWriteMs: RawBuilder<number>;
  /** Locks selected rows in `table`, by default `runs`, for a claim; skips rows that another replica is claiming. */
  lockForClaim<T extends keyof Schema, O>(
    query: SelectQueryBuilder<Schema, T, O>,
    table?: keyof Schema,
  ): SelectQueryBuilder<Schema, T, O>;
  /** Locks the rows against changes until the transaction ends. Waits for transactions that are changing them. */
  lockShared<T extends keyof Schema, O>(query: SelectQueryBuilder<Schema, T, O>): SelectQueryBuilder<Schema, T, O>;
  /** Position of the first `part` in the text, from 1; otherwise 0. `part` becomes SQL text: pass constants only. */
  indexOf(text: Expression<string>, part: string): RawBuilder<number>;
  /** A sub-select with the rows in a JSON array of objects. Column names become SQL text: pass constants only. */
  rowsOf(json: string, columns: { names: readonly string[]; types: string }): RawBuilder<object>;
  /** The value of `run_texts.words` for words between spaces. */
  storedWords(words: string): RawBuilder<string>;
  /** True for run facts with all these words; the last one may be a prefix. */
  hasWords(words: readonly string[]): RawBuilder<SqlBool>;
  /** True for a deadlock, a serialisation failure or an undone group, after which the transaction can be repeated. */
  retryable(error: unknown): boolean;
  /**
   * Stores steps from concurrent runs together, in one statement: `postgres-steps.ts`. Returns the credit that a step
   * reserved, or undefined when the caller must store the step in a separate transaction. Absent when a transaction
   * costs no round trips.
   */
  groupSteps?(engine: Engine): (lease: Lease, change: RunCommit) => Promise<number | undefined>;
  /** Likewise for run starts: `postgres-starts.ts`. */
  groupStarts?(engine: Engine): (run: NewRun) => Promise<StartedInGroup | undefined>;
  /** Accepts calls from other replicas together: `postgres-accepts.ts`. Undefined for a call that must not be sent. */
  groupAccepts?(engine: Engine): (attempt: Parameters<CallStore["accept"]>[0]) => Promise<AcceptedInGroup | undefined>;
  /** The organisation in `within`; outside, one text for all organisations. */
  scope(): string;
  /** As `Store.within`. */
  within<T>(orgId: string, work: () => T): T;
}

/** An embedded database's files. For a database server all methods do nothing. */
export interface DatabaseFiles {
  /** Call after erasing text: removes it from the log file within seconds. */
  textErased(): void;
  /** Returns free disk space that the next days will not need. */
  shrink(pass: Pass): Promise<void>;
}

export const NO_FILES: DatabaseFiles = { textErased() {}, async shrink() {} };

const ATTEMPTS = 5;

/**
 * Runs `work` in one transaction and repeats it from the start after a deadlock or a serialisation failure, and on
 * SQLite after another transaction in its group was rolled back.
 * All transactions lock rows in this order: idempotency key, thread, run, call, balance. With one order two
 * transactions can wait for each other but never in a circle, which Postgres would end as a deadlock. The lock on a
 * run's row protects the run's state; the lock on a thread's row protects the thread's queue.
 */
export function transact<T>(engine: Engine, work: (trx: Engine) => Promise<T>): Promise<T> {
  return repeat(engine, () =>
    engine.db.transaction().execute(async (trx) => work({ ...engine, db: trx, connection: await connectionOf(trx) })),
  );
}

/** Thrown in a transaction to roll it back and still return an answer. */
export class Undone<T> extends Error {
  readonly answer: T;

  constructor(answer: T) {
    super("the transaction is undone");
    this.answer = answer;
  }
}

/** As `transact`, for work that may throw `Undone`. */
export const transactOrUndo = <T>(engine: Engine, work: (trx: Engine) => Promise<T>): Promise<T> =>
  transact(engine, work).catch((error: unknown) => {
    if (error instanceof Undone) return (error as Undone<T>).answer;
    throw error;
  });

/** A transaction's connection until its end. */
const connectionOf = (trx: Transaction<Schema>) =>
  trx.getExecutor().provideConnection(async (connection) => connection);

/** Repeats a statement that updates many rows: two such statements can lock rows in different orders and deadlock. */
export async function repeat<T>({ dialect, health }: Engine, statement: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      const result = await statement();
      health.succeeded();
      return result;
    } catch (error) {
      if (error instanceof StoreUnavailable) health.failed();
      if (attempt === ATTEMPTS || !dialect.retryable(error)) throw error;
    }
  }
}

/**
 * Rejects when a query would fail now. After a failed write it tests a write too: a full disk still answers reads, and
 * a replica that cannot write must not be reported as ready. The test counts in a minute of 1970, which the next sweep
 * deletes; an update that leaves the row unchanged would not make SQLite write.
 */
export async function ping(engine: Engine): Promise<void> {
  await engine.db.selectFrom("orgs").select("id").limit(1).execute();
  if (engine.health.writable) return;
  await transact(engine, async ({ db }) => {
    await db
      .insertInto("rate_windows")
      .columns(["org_id", "window_start", "count"])
      .expression((eb) =>
        eb
          .selectFrom("orgs")
          .select(["id", sql.lit(0).as("window_start"), sql.lit(1).as("count")])
          .limit(1),
      )
      .onConflict((conflict) =>
        conflict.columns(["org_id", "window_start"]).doUpdateSet((eb) => ({ count: eb("rate_windows.count", "+", 1) })),
      )
      .execute();
  });
}
