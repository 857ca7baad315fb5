import { Kysely } from "kysely";
import type { Clock } from "../ports/clock.ts";
import { type Log, silentLog } from "../ports/log.ts";
import type { Store } from "../ports/stores.ts";
import { accountStore } from "./accounts.ts";
import { auditStore } from "./audit.ts";
import { backup } from "./backup.ts";
import { credits } from "./credits.ts";
import { sqliteDialect, sqliteFile } from "./dialect/sqlite.ts";
import { lockSqliteFile } from "./dialect/sqlite-lock.ts";
import { migrate } from "./migrate.ts";
import { runClaims } from "./runs-claim.ts";
import { runCommits } from "./runs-commit.ts";
import { runReads } from "./runs-read.ts";
import { runStarts } from "./runs-start.ts";
import { runtimeStore } from "./runtimes.ts";
import type { Engine, Schema } from "./schema.ts";
import { sweep } from "./sweep.ts";
import { threadStore } from "./threads.ts";

/**
 * Opens the store at `sqlite:PATH` or `sqlite::memory:`, making the file where there is none, and brings it to this
 * version's form. Several processes may open one file. A `clock` replaces the database's own. The caller closes it.
 */
export async function openStore(url: string, options: { log?: Log; clock?: Clock } = {}): Promise<Store> {
  const { log = silentLog, clock } = options;
  const dialect = sqliteDialect(sqlitePath(url), { clock });
  const db = new Kysely<Schema>({ dialect: dialect.kysely });
  try {
    await migrate(db);
  } catch (error) {
    await db.destroy();
    throw error;
  }
  log.info("store opened", { url });
  return assemble({ db, dialect });
}

/**
 * Keeps other servers off the store until disposed. Throws `StoreInUse` when one is there. Tools that only open the
 * store do not ask for it; a store in memory needs none.
 */
export async function lockStore(url: string): Promise<AsyncDisposable> {
  const file = sqliteFile(sqliteUrl(url));
  return file === undefined ? { async [Symbol.asyncDispose]() {} } : lockSqliteFile(file);
}

function assemble(engine: Engine): Store {
  const { hold, ...balances } = credits(engine);
  return {
    runs: { ...runStarts(engine), ...runClaims(engine), ...runCommits(engine), ...runReads(engine), hold },
    accounts: { ...accountStore(engine), ...balances },
    threads: threadStore(engine),
    runtimes: runtimeStore(engine),
    audit: auditStore(engine),
    async ping() {
      await engine.db.selectFrom("orgs").select("id").limit(1).execute();
    },
    sweep: (days, { auditDays = 365 } = {}) => sweep(engine, days, auditDays),
    backup: (file) => backup(engine, file),
    close: () => engine.db.destroy(),
  };
}

function sqlitePath(url: string): string {
  return sqliteFile(sqliteUrl(url)) ?? ":memory:";
}

function sqliteUrl(url: string): string {
  if (url.startsWith("sqlite:") && url.length > "sqlite:".length) return url;
  if (/^postgres(ql)?:/.test(url))
    throw new Error("This build keeps its data in an embedded database alone: use sqlite:PATH instead of postgres://.");
  throw new Error("The database address must be sqlite:PATH, for example sqlite:./data/patchbay.db.");
}
