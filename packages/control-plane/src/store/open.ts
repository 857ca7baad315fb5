import { Kysely } from "kysely";
import type { Clock } from "../ports/clock.ts";
import { type Log, silentLog } from "../ports/log.ts";
import type { Store } from "../ports/stores.ts";
import { accountStore } from "./accounts.ts";
import { auditStore } from "./audit.ts";
import { backup } from "./backup.ts";
import { callStore } from "./calls.ts";
import { consoleStore } from "./console/index.ts";
import { credits } from "./credits.ts";
import { sqliteDialect, sqliteFile } from "./dialect/sqlite.ts";
import { NO_FILES, sqliteFiles } from "./database-files.ts";
import { ping } from "./health.ts";
import { isPostgresUrl } from "./dialect/postgres-address.ts";
import { lockSqliteFile } from "./dialect/sqlite-lock.ts";
import { migrate } from "./migrate.ts";
import { rateWindows } from "./rate-windows.ts";
import { runClaims } from "./runs-claim.ts";
import { runCommits } from "./runs-commit.ts";
import { runReads } from "./runs-read.ts";
import { runStarts } from "./runs-start.ts";
import { runtimeStore } from "./runtimes.ts";
import type { Engine, Schema } from "./schema.ts";
import { sweep } from "./sweep/sweep.ts";
import { threadStore } from "./threads.ts";

/**
 * Opens the store at `sqlite:PATH` or `sqlite::memory:`, making the file where there is none, or in the database at
 * `postgres://…`, which must be there; brings it to this version's form. Several processes may open one store. A `clock`
 * replaces the database's own. The caller closes it.
 */
export async function openStore(url: string, options: { log?: Log; clock?: Clock } = {}): Promise<Store> {
  const { log = silentLog, clock } = options;
  if (isPostgresUrl(url)) {
    // Loaded here and not at the top: whoever stays on SQLite has no use for it.
    const { openPostgres } = await import("./open-postgres.ts");
    const { engine, backup } = await openPostgres(url, { log, clock });
    return { ...assemble({ ...engine, files: NO_FILES, health: { writable: true } }), backup };
  }
  const dialect = sqliteDialect(sqlitePath(url), { clock });
  const db = new Kysely<Schema>({ dialect: dialect.kysely });
  try {
    await migrate(db);
  } catch (error) {
    await db.destroy();
    throw error;
  }
  log.info("store opened", { url });
  const reads = dialect.reads ? new Kysely<Schema>({ dialect: dialect.reads }) : db;
  const files = sqliteFiles(db, log);
  const store = assemble({
    db,
    reads,
    urgent: db,
    dialect,
    files,
    health: { writable: true },
  });
  return {
    ...store,
    async close() {
      files[Symbol.dispose]();
      await store.close();
    },
  };
}

/** True when a Postgres database has this version's form. Changes nothing. Throws as opening it would. */
export async function inspectPostgres(url: string): Promise<boolean> {
  const { isPostgresUpToDate } = await import("./open-postgres.ts");
  return isPostgresUpToDate(url);
}

/** The file of an embedded database; undefined for one in memory or on a server. */
export function embeddedFile(url: string): string | undefined {
  return isPostgresUrl(url) ? undefined : sqliteFile(sqliteUrl(url));
}

/**
 * Keeps other servers off an embedded store until disposed. Throws `StoreInUse` when one is there. Tools that only open the
 * store do not ask for it; a store in memory needs none, and one on Postgres is there for several servers.
 */
export async function lockStore(url: string): Promise<AsyncDisposable> {
  const file = embeddedFile(url);
  return file === undefined ? { async [Symbol.asyncDispose]() {} } : lockSqliteFile(file);
}

function assemble(engine: Engine): Store {
  const { hold, ...balances } = credits(engine);
  return {
    calls: callStore(engine),
    runs: { ...runStarts(engine), ...runClaims(engine), ...runCommits(engine), ...runReads(engine), hold },
    accounts: { ...accountStore(engine), ...balances, ...rateWindows(engine) },
    threads: threadStore(engine),
    runtimes: runtimeStore(engine),
    audit: auditStore(engine),
    console: consoleStore(engine),
    ping: () => ping(engine),
    async now() {
      const row = await engine.db.selectNoFrom(engine.dialect.now.as("now")).executeTakeFirstOrThrow();
      return row.now;
    },
    within: (orgId, work) => engine.dialect.within(orgId, work),
    sweep: (retention, options) => sweep(engine, retention, options),
    backup: (file) => backup(engine, file),
    close: () => closeEngine(engine),
  };
}

/** Readers first: the last connection to an embedded database brings its log into the file and deletes it. */
async function closeEngine({ db, reads, urgent }: Engine): Promise<void> {
  if (reads !== db) await reads.destroy();
  await db.destroy();
  if (urgent !== db) await urgent.destroy();
}

function sqlitePath(url: string): string {
  return sqliteFile(sqliteUrl(url)) ?? ":memory:";
}

function sqliteUrl(url: string): string {
  if (url.startsWith("sqlite:") && url.length > "sqlite:".length) return url;
  throw new Error(
    "The database address must be sqlite:PATH or postgres://USER@HOST/DATABASE, for example sqlite:./data/patchbay.db.",
  );
}
