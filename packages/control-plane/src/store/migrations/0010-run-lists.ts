import { type Kysely, sql } from "kysely";

/** What lists of runs are narrowed by and too rare to be met on the way. Both are partial: most rows cost no entry. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`create index runs_by_session on runs (agent_id, session_id, created_at) where session_id is not null`.execute(
    db,
  );
  await sql`create index calls_in_trouble on calls (run_id, state) where state = 'failed' or state = 'denied'`.execute(
    db,
  );
}
