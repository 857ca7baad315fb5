import { basename, dirname, resolve } from "node:path";
import type { Session } from "@patchbay/protocol/console";
import { Kysely } from "kysely";
import type { Clock } from "@patchbay/engine/ports/clock";
import { type Log, silentLog } from "@patchbay/kit";
import type { Store } from "@patchbay/engine/ports/store/stores";
import { accountStore } from "./accounts/accounts.ts";
import { approvalStore } from "./calls/approvals.ts";
import { auditStore } from "./audit/audit.ts";
import { auditSealStore } from "./audit/audit-seals.ts";
import { backup } from "./backup.ts";
import { callErrors } from "./calls/call-errors.ts";
import { callStore } from "./calls/calls.ts";
import { credits } from "./runs/credits.ts";
import { isPostgresUrl } from "@patchbay/database/postgres-pool";
import { lockSqliteFile, sqliteFiles } from "./dialect/sqlite-files.ts";
import { sqliteDialect, sqliteFile } from "./dialect/sqlite.ts";
import { type Engine, ping } from "./engine.ts";
import { memberStore } from "./accounts/members.ts";
import type { SchemaStatus } from "@patchbay/engine/ports/store/schema-status";
import { migrate, requireSchema, schemaStatus } from "./migrate.ts";
import { firstStartStore } from "./accounts/first-start.ts";
import { runNotes } from "./runs/run-notes.ts";
import { newestCalls } from "./calls/newest-calls.ts";
import { permitStore } from "./calls/permits.ts";
import { runPages } from "./runs/run-page.ts";
import { retryStore } from "./runs/retries.ts";
import { runIndex } from "./runs/run-index.ts";
import { writtenValues } from "./runs/written-values.ts";
import { runClaims } from "./runs/runs-claim.ts";
import { runCommits } from "./runs/runs-commit.ts";
import { runReads } from "./runs/runs-read.ts";
import { requestKeyStore } from "./accounts/request-keys.ts";
import { viewStore } from "./runs/run-views.ts";
import { clientTokenStore } from "./accounts/client-tokens.ts";
import { webhookStore } from "./webhooks.ts";
import { runStarts } from "./runs/runs-start.ts";
import { runtimeStore } from "./function-sets/runtimes.ts";
import { nowOf } from "./moments.ts";
import type { Schema } from "./tables/schema.ts";
import { serviceTokenStore } from "./accounts/service-tokens.ts";
import { shadowStore } from "./calls/shadows.ts";
import { signInStore } from "./accounts/sign-in.ts";
import { StoreHealth } from "./health.ts";
import { sweep } from "./sweep/sweep.ts";
import { upkeep } from "./upkeep.ts";
import { threadStore } from "./threads/threads.ts";

/** A store with its engine, for queries outside the store. The published type lacks it. */
export interface OpenStore extends Store {
  /** @internal */
  readonly engine: Engine;
}

/**
 * Opens the store at `sqlite:PATH`, `sqlite::memory:` or `postgres://…` and brings it to this version's schema. Creates
 * the SQLite file if necessary; a Postgres database must exist. Several processes may open one store. A `clock`
 * replaces the database's clock. `readOnly`: throws for another schema instead of a migration, and creates no file. The caller
 * closes the store.
 */
export async function openStore(
  url: string,
  { log = silentLog, clock, readOnly = false }: { log?: Log; clock?: Clock; readOnly?: boolean } = {},
): Promise<OpenStore> {
  if (isPostgresUrl(url)) {
    // Loaded only when used: the driver costs time and memory at the start.
    const { openPostgres } = await import("./open-postgres.ts");
    const { engine, backup } = await openPostgres(url, { log, clock, readOnly });
    return { ...storeOn(engine), backup };
  }
  const dialect = sqliteDialect(sqlitePath(url), { clock, readOnly });
  const db = new Kysely<Schema>({ dialect: dialect.kysely });
  try {
    await (readOnly ? requireSchema : migrate)(db, { location: sqlitePath(url), rowLevelSecurity: false, log });
  } catch (error) {
    await db.destroy();
    throw error;
  }
  log.info("store opened", { url });
  const reads = dialect.reads ? new Kysely<Schema>({ dialect: dialect.reads }) : db;
  const files = sqliteFiles(db, log);
  const store = storeOn({
    db,
    reads,
    urgent: db,
    dialect,
    files,
    health: new StoreHealth({ log }),
  });
  return {
    ...store,
    async close() {
      files[Symbol.dispose]();
      await store.close();
    },
  };
}

