import type { CustomTypesConfig, Pool, PoolConfig } from "pg";
import type { Log } from "../../ports/log.ts";
import type { PostgresAddress } from "./postgres-address.ts";
import { codeOf, type Target } from "./postgres-errors.ts";

const CONNECT_MS = 5_000;
const LIMITS = {
  statement_timeout: 10_000,
  lock_timeout: 5_000,
  idle_in_transaction_session_timeout: 5_000,
  /** Longer than the server's own limit: only a server that is cut off meets it. */
  query_timeout: 12_000,
};
const INT8 = 20;

export interface PostgresPool {
  pool: Pool;
  target: Target;
  /** A text as a literal of SQL, whatever it holds. */
  literal: (text: string) => string;
}

/** Loads the driver and makes a pool, which connects when it is first used. A `patient` one has no time limits but for connecting. */
export async function openPool(
  { url, poolSize }: PostgresAddress,
  { log, patient = false }: { log: Log; patient?: boolean },
): Promise<PostgresPool> {
  const { Client, escapeLiteral, Pool, types } = await import("pg");
  const { user = "", host, port, database = "" } = new Client({ connectionString: url });
  const getTypeParser: (oid: number, format?: "text") => unknown = types.getTypeParser;
  const config: PoolConfig = {
    connectionString: url,
    application_name: "patchbay",
    max: poolSize,
    connectionTimeoutMillis: CONNECT_MS,
    keepAlive: true,
    ...(!patient && LIMITS),
    types: {
      getTypeParser: (oid: number, format?: "text") => (oid === INT8 ? parseInt8 : getTypeParser(oid, format)),
    } as CustomTypesConfig,
  };
  const pool = new Pool(config);
  // What waits for a connection is told by its statement; without a listener, its loss would end the process.
  pool.on("connect", (client) => client.on("error", () => undefined));
  pool.on("error", (error) =>
    log.warn("idle database connection lost", { code: codeOf(error), reason: error.message }),
  );
  return { pool, target: { user, host, port, database }, literal: escapeLiteral };
}

function parseInt8(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value)) throw new RangeError(`${text} in the database is no safe integer`);
  return value;
}
