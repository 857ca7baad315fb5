import { AsyncLocalStorage } from "node:async_hooks";
import {
  DummyDriver,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  sql,
  type SelectQueryBuilder,
} from "kysely";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { Schema } from "../schema.ts";
import type { StoreDialect } from "./dialect.ts";
import { parsePostgresUrl } from "./postgres-address.ts";
import { EVERY_ORG } from "./postgres-connection.ts";
import { ScopedPostgresDialect } from "./postgres-driver.ts";
import { isRetryable, type Target } from "./postgres-errors.ts";
import { openPool } from "./postgres-pool.ts";

export interface PostgresStoreDialect extends StoreDialect {
  target: Target;
  /** For changes of the schema, which may take long. */
  patient: ScopedPostgresDialect;
  /** Connections of their own for what must not wait behind queries: a lease that is renewed late is another replica's. */
  urgent: ScopedPostgresDialect;
}

const URGENT_POOL = 2;

/** For a database on a server. A `clock` replaces the server's own. */
export async function postgresDialect(
  url: string,
  options: { log: Log; clock?: Clock | undefined },
): Promise<PostgresStoreDialect> {
  const { log, clock } = options;
  const address = parsePostgresUrl(url);
  const served = new AsyncLocalStorage<string>();
  const scope = (): string => served.getStore() ?? EVERY_ORG;
  const source = await openPool(address, { log });
  return {
    target: source.target,
    kysely: new ScopedPostgresDialect(source, scope),
    patient: new ScopedPostgresDialect(
      await openPool({ ...address, poolSize: 1 }, { log, patient: true }),
      () => EVERY_ORG,
    ),
    urgent: new ScopedPostgresDialect(await openPool({ ...address, poolSize: URGENT_POOL }, { log }), scope),
    now: clock ? handTime(clock) : serverTime,
    lockForClaim: (query) => chosenOnce(query),
    lockShared: (query) => query.forShare(),
    indexOf: (text, part) => sql`strpos(${text}, ${sql.lit(part)})`,
    retryable: isRetryable,
    within(orgId, work) {
      if (orgId === EVERY_ORG || orgId === "") throw new TypeError("an organisation is needed, not all of them");
      return served.run(orgId, work);
    },
  };
}

/** A sub-select, so that one statement reads the clock once and can look the time up in an index. */
const serverTime = sql<number>`(select cast(floor(extract(epoch from clock_timestamp()) * 1000) as bigint))`;

/** The driver asks a parameter for its value whenever it sends it. */
function handTime(clock: Clock) {
  return sql<number>`cast(${{ toPostgres: () => String(Math.trunc(clock.now())) }} as bigint)`;
}

/** Builds queries that others execute. */
const builder = new Kysely<object>({
  dialect: {
    createAdapter: () => new PostgresAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (db) => new PostgresIntrospector(db),
    createQueryCompiler: () => new PostgresQueryCompiler(),
  },
});

/**
 * Postgres may execute a sub-select as often as it meets a row, and each time it would lock, and claim, further rows. A
 * materialised one is executed once.
 */
function chosenOnce<T extends keyof Schema, O>(query: SelectQueryBuilder<Schema, T, O>) {
  const locked = query.forUpdate("runs" as never).skipLocked() as SelectQueryBuilder<Schema, never, object>;
  const once = builder.with(
    (name) => name("chosen").materialized(),
    () => locked,
  );
  return once.selectFrom("chosen").selectAll() as unknown as SelectQueryBuilder<Schema, T, O>;
}
