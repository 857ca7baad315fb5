import { sleep, wallMs } from "@patchbay/kit/time";
import { type Kysely, sql, type Transaction } from "kysely";
import { DEFAULT_MIGRATION_TABLE, type Migration } from "kysely/migration";
import { initialSchema } from "./migrations/0001-initial-schema.ts";
import { LAST_RELEASED, LAST_SEPARATE, squashedMigrations } from "./migrations/0039-squashed-migrations.ts";
import { reasoningTokens } from "./migrations/0040-reasoning-tokens.ts";
import { auditKeys } from "./migrations/0041-audit-keys.ts";
import { flowNotices } from "./migrations/0042-flow-notices.ts";
import { writtenValues } from "./migrations/0043-written-values.ts";
import { detachedCalls } from "./migrations/0044-detached-calls.ts";
import { taskModels } from "./migrations/0045-task-models.ts";
import type { Log } from "@patchbay/kit";
import { StoreUnavailable } from "@patchbay/engine/ports/store/run-store";
import type { SchemaStatus } from "@patchbay/engine/ports/store/schema-status";
import { isBlocked } from "@patchbay/database/postgres-errors";
import type { Schema } from "./tables/schema.ts";

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
/** After it, the initial schema is the same for all databases. */
const SQUASHED = "0039-squashed-migrations";

/** In the order of their names. A migration is never edited or removed. */
const migrations = (options: MigrationOptions): Record<string, Migration> => ({
  [FIRST_MIGRATION]: { up: (db) => initialSchema(db, options) },
  [SQUASHED]: { up: (db) => squashedMigrations(db, options) },
  "0040-reasoning-tokens": { up: reasoningTokens },
  "0041-audit-keys": { up: auditKeys },
  "0042-flow-notices": { up: flowNotices },
  "0043-written-values": { up: (db) => writtenValues(db, options) },
  "0044-detached-calls": { up: detachedCalls },
  "0045-task-models": { up: taskModels },
});

/** The lock of Kysely's migrator, with which earlier versions of this service migrate. */
const MIGRATION_LOCK = "3853314791062309107";
/** Less than the lock timeout of serving replicas, whose statements wait behind a migration that waits for a table. */
const LOCK_TIMEOUT = "2s";
const PAUSE_MS = 1_000;

/**
 * Brings a database to this version's schema. Each migration is a transaction: one that fails leaves the database after the one
 * before it, and the next call continues there. Processes that start at the same time take turns. Throws when another version of
 * Patchbay, which this one cannot follow, has used the database.
 */
export async function migrate(db: Kysely<Schema>, options: MigrationOptions): Promise<void> {
  let left = pendingOf(await executedMigrations(db), options);
  while (left.length > 0) left = await whileBlocked(() => migrateNext(db, options), options);
}

/** Runs the next migration, or all for an empty database, which nothing uses yet. Returns those that are left. */
async function migrateNext(db: Kysely<Schema>, options: MigrationOptions): Promise<string[]> {
  const { ran, left } = await db.transaction().execute(async (trx) => {
    if (options.rowLevelSecurity) await lockMigrations(trx);
    await createMigrationTable(trx);
    const executed = await namesIn(trx);
    const pending = pendingOf(executed, options);
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
    .values({ name, timestamp: new Date(wallMs()).toISOString() })
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

/** Changes nothing. Throws for the database of a version that this one cannot continue. */
export const schemaStatus = async (db: Kysely<Schema>, options: MigrationOptions): Promise<SchemaStatus> =>
  statusOf(await executedMigrations(db), options);

function statusOf(executed: readonly string[], options: MigrationOptions): SchemaStatus {
  requireReadable(executed, options);
  const known = Object.keys(migrations(options)).toSorted();
  return {
    database: options.location,
    applied: executed.toSorted(),
    pending: known.filter((name) => !executed.includes(name)),
    // Names before `SQUASHED` are those of migrations that the initial schema contains.
    unknown: executed.filter((name) => name > SQUASHED && !known.includes(name)),
  };
}

/** Migrations that this version would run, in order. Throws if it cannot use the database. */
function pendingOf(executed: readonly string[], options: MigrationOptions): string[] {
  const { pending, unknown } = statusOf(executed, options);
  if (unknown.length > 0)
    throw new Error(
      "A newer version of Patchbay has used this database. Start that version, or restore a backup made before it.",
    );
  return pending;
}

function requireReadable(executed: readonly string[], { location }: MigrationOptions): void {
  if (executed.length === 0) return;
  if (!executed.includes(FIRST_MIGRATION))
    throw new Error(
      `A version of Patchbay before 0.1.0 made the database ${location}, which this version cannot read: move it away, or use an empty database.`,
    );
  const last = executed
    .filter((name) => name <= SQUASHED)
    .toSorted()
    .at(-1);
  if (last !== SQUASHED && last !== LAST_SEPARATE && last !== LAST_RELEASED)
    throw new Error(
      `The last migration of the database ${location} is ${last}. This version continues only after ${LAST_RELEASED} or ${LAST_SEPARATE}, and has no migrations before them. Run \`patchbay db migrate\` of an earlier version that ends with one of these two, then start this version.`,
    );
}

/** Throws for a database of an earlier or a later version. Changes nothing. */
export async function requireSchema(db: Kysely<Schema>, options: MigrationOptions): Promise<void> {
  if (pendingOf(await executedMigrations(db), options).length === 0) return;
  throw new Error(`${options.location} has an earlier version's schema. Run \`patchbay db migrate\` before.`);
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
