import { Client } from "pg";
import { ownPostgres } from "../test/support/postgres-server.ts";
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
    /** Runs statements as a superuser. */
    run: (database: string, sql: string) => run(Object.assign(new URL(server.url), { pathname: database }).href, sql),
    /** A database that the role owns, empty or a copy of `template`, which must have no sessions. */
    async createDatabase(template = "template0") {
      const name = `bench_${++databases}`;
      await run(server.url, `create database ${name} template ${template} owner ${ROLE}`);
      return {
        name,
        url: Object.assign(new URL(server.url), { username: ROLE, pathname: name }).href,
        [Symbol.asyncDispose]: () => run(server.url, `drop database ${name} with (force)`),
      };
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

async function run(url: string, sql: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}
