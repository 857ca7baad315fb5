import { afterAll } from "vitest";
import { type TestDatabase, testDatabase } from "../../../../test/support/postgres.ts";
import { openStore } from "../../src/store/open.ts";
import type { Place } from "./contract/world.ts";

/** Databases of this file's tests that nobody uses now: emptying one takes a tenth of making one. */
const free: TestDatabase[] = [];
afterAll(async () => {
  for (const database of free) await database[Symbol.asyncDispose]();
});

export interface PostgresPlace extends Place {
  database: TestDatabase;
}

/** An empty database for one test. */
export async function postgresPlace(): Promise<PostgresPlace> {
  const database = free.pop() ?? (await testDatabase());
  return {
    database,
    open: (clock) => openStore(database.url, { clock }),
    rows: (query) => database.query(query),
    execute: async (statement) => void (await database.query(statement)),
    async [Symbol.asyncDispose]() {
      await database.query(EMPTY);
      free.push(database);
    },
  };
}

/** Of small tables, deleting is quicker than truncating; what refers to what does not matter when all goes. */
const EMPTY = `
  set session_replication_role = replica;
  do $$
  declare name regclass;
  begin
    for name in select oid from pg_class
      where relnamespace = 'public'::regnamespace and relkind = 'r' and relname not like 'kysely%'
    loop
      execute format('delete from %s', name);
    end loop;
  end $$`;
