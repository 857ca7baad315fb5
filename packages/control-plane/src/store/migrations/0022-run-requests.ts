import { type Kysely, sql } from "kysely";

/** Runs by the id of their request. On the facts, which are written after the commit for which a client waits. */
export async function runRequests(db: Kysely<unknown>) {
  await sql`create index run_facts_by_request on run_facts (request_id, id)`.execute(db);
}
