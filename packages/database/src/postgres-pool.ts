import type { Pool, PoolConfig } from "pg";
import type { Log } from "@patchbay/engine/ports/log";
import { codeOf, type Target } from "./postgres-errors.ts";
import type { Parsers } from "./postgres-exchange.ts";

const MOST_CONNECTIONS = 200;

/** A Postgres store's address. Only `url` contains the password; only the driver gets it. */
export interface PostgresAddress {
  url: string;
  poolSize: number;
  /** False when connections must not keep statements prepared. */
  prepare: boolean;
  /** Settings of the driver for a database that a simulation runs in this process. */
  driver?: PoolConfig | undefined;
}

/** Thrown for an invalid database address. The message never repeats the address, which may contain a password. */
class BadAddress extends Error {
  override readonly name = "BadAddress";
}

export function isPostgresUrl(url: string): boolean {
  return /^postgres(ql)?:/.test(url);
}

/** Separates this service's options from an address. `pg-connection-string` defines all others. */
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
  const prepare = parsed.searchParams.get("prepare") ?? "true";
  if (prepare !== "true" && prepare !== "false")
    throw new BadAddress("prepare in the database address must be true or false.");
  for (const option of ["pool_size", "prepare"]) parsed.searchParams.delete(option);
  return { url: parsed.href, poolSize, prepare: prepare === "true" };
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

/** A pool with its database address. */
export interface PostgresPool {
  pool: Pool;
  target: Target;
  prepare: boolean;
  parsers: Parsers;
}

/** Loads the driver and creates a pool, which connects when it is first used. A `patient` pool has no statement timeouts. */
export async function openPool(
  { url, poolSize, prepare, driver }: PostgresAddress,
  { log, patient = false }: { log: Log; patient?: boolean },
): Promise<PostgresPool> {
  const { Client, Pool, types } = await import("pg");
  const { user = "", host, port, database = "" } = new Client({ connectionString: url });
  const knownParser: (typeId: number) => (text: string) => unknown = types.getTypeParser;
  const config: PoolConfig = {
    connectionString: url,
    application_name: "patchbay",
    max: poolSize,
    connectionTimeoutMillis: CONNECT_MS,
    keepAlive: true,
    ...(!patient && LIMITS),
    ...driver,
  };
  const pool = new Pool(config);
  // The statement that uses the connection gets the error. Without a listener, Node.js would end the process.
  pool.on("connect", (client) => client.on("error", () => undefined));
  pool.on("error", (error) =>
    log.warn("idle database connection lost", { code: codeOf(error), reason: error.message }),
  );
  return {
    pool,
    target: { user, host, port, database },
    prepare,
    parsers: (typeId) => (typeId === INT8 ? parseInt8 : knownParser(typeId)),
  };
}

/** Postgres returns bigint as text. All values here are times, counts or micro-USD, which fit into a safe integer. */
function parseInt8(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value)) throw new RangeError(`the database returned ${text}, which is not a safe integer`);
  return value;
}
