import { type Kysely, sql } from "kysely";

/** Of detached calls: when the time of a handler that has begun is over, and its newest progress as JSON. */
export async function detachedCalls(db: Kysely<unknown>): Promise<void> {
  await sql`alter table calls add column runs_until bigint`.execute(db);
  await sql`alter table calls add column progress text`.execute(db);
}