/** Which migrations a database has run, and which this version would run. Changes nothing. */
export async function inspectStore(url: string): Promise<SchemaStatus> {
  if (isPostgresUrl(url)) {
    const { inspectPostgres } = await import("./open-postgres.ts");
    return inspectPostgres(url);
  }
  await using db = new Kysely<Schema>({ dialect: sqliteDialect(sqlitePath(url)).kysely });
  return await schemaStatus(db, { location: sqlitePath(url), rowLevelSecurity: false, log: silentLog });
}

/** An embedded database's file; undefined for a database in memory or on a server. */
export function embeddedFile(url: string): string | undefined {
  return isPostgresUrl(url) ? undefined : sqliteFile(sqliteUrl(url));
}

/** The option with which a command on this machine opens the database at `url`: see `Session.databaseOption`. */
export function databaseOption(url: string): Session["databaseOption"] {
  if (isPostgresUrl(url)) return { name: "--database", value: null };
  const file = embeddedFile(url);
  if (file === undefined) return null;
  const path = resolve(file);
  if (basename(path) === "patchbay.db") return { name: "--data-dir", value: dirname(path) };
  return { name: "--database", value: `sqlite:${path}` };
}

/**
 * Locks an embedded store against other servers until disposed. Throws `StoreInUse` when another server has the lock.
 * Two servers on one file would each consider the other's runs abandoned. Tools that only read or administer the store
 * need no lock; stores in memory and on Postgres have none.
 */
export async function lockStore(url: string): Promise<AsyncDisposable> {
  const file = embeddedFile(url);
  return file === undefined ? { async [Symbol.asyncDispose]() {} } : lockSqliteFile(file);
}

/**
 * The store on an open engine. Several replicas of a simulation share one.
 * @internal
 */
export function storeOn(engine: Engine): OpenStore {
  const { reserve, ...balances } = credits(engine);
  const background = upkeep(engine);
  const { index, remembering } = runIndex(engine, background);
  return {
    engine,
    index,
    ...background,
    approvals: approvalStore(engine),
    calls: { ...callStore(engine), ...callErrors(engine), ...newestCalls(engine) },
    runs: {
      ...remembering({ ...runStarts(engine), ...runCommits(engine) }),
      ...runClaims(engine),
      ...runReads(engine),
      ...retryStore(engine),
      ...runPages(engine),
      ...runNotes(engine),
      ...writtenValues(engine),
      reserve,
    },
    permits: permitStore(engine),
    shadows: shadowStore(engine),
    accounts: { ...accountStore(engine), ...balances },
    serviceTokens: serviceTokenStore(engine),
    clientTokens: clientTokenStore(engine),
    firstStart: firstStartStore(engine),
    views: viewStore(engine),
    requestKeys: requestKeyStore(engine),
    threads: threadStore(engine),
    webhooks: webhookStore(engine),
    runtimes: runtimeStore(engine),
    audit: { ...auditStore(engine), ...auditSealStore(engine) },
    members: memberStore(engine),
    signIn: signInStore(engine),
    ping: () => ping(engine),
    failedGroups: () => engine.health.failedGroups,
    now: () => nowOf(engine),
    async address() {
      const row = await engine.db.selectFrom("service").select("address").executeTakeFirst();
      return row?.address;
    },
    async recordAddress(address) {
      const added = engine.db.insertInto("service").values({ id: 1, address });
      await added.onConflict((conflict) => conflict.column("id").doUpdateSet({ address })).execute();
    },
    within: (orgId, work) => engine.dialect.within(orgId, work),
    sweep: (retention, options) => sweep(engine, retention, options),
    backup: (file) => backup(engine, file),
    close: () => closeEngine(engine),
  };
}

/** Closes readers first: SQLite writes the -wal file into the database file when its last, writing connection closes. */
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
