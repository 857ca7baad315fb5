import { setTimeout as sleep } from "node:timers/promises";
import { type Kysely, sql, type Transaction } from "kysely";
import { DEFAULT_MIGRATION_TABLE, type Migration } from "kysely/migration";
import { changeCounters } from "./migrations/0001-change-counters.ts";
import { initialSchema } from "./migrations/0001-initial-schema.ts";
import { serviceAddress } from "./migrations/0002-service-address.ts";
import { balances } from "./migrations/0003-balances.ts";
import { callErrors } from "./migrations/0004-call-errors.ts";
import { reruns } from "./migrations/0005-reruns.ts";
import { dropSharedKeys } from "./migrations/0006-foreign-keys.ts";
import { runFacts } from "./migrations/0007-run-facts.ts";
import { firstToken } from "./migrations/0008-first-token.ts";
import { approvals } from "./migrations/0009-approvals.ts";
import { runViews } from "./migrations/0010-run-views.ts";
import { feedback } from "./migrations/0011-feedback.ts";
import { permits } from "./migrations/0012-permits.ts";
import { runtimeHost } from "./migrations/0013-runtime-host.ts";
import { webhooks } from "./migrations/0014-webhooks.ts";
import { shadows } from "./migrations/0015-shadows.ts";
import { auditSeals } from "./migrations/0016-audit-seals.ts";
import { waitingTimes } from "./migrations/0018-waiting-times.ts";
import { runKinds } from "./migrations/0019-run-kinds.ts";
import { threadKeys } from "./migrations/0020-thread-keys.ts";
import { clientTokens } from "./migrations/0021-client-tokens.ts";
import { runRequests } from "./migrations/0022-run-requests.ts";
import { traces } from "./migrations/0023-traces.ts";
import { serviceTokens } from "./migrations/0024-service-tokens.ts";
import { factsByTime } from "./migrations/0025-facts-by-time.ts";
import { leftRuns } from "./migrations/0026-left-runs.ts";
import { reportedCases } from "./migrations/0027-reported-cases.ts";
import { runsByAgent } from "./migrations/0028-runs-by-agent.ts";
import { accessLocks } from "./migrations/0029-access-locks.ts";
import { feedbackTags } from "./migrations/0030-feedback-tags.ts";
import type { Log } from "../ports/log.ts";
import { StoreUnavailable } from "../ports/run-store.ts";
import type { SchemaStatus } from "../ports/schema-status.ts";
import { isBlocked } from "./dialect/postgres-errors.ts";
import type { Schema } from "./schema.ts";

/** How the migrations of a database run, and where it is. */
export interface MigrationOptions {
  /** Path or address of the database, for error messages. Never contains a password. */
  location: string;
  /** True for Postgres. */
  rowLevelSecurity: boolean;
  log: Log;
}

/** The migration that every database of a released version has run. */
export const FIRST_MIGRATION = "0001-initial-schema";

/** In the order of their names. A released migration is never edited. */
function migrations(options: MigrationOptions): Record<string, Migration> {
  return {
    [FIRST_MIGRATION]: {
      async up(db) {
        await initialSchema(db, options);
        await changeCounters(db, options);
      },
    },
    "0002-service-address": { up: (db) => serviceAddress(db, options) },
    "0003-balances": { up: (db) => balances(db, options) },
    "0004-call-errors": { up: (db) => callErrors(db, options) },
    "0005-reruns": { up: (db) => reruns(db, options) },
    "0006-foreign-keys": { up: (db) => dropSharedKeys(db, options) },
    "0007-run-facts": { up: (db) => runFacts(db, options) },
    "0008-first-token": { up: firstToken },
    "0009-approvals": { up: (db) => approvals(db, options) },
    "0010-run-views": { up: (db) => runViews(db, options) },
    "0011-feedback": { up: (db) => feedback(db, options) },
    "0012-permits": { up: (db) => permits(db, options) },
    "0013-runtime-host": { up: runtimeHost },
    "0014-webhooks": { up: (db) => webhooks(db, options) },
    "0015-shadows": { up: (db) => shadows(db, options) },
    "0016-audit-seals": { up: (db) => auditSeals(db, options) },
    "0018-waiting-times": { up: waitingTimes },
    "0019-run-kinds": { up: runKinds },
    "0020-thread-keys": { up: (db) => threadKeys(db, options) },
    "0021-client-tokens": { up: (db) => clientTokens(db, options) },
    "0022-run-requests": { up: runRequests },
    "0023-traces": { up: traces },
    "0024-service-tokens": { up: (db) => serviceTokens(db, options) },
    "0025-facts-by-time": { up: factsByTime },
    "0026-left-runs": { up: leftRuns },
    "0027-reported-cases": { up: reportedCases },
    "0028-runs-by-agent": { up: runsByAgent },
    "0029-access-locks": { up: accessLocks },
    "0030-feedback-tags": { up: feedbackTags },
  };
}

/** The lock of Kysely's migrator, with which earlier versions of this service migrate. */
const MIGRATION_LOCK = "3853314791062309107";
/** Less than the lock timeout of serving replicas, whose statements wait behind a migration that waits for a table. */
const LOCK_TIMEOUT = "2s";
const PAUSE_MS = 1_000;

/**
 * Brings a database to this version's schema, or only to the one after the migration `last`. Each migration is a transaction: one
 * that fails leaves the database after the one before it, and the next call continues there. Processes that start at the same time
 * take turns. Throws when another version of Patchbay, which this one cannot follow, has used the database.
 */
