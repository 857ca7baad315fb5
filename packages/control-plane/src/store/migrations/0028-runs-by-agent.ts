import { type Kysely, sql } from "kysely";

/**
 * The index holds all that the number of an agent's queries reads. Without the organisation, which row-level security compares too,
 * Postgres reads the row of each of them. The old index is dropped last, because reads of runs wait from then on.
 */
export async function runsByAgent(db: Kysely<unknown>) {
  await sql`create index runs_of_agent on runs (agent_id, created_at, org_id)`.execute(db);
  await sql`drop index runs_by_agent`.execute(db);
}
