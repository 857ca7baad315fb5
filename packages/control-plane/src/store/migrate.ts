import type { Kysely } from "kysely";
import { DEFAULT_MIGRATION_TABLE, type Migration, Migrator } from "kysely/migration";
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
import type { SchemaStatus } from "../ports/schema-status.ts";
import type { Schema } from "./schema.ts";

/** How the migrations of a database run, and where it is. */
export interface MigrationOptions {
  /** Path or address of the database, for error messages. Never contains a password. */
  location: string;
  /** True for Postgres. */
  rowLevelSecurity: boolean;
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
  };
}

/**
 * Brings a database to this version's schema, or only to the one after the migration `last`. Processes that start at the same time
 * wait for each other. Throws when another version of Patchbay, which this one cannot follow, has used the database.
 */
export async function migrate(db: Kysely<Schema>, options: MigrationOptions, last?: string): Promise<void> {
  await checkVersion(db, options);
  const migrator = migratorOf(db, options);
  const { error } = await (last === undefined ? migrator.migrateToLatest() : migrator.migrateTo(last));
  if (error !== undefined) throw error;
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

/**
 * Checked before Kysely looks: it would report both cases as "corrupted migrations" and leave the reader without a remedy.
 */
async function checkVersion(db: Kysely<Schema>, options: MigrationOptions): Promise<void> {
  const executed = await executedMigrations(db);
  requireReadable(executed, options);
  if (unknownOf(executed, options).length > 0)
    throw new Error(
      "A newer version of Patchbay has used this database. Start that version, or restore a backup made before it.",
    );
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
  const rows = await db
    .withTables<{ [DEFAULT_MIGRATION_TABLE]: { name: string } }>()
    .selectFrom(DEFAULT_MIGRATION_TABLE)
    .select("name")
    .execute();
  return rows.map(({ name }) => name);
}

function migratorOf(db: Kysely<Schema>, options: MigrationOptions): Migrator {
  return new Migrator({ db, provider: { getMigrations: async () => migrations(options) } });
}
