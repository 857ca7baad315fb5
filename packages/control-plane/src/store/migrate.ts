import type { Kysely } from "kysely";
import { Migrator, type Migration } from "kysely/migration";
import * as initial from "./migrations/0001-initial.ts";
import * as audit from "./migrations/0002-audit.ts";
import * as replicas from "./migrations/0003-replicas.ts";
import * as fewerIndexes from "./migrations/0005-fewer-indexes.ts";
import * as members from "./migrations/0006-members.ts";
import * as runtimeVersions from "./migrations/0008-runtime-versions.ts";
import * as figures from "./migrations/0009-figures.ts";
import * as runLists from "./migrations/0010-run-lists.ts";
import * as waterfall from "./migrations/0011-waterfall.ts";
import * as functionSets from "./migrations/0012-function-sets.ts";
import * as accessChanges from "./migrations/0013-access-changes.ts";
import * as crashes from "./migrations/0014-crashes.ts";
import * as idempotencyScope from "./migrations/0016-idempotency-scope.ts";
import * as requestIds from "./migrations/0017-request-ids.ts";
import * as threadRoles from "./migrations/0018-thread-roles.ts";
import * as retention from "./migrations/0019-retention.ts";
import * as linkAuthors from "./migrations/0020-link-authors.ts";
import * as runEndings from "./migrations/0021-run-endings.ts";
import * as agentSettings from "./migrations/0022-agent-settings.ts";
import * as cacheWrites from "./migrations/0023-cache-writes.ts";
import * as historyTotals from "./migrations/0027-history-totals.ts";
import type { Schema } from "./schema.ts";

/** In the order of their names; a released one is never edited. */
const MIGRATIONS: Record<string, Migration> = {
  "0001-initial": initial,
  "0002-audit": audit,
  "0003-replicas": replicas,
  "0005-fewer-indexes": fewerIndexes,
  "0006-members": members,
  "0008-runtime-versions": runtimeVersions,
  "0009-figures": figures,
  "0010-run-lists": runLists,
  "0011-waterfall": waterfall,
  "0012-function-sets": functionSets,
  "0013-access-changes": accessChanges,
  "0014-crashes": crashes,
  "0016-idempotency-scope": idempotencyScope,
  "0017-request-ids": requestIds,
  "0018-thread-roles": threadRoles,
  "0019-retention": retention,
  "0020-link-authors": linkAuthors,
  "0021-run-endings": runEndings,
  "0022-agent-settings": agentSettings,
  "0023-cache-writes": cacheWrites,
  "0027-history-totals": historyTotals,
};

/**
 * Brings the database to this version's form. `ofDialect` adds migrations that only one engine needs, and replaces those of
 * the same name that it does in its own way. Processes that start together wait for one another.
 */
export async function migrate(db: Kysely<Schema>, ofDialect: Record<string, Migration> = {}): Promise<void> {
  const { error } = await migratorOf(db, ofDialect).migrateToLatest();
  if (error === undefined) return;
  // Kysely's word for a migration that was run but is not among those it knows.
  if (!(error instanceof Error) || !error.message.startsWith("corrupted migrations")) throw error;
  throw new Error(
    "A newer version of Patchbay has used this database. Start that version, or restore a backup made before it.",
    { cause: error },
  );
}

/** True when nothing is left for `migrate` to do. Changes nothing. */
export async function isUpToDate(db: Kysely<Schema>, ofDialect: Record<string, Migration> = {}): Promise<boolean> {
  const migrations = await migratorOf(db, ofDialect).getMigrations();
  return migrations.every(({ executedAt }) => executedAt !== undefined);
}

function migratorOf(db: Kysely<Schema>, ofDialect: Record<string, Migration>): Migrator {
  return new Migrator({ db, provider: { getMigrations: async () => ({ ...MIGRATIONS, ...ofDialect }) } });
}
