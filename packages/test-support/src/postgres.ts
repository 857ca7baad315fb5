import type { JsonObject } from "@patchbay/kit";
import { Client, DatabaseError, types, type CustomTypesConfig } from "pg";
import { afterAll } from "vitest";
import { WAIT_MS } from "./patience.ts";
import { type OwnPostgres, ownPostgres, uniqueName } from "./postgres-server.ts";

export { type OwnPostgres, ownPostgres };

const LOCAL = "postgres://postgres@127.0.0.1:5432/postgres";
/** A role without superuser rights, subject to row-level security, as a store's role should be. */
const PLAIN_ROLE = "patchbay_test";
/** int8 and numeric, which the driver returns as text. */
const NUMBERS = [20, 1700];
const getTypeParser: (oid: number, format?: "text") => unknown = types.getTypeParser;
const NUMERIC_TYPES = {
  getTypeParser: (oid: number, format?: "text") => (NUMBERS.includes(oid) ? Number : getTypeParser(oid, format)),
} as CustomTypesConfig;
const DUPLICATES = ["42710", "23505"];

export interface TestDatabase extends AsyncDisposable {
  /** URL with the plain role that owns it. */
  url: string;
  /** URL with a superuser. */
  adminUrl: string;
  /** Runs statements as a superuser, without a store. Returns the rows of the last one. */
  query(sql: string, values?: unknown[]): Promise<JsonObject[]>;
}

let server: Promise<string> | undefined;
let started: OwnPostgres | undefined;
afterAll(async () => {
  await started?.[Symbol.asyncDispose]();
});

/** A fresh, empty database; on the server at `serverUrl` (as a superuser), else on the one for tests. */
export async function testDatabase(serverUrl?: string): Promise<TestDatabase> {
  const admin = serverUrl ?? (await (server ??= findServer()));
  const name = uniqueName("patchbay_test");
  await query(admin, `create database ${name} template template0 owner ${await plainRole(admin)}`);
  const adminUrl = withParts(admin, { pathname: name });
  return {
    url: withParts(adminUrl, { username: PLAIN_ROLE, password: PLAIN_ROLE }),
    adminUrl,
    query: (sql, values) => query(adminUrl, sql, values),
    async [Symbol.asyncDispose]() {
      await query(admin, `drop database if exists ${name} with (force)`);
    },
  };
}

/** The server of the environment, the local one, or one that runs during the tests of this file. */
async function findServer(): Promise<string> {
  const named = process.env["PATCHBAY_TEST_POSTGRES"];
  if (named) return named;
  try {
    await query(LOCAL, "select 1");
    return LOCAL;
  } catch {
    started = await ownPostgres();
    return started.url;
  }
}

async function plainRole(admin: string): Promise<string> {
  try {
    const known = await query(admin, "select 1 from pg_roles where rolname = $1", [PLAIN_ROLE]);
    if (known.length === 0) await query(admin, `create role ${PLAIN_ROLE} login password '${PLAIN_ROLE}'`);
  } catch (error) {
    if (!(error instanceof DatabaseError) || !DUPLICATES.includes(error.code ?? "")) throw error;
  }
  return PLAIN_ROLE;
}

async function query(url: string, sql: string, values?: unknown[]): Promise<JsonObject[]> {
  const client = new Client({
    connectionString: url,
    connectionTimeoutMillis: WAIT_MS,
    types: NUMERIC_TYPES,
  });
  client.on("error", () => undefined);
  await client.connect();
  try {
    const { rows } = await client.query<JsonObject>(sql, values);
    return rows;
  } finally {
    await client.end();
  }
}

function withParts(url: string, parts: Partial<Pick<URL, "pathname" | "username" | "password">>): string {
  return Object.assign(new URL(url), parts).href;
}
