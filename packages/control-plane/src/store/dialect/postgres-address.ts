const MOST_CONNECTIONS = 200;

/** Where a Postgres store is. The password stays in `url`, which is for the driver alone. */
export interface PostgresAddress {
  url: string;
  poolSize: number;
}

/** Thrown for a database address that cannot be used; never repeats it, since it may hold a password. */
export class BadAddress extends Error {
  override readonly name = "BadAddress";
}

export function isPostgresUrl(url: string): boolean {
  return /^postgres(ql)?:/.test(url);
}

/** Takes `pool_size`, which only this service knows, out of an address; the rest is as `pg-connection-string` has it. */
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