export async function migrate(db: Kysely<Schema>, options: MigrationOptions, last?: string): Promise<void> {
  let left = pendingOf(await executedMigrations(db), options, last);
  while (left.length > 0) left = await whileBlocked(() => migrateNext(db, options, last), options);
}

/** Runs the next migration, or all for an empty database, which nothing uses yet. Returns those that are left. */
async function migrateNext(db: Kysely<Schema>, options: MigrationOptions, last?: string): Promise<string[]> {
  const { ran, left } = await db.transaction().execute(async (trx) => {
    if (options.rowLevelSecurity) await lockMigrations(trx);
    await createMigrationTable(trx);
    const executed = await namesIn(trx);
    const pending = pendingOf(executed, options, last);
    const next = executed.length === 0 ? pending : pending.slice(0, 1);
    for (const name of next) await run(trx, name, options);
    return { ran: next, left: pending.slice(next.length) };
  });
  if (ran.length > 0) options.log.info("database migrated", { migrations: ran });
  return left;
}

async function run(trx: Transaction<Schema>, name: string, options: MigrationOptions): Promise<void> {
  try {
    await migrations(options)[name]!.up(trx);
  } catch (error) {
    if (error instanceof StoreUnavailable || isBlocked(error)) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(
      `The migration ${name} failed and changed nothing: ${reason}. Remove the cause and start again: migrations before it are kept.`,
      { cause: error },
    );
  }
  await withMigrationTable(trx)
    .insertInto(DEFAULT_MIGRATION_TABLE)
    .values({ name, timestamp: new Date().toISOString() })
    .execute();
}

/**
 * Until the end of the transaction: a lock of a session would stay with a connection of a pooler. The limits of the role, which
 * replicas behind a pooler need, would end a migration of a large table, and the wait for another process that migrates.
 */
async function lockMigrations(trx: Transaction<Schema>): Promise<void> {
  const limit = (name: string, value: string) => sql`select set_config(${name}, ${value}, true)`.execute(trx);
  for (const name of ["statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout"])
    await limit(name, "0");
  await sql`select pg_advisory_xact_lock(${sql.lit(MIGRATION_LOCK)})`.execute(trx);
  await limit("lock_timeout", LOCK_TIMEOUT);
}

/**
 * Repeats a migration that could not lock a table in time, or that a deadlock with serving replicas ended. Between two attempts,
 * their statements use the table.
 */
async function whileBlocked<T>(work: () => Promise<T>, { log }: MigrationOptions): Promise<T> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!isBlocked(error)) throw error;
      log.warn("a migration waits for a table that others use", { cause: error });
      await sleep(PAUSE_MS);
    }
  }
}

/** Changes nothing. Throws for the database of a version before 0.1.0. */
export async function schemaStatus(db: Kysely<Schema>, options: MigrationOptions): Promise<SchemaStatus> {
  const executed = await executedMigrations(db);
  requireReadable(executed, options);
  const known = Object.keys(migrations(options)).toSorted();
  return {
    database: options.location,
    applied: executed.toSorted(),
    pending: known.filter((name) => !executed.includes(name)),
    unknown: unknownOf(executed, options),
  };
}

/** Migrations that this version would run, in order. Throws if it cannot use the database. */
function pendingOf(executed: readonly string[], options: MigrationOptions, last?: string): string[] {
  requireReadable(executed, options);
  if (unknownOf(executed, options).length > 0)
    throw new Error(
      "A newer version of Patchbay has used this database. Start that version, or restore a backup made before it.",
    );
  const known = Object.keys(migrations(options)).toSorted();
  return known.filter((name) => !executed.includes(name) && (last === undefined || name <= last));
}

function requireReadable(executed: readonly string[], { location }: MigrationOptions): void {
  if (executed.length > 0 && !executed.includes(FIRST_MIGRATION))
    throw new Error(
      `A version of Patchbay before 0.1.0 made the database ${location}, which this version cannot read: move it away, or use an empty database.`,
    );
}

function unknownOf(executed: readonly string[], options: MigrationOptions): string[] {
  const known = migrations(options);
  return executed.filter((name) => !Object.hasOwn(known, name));
}

/** Names of the migrations that the database has run; none for an empty database. */
async function executedMigrations(db: Kysely<Schema>): Promise<string[]> {
  const tables = await db.introspection.getTables({ withInternalKyselyTables: true });
  if (!tables.some(({ name }) => name === DEFAULT_MIGRATION_TABLE)) return [];
  return namesIn(db);
}

async function namesIn(db: Kysely<Schema>): Promise<string[]> {
  const rows = await withMigrationTable(db).selectFrom(DEFAULT_MIGRATION_TABLE).select("name").execute();
  return rows.map(({ name }) => name);
}

const withMigrationTable = (db: Kysely<Schema>) =>
  db.withTables<{ [DEFAULT_MIGRATION_TABLE]: { name: string; timestamp: string } }>();

/** As Kysely's migrator makes it. */
async function createMigrationTable(db: Kysely<Schema>): Promise<void> {
  await db.schema
    .createTable(DEFAULT_MIGRATION_TABLE)
    .ifNotExists()
    .addColumn("name", "varchar(255)", (column) => column.notNull().primaryKey())
    .addColumn("timestamp", "varchar(255)", (column) => column.notNull())
    .execute();
}
