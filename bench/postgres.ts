import { Client } from "pg";
import { ownPostgres } from "@patchbay/test-support/postgres-server";
import { cpuMsWithChildren } from "./process.ts";

export type Postgres = Awaited<ReturnType<typeof startPostgres>>;

/** A role without superuser rights, so that row-level security applies to it. */
const ROLE = "patchbay";

/**
 * Starts a Postgres server with default settings, fsync included. No other program uses it, so the CPU time of its processes is the
 * CPU time of the measured system, including that of the WAL writer, the checkpointer and sessions that have ended.
 */
export async function startPostgres() {
  const server = await ownPostgres({ settings: [] });
  await run(server.url, `create role ${ROLE} login`);
  let databases = 0;
  return {
    cpuMs: () => cpuMsWithChildren(server.pid),
    /** A database that the role owns, empty or a copy of `template`, which must have no sessions. */
    async createDatabase(template = "template0") {
      const name = `bench_${++databases}`;
      await run(server.url, `create database ${name} template ${template} owner ${ROLE}`);
      return {
        name,
        url: Object.assign(new URL(server.url), { username: ROLE, pathname: name }).href,
        /** Runs statements as a superuser and returns the rows of the last one. */
        run: <Row>(sql: string) => run<Row>(Object.assign(new URL(server.url), { pathname: name }).href, sql),
        [Symbol.asyncDispose]: async () => void (await run(server.url, `drop database ${name} with (force)`)),
      };
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

async function run<Row>(url: string, sql: string): Promise<Row[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    const results = [await client.query(sql)].flat();
    return (results.at(-1)?.rows ?? []) as Row[];
  } finally {
    await client.end();
  }
}
