import { monotonicMs } from "@patchbay/kit/time";
import { AsyncLocalStorage } from "node:async_hooks";
import {
  type Dialect,
  type Driver,
  DummyDriver,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type SelectQueryBuilder,
  sql,
} from "kysely";
import type { Clock } from "@patchbay/engine/ports/clock";
import type { Log } from "@patchbay/kit";
import type { Schema } from "../tables/schema.ts";
import type { StoreDialect } from "../engine.ts";
import { openPool, parsePostgresUrl, type PostgresAddress, type PostgresPool } from "@patchbay/database/postgres-pool";
import { EVERY_ORG, PostgresConnection, type Sessions } from "@patchbay/database/postgres-connection";
import { groupedAccepts } from "./postgres-accepts.ts";
import { groupedStarts } from "./postgres-starts.ts";
import { groupedSteps } from "./postgres-steps.ts";
import { isRetryable, type Target } from "@patchbay/database/postgres-errors";

export interface PostgresStoreDialect extends StoreDialect {
  target: Target;
  /** Connections without time limits, for migrations. */
  patient: Dialect;
  /** Separate connections for leases and heartbeats. Behind a queue of queries, a lease would expire before its renewal. */
  urgent: Dialect;
}

const URGENT_POOL = 2;

/** Opens a Postgres database. A `clock` replaces the server's clock. */
export async function postgresDialect(
  url: string,
  options: { log: Log; clock?: Clock | undefined; driver?: PostgresAddress["driver"] },
): Promise<PostgresStoreDialect> {
  const { log, clock, driver } = options;
  const address = { ...parsePostgresUrl(url), driver };
  const served = new AsyncLocalStorage<string>();
  const scope = (): string => served.getStore() ?? EVERY_ORG;
  const source = await openPool(address, { log });
  return {
    target: source.target,
    kysely: scopedPostgres(source, scope),
    patient: scopedPostgres(await openPool({ ...address, poolSize: 1 }, { log, patient: true }), () => EVERY_ORG),
    urgent: scopedPostgres(await openPool({ ...address, poolSize: URGENT_POOL }, { log }), scope),
    now: clock ? timeOf(clock) : serverTime,
    used: monotonicMs,
    oldestWriteMs,
    lockForClaim: lockOnce,
    lockShared: (query) => query.forShare(),
    indexOf: (text, part) => sql`strpos(${text}, ${sql.lit(part)})`,
    rowsOf: (json, { types }) =>
      sql`(select * from json_to_recordset(cast(${json} as json)) as of_json (${sql.raw(types)}))`,
    storedWords: (words) => sql`array_to_tsvector(string_to_array(${words}, ' '))`,
    hasWords: (words) =>
      sql`run_facts.id in (select run_texts.id from run_texts where words @@ cast(${`${words.map((word) => `'${word}'`).join(" & ")}:*`} as tsquery))`,
    retryable: isRetryable,
    groupAccepts: groupedAccepts,
    groupStarts: groupedStarts,
    groupSteps: groupedSteps,
    scope,
    within(orgId, work) {
      if (orgId === EVERY_ORG || orgId === "")
        throw new TypeError(`within() needs the id of one organisation, got "${orgId}"`);
      return served.run(orgId, work);
    },
  };
}

/** A sub-select: a statement then reads the clock once, and the planner can use the value with an index. */
const serverTime = sql<number>`(select cast(floor(extract(epoch from clock_timestamp()) * 1000) as bigint))`;

/** A transaction without an id that executes nothing reads the clock again before it writes. */
const oldestWriteMs = sql<number>`(
  select cast(coalesce(max(ceil(extract(epoch from clock_timestamp() - xact_start) * 1000)), 0) as bigint)
  from pg_stat_activity
  where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()
    and (backend_xid is not null or state = 'active'))`;

/** The driver calls `toPostgres` each time it sends the parameter, also in cached statements. */
function timeOf(clock: Clock) {
  return sql<number>`cast(${{ toPostgres: () => String(Math.trunc(clock.now())) }} as bigint)`;
}

/** Kysely's Postgres dialect with this driver. */
const postgresWith = (createDriver: () => Driver): Dialect => ({
  createAdapter: () => new PostgresAdapter(),
  createDriver,
  createIntrospector: (db) => new PostgresIntrospector(db),
  createQueryCompiler: () => new PostgresQueryCompiler(),
});

/** Builds queries without executing them. */
const builder = new Kysely<object>({ dialect: postgresWith(() => new DummyDriver()) });

/**
 * Locks rows in a materialized sub-select. Postgres may otherwise execute a sub-select once per row of the outer
 * statement and lock, that is claim, further rows each time.
 */
function lockOnce<T extends keyof Schema, O>(query: SelectQueryBuilder<Schema, T, O>, table: keyof Schema = "runs") {
  const locked = query.forUpdate(table as never).skipLocked() as SelectQueryBuilder<Schema, never, object>;
  const once = builder.with(
    (name) => name("chosen").materialized(),
    () => locked,
  );
  return once.selectFrom("chosen").selectAll() as unknown as SelectQueryBuilder<Schema, T, O>;
}

/** A dialect with connections limited to the `scope` organisation. */
export const scopedPostgres = (source: PostgresPool, scope: () => string): Dialect =>
  postgresWith(() => {
    const sessions: Sessions = new WeakMap();
    return {
      async init() {},
      acquireConnection: () => PostgresConnection.borrow(source, sessions, scope),
      async beginTransaction(connection, settings) {
        if (settings.isolationLevel || settings.accessMode) throw new Error("transaction settings are not supported");
        (connection as PostgresConnection).begin();
      },
      commitTransaction: (connection) => (connection as PostgresConnection).commit(),
      rollbackTransaction: (connection) => (connection as PostgresConnection).rollback(),
      releaseConnection: async (connection) => (connection as PostgresConnection).release(),
      destroy: () => source.pool.end(),
    };
  });
