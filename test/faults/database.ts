import { DatabaseSync } from "node:sqlite";
import { Client, types } from "pg";

/** Reads a deployment's tables without its store. */
export interface Tables extends AsyncDisposable {
  rows<Row>(sql: string): Promise<Row[]>;
}

/** Reads eight-byte integers as numbers. */
export async function openTables(url: string): Promise<Tables> {
  if (url.startsWith("sqlite:")) return openFile(url.slice("sqlite:".length));
  const client = new Client({ connectionString: url, types: { getTypeParser: parserOf } });
  client.on("error", () => {});
  await client.connect();
  // Rows of every organisation, despite the row-level policies for the role of the URL.
  await client.query("select set_config('patchbay.org', '*', false)");
  return {
    rows: async <Row>(sql: string) => (await client.query(sql)).rows as Row[],
    [Symbol.asyncDispose]: () => client.end(),
  };
}

/** A database owned by a role without superuser rights and subject to row-level security, as in a deployment. */
export async function plainDatabase(adminUrl: string): Promise<string> {
  const client = new Client({ connectionString: adminUrl });
  await client.connect();
  await client.query("create role patchbay login password 'patchbay'");
  await client.query("create database patchbay owner patchbay");
  await client.end();
  return Object.assign(new URL(adminUrl), { username: "patchbay", password: "patchbay", pathname: "patchbay" }).href;
}

type TypeId = Parameters<typeof types.getTypeParser>[0];

const INT8: number = 20;
const NUMERIC: number = 1700;

const parserOf = ((oid: TypeId, format?: "text") =>
  [INT8, NUMERIC].includes(oid) ? Number : types.getTypeParser(oid, format)) as typeof types.getTypeParser;

function openFile(file: string): Tables {
  const database = new DatabaseSync(file, { readOnly: true, timeout: 5_000 });
  return {
    rows: async <Row>(sql: string) => database.prepare(sql).all() as Row[],
    [Symbol.asyncDispose]: async () => database.close(),
  };
}
