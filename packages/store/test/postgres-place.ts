import { afterAll } from "vitest";
import { type TestDatabase, testDatabase } from "@patchbay/test-support/postgres";
import { openStore } from "../src/open.ts";
import type { Place } from "./contract/world.ts";

/** Unused databases of this file's tests. Emptying one takes a tenth of the time of creating one. */
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

/** Deleting from small tables is faster than truncating them. The replica role skips foreign keys. */
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
