import { Kysely, sql } from "kysely";
import { type Log, silentLog } from "@patchbay/kit";
import type { Store } from "@patchbay/engine/ports/store/stores";
import { BackupFailed } from "./backup.ts";
import { explainConnectError, type Target } from "@patchbay/database/postgres-errors";
import { postgresDialect, type PostgresStoreDialect } from "./dialect/postgres.ts";
import type { SchemaStatus } from "@patchbay/engine/ports/store/schema-status";
import { migrate, type MigrationOptions, requireSchema, schemaStatus } from "./migrate.ts";
import { type Engine, NO_FILES } from "./engine.ts";
import { StoreHealth } from "./health.ts";
import type { Schema } from "./tables/schema.ts";

type PostgresOptions = Parameters<typeof postgresDialect>[1] & { readOnly?: boolean };

/**
 * Connects to a Postgres database and brings it to this version's schema, or with `readOnly` requires that. A simulation replaces the
 * `driver`'s settings.
 */
export async function openPostgres(
  url: string,
  { log, readOnly, ...options }: PostgresOptions,
): Promise<{ engine: Engine; backup: Store["backup"] }> {
  const dialect = await postgresDialect(url, { log, ...options });
  const { target } = dialect;
  await withoutTimeouts(dialect, (db) => (readOnly ? requireSchema : migrate)(db, migrationOptions(target, log)));
  const db = new Kysely<Schema>({ dialect: dialect.kysely });
  try {
    await warnOfBypass(db, log);
  } catch (error) {
    await db.destroy();
    throw error;
  }
  log.info("store opened", { url: addressOf(target) });
  return {
    engine: {
      db,
      reads: db,
      urgent: new Kysely<Schema>({ dialect: dialect.urgent }),
      dialect,
      files: NO_FILES,
      health: new StoreHealth({ log }),
    },
    async backup() {
      throw new BackupFailed(
        `Back up a Postgres database with pg_dump: PGOPTIONS="-c patchbay.org=*" pg_dump --enable-row-security --format=custom --file=patchbay.dump ${addressOf(target)}`,
      );
    },
  };
}

/** As `inspectStore` of open.ts. */
export async function inspectPostgres(url: string): Promise<SchemaStatus> {
  const dialect = await postgresDialect(url, { log: silentLog, clock: undefined });
  return withoutTimeouts(dialect, (db) => schemaStatus(db, migrationOptions(dialect.target, silentLog)));
}

const migrationOptions = (target: Target, log: Log): MigrationOptions => ({
  location: addressOf(target),
  rowLevelSecurity: true,
  log,
});

/** Migrating a large table takes longer than the statement timeout of other connections. */
async function withoutTimeouts<T>(
  { patient, target }: PostgresStoreDialect,
  work: (db: Kysely<Schema>) => Promise<T>,
): Promise<T> {
  await using db = new Kysely<Schema>({ dialect: patient });
  return await work(db).catch((error: unknown) => {
    throw explainConnectError(error, target);
  });
}

/** Row-level security does not apply to superusers, nor to roles with `bypassrls`: then only queries separate organisations. */
async function warnOfBypass(db: Kysely<Schema>, log: Log): Promise<void> {
  const { rows } = await sql<{ role: string; database: string; bypasses: boolean }>`
    select rolname as role, current_database() as database, rolsuper or rolbypassrls as bypasses
    from pg_roles where rolname = current_user`.execute(db);
  const [row] = rows;
  if (!row?.bypasses) return;
  log.warn("database role bypasses row-level security", {
    role: row.role,
    effect: "only this service separates organisations, not the database",
    remedy: `create role patchbay login password '...'; alter database ${row.database} owner to patchbay; then create the tables again as patchbay and use it in the database address`,
  });
}

/** Without the password. */
function addressOf({ user, host, port, database }: Target): string {
  return `postgres://${encodeURIComponent(user)}@${host}:${port}/${encodeURIComponent(database)}`;
}
