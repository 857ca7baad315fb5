import type { CustomTypesConfig, Pool, PoolConfig } from "pg";
import type { Log } from "../../ports/log.ts";
import { codeOf, type Target } from "./postgres-errors.ts";

const MOST_CONNECTIONS = 200;

/** Address of a Postgres store. Only `url` contains the password; only the driver gets it. */
interface PostgresAddress {
  url: string;
  poolSize: number;
}

/** Thrown for an invalid database address. The message never repeats the address, which may contain a password. */
class BadAddress extends Error {
  override readonly name = "BadAddress";
}

export function isPostgresUrl(url: string): boolean {
  return /^postgres(ql)?:/.test(url);
}

/** Separates `pool_size`, an option of this service, from an address. `pg-connection-string` defines all other options. */
export function parsePostgresUrl(url: string): PostgresAddress {
  const parsed = URL.parse(url);
  if (!parsed?.pathname.slice(1))
    throw new BadAddress(
      "The database address cannot be read. Write postgres://USER:PASSWORD@HOST:PORT/DATABASE, with special characters of the password as %XX.",
    );
  const size = parsed.searchParams.get("pool_size") ?? "10";
  const poolSize = Number(size);
  if (!Number.isInteger(poolSize) || poolSize < 1 || poolSize > MOST_CONNECTIONS)
    throw new BadAddress(`pool_size in the database address must be a whole number from 1 to ${MOST_CONNECTIONS}.`);
  parsed.searchParams.delete("pool_size");
  return { url: parsed.href, poolSize };
}

const CONNECT_MS = 5_000;
const LIMITS = {
  statement_timeout: 10_000,
  lock_timeout: 5_000,
  idle_in_transaction_session_timeout: 5_000,
  /** Longer than the server's own limit, for a server that no longer answers. */
  query_timeout: 12_000,
};
const INT8 = 20;

/** A pool with the place that it connects to. */
export interface PostgresPool {
  pool: Pool;
  target: Target;
  /** Quotes any text as an SQL literal. */
  literal: (text: string) => string;
}

/** Loads the driver and creates a pool, which connects when it is first used. A `patient` pool has no statement timeouts. */
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
  // The statement that uses the connection gets the error. Without a listener, Node.js would end the process.
  pool.on("connect", (client) => client.on("error", () => undefined));
  pool.on("error", (error) =>
    log.warn("idle database connection lost", { code: codeOf(error), reason: error.message }),
  );
  return { pool, target: { user, host, port, database }, literal: escapeLiteral };
}

/** Postgres returns bigint as text. All values here are times, counts or micro-USD, which fit into a safe integer. */
function parseInt8(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value)) throw new RangeError(`the database returned ${text}, which is not a safe integer`);
  return value;
}
