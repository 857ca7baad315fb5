import { type Kysely, sql } from "kysely";

/** The host name of a runtime; null for runtimes of an earlier version. */
export async function runtimeHost(db: Kysely<unknown>) {
  await sql`alter table runtimes add column host text`.execute(db);
}
