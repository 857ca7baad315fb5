import { type Kysely, sql } from "kysely";

/**
 * The index holds all that the search for the oldest of 100,000 runs reads. Without the organisation, which row-level security
 * compares too, both databases read each row for it, or the whole table.
 */
export async function factsByTime(db: Kysely<unknown>) {
  await sql`drop index run_facts_by_time`.execute(db);
  await sql`create index run_facts_by_time on run_facts (agent_id, created_at, org_id)`.execute(db);
}
