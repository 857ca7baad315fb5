import { Kysely, sql } from "kysely";
import type { Clock } from "../ports/clock.ts";
import { type Log, silentLog } from "../ports/log.ts";
import type { Store } from "../ports/stores.ts";
import { BackupFailed } from "./backup.ts";
import { explainConnectError, type Target } from "./dialect/postgres-errors.ts";
import { postgresDialect, type PostgresStoreDialect } from "./dialect/postgres.ts";
import { isUpToDate, migrate } from "./migrate.ts";
import * as wall from "./migrations/0004-wall.ts";
import * as memberWall from "./migrations/0006-members-wall.ts";
import * as functionSetWall from "./migrations/0012-function-sets-wall.ts";
import * as idempotencyScope from "./migrations/0016-idempotency-scope-postgres.ts";
import * as threadRoleWall from "./migrations/0018-thread-roles-wall.ts";
import type { Engine, Schema } from "./schema.ts";

/** Connects to a database on a server and brings it to this version's form. */
export async function openPostgres(
  url: string,
  { log, clock }: { log: Log; clock: Clock | undefined },
): Promise<{ engine: Pick<Engine, "db" | "reads" | "urgent" | "dialect">; backup: Store["backup"] }> {
  const dialect = await postgresDialect(url, { log, clock });
  const { target } = dialect;
  await withPatience(dialect, (db) => migrate(db, OF_POSTGRES));
  const db = new Kysely<Schema>({ dialect: dialect.kysely });
  try {
    await warnOfPower(db, log);
  } catch (error) {
    await db.destroy();
    throw error;
  }
  log.info("store opened", { url: describe(target) });
  return {
    engine: { db, reads: db, urgent: new Kysely<Schema>({ dialect: dialect.urgent }), dialect },
    async backup() {
      throw new BackupFailed(
        `A store on Postgres is copied by Postgres' own tool: PGOPTIONS="-c patchbay.org=*" pg_dump --enable-row-security --format=custom --file=patchbay.dump ${describe(target)}`,
      );
    },
  };
}

export async function isPostgresUpToDate(url: string): Promise<boolean> {
  const dialect = await postgresDialect(url, { log: silentLog, clock: undefined });
  return withPatience(dialect, (db) => isUpToDate(db, OF_POSTGRES));
}

/** Migrations that only Postgres needs, and those that it does in its own way. */
const OF_POSTGRES = {
  "0004-wall": wall,
  "0006-members-wall": memberWall,
  "0012-function-sets-wall": functionSetWall,
  "0016-idempotency-scope": idempotencyScope,
  "0018-thread-roles-wall": threadRoleWall,
};

async function withPatience<T>(
  { patient, target }: PostgresStoreDialect,
  work: (db: Kysely<Schema>) => Promise<T>,
): Promise<T> {
  const db = new Kysely<Schema>({ dialect: patient });
  try {
    return await work(db);
  } catch (error) {
    throw explainConnectError(error, target);
  } finally {
    await db.destroy();
  }
}

/** Row-level security binds neither superusers nor those who may bypass it. */
async function warnOfPower(db: Kysely<Schema>, log: Log): Promise<void> {
  const { rows } = await sql<{ role: string; database: string; unbound: boolean }>`
    select rolname as role, current_database() as database, rolsuper or rolbypassrls as unbound
    from pg_roles where rolname = current_user`.execute(db);
  const [row] = rows;
  if (!row?.unbound) return;
  log.warn("database role is above row-level security", {
    role: row.role,
    effect: "organisations are held apart by this service alone, not by the database too",
    remedy: `create role patchbay login password '...'; alter database ${row.database} owner to patchbay; then make the tables anew as patchbay and use it in the database address`,
  });
}

function describe({ user, host, port, database }: Target): string {
  return `postgres://${encodeURIComponent(user)}@${host}:${port}/${encodeURIComponent(database)}`;
}
