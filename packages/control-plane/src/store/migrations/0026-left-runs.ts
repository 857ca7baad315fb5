import { type Kysely, sql } from "kysely";

/** Under which name a run was left to a later request of its client. Few runs are. */
export async function leftRuns(db: Kysely<unknown>) {
  const statements = [
    "alter table runs add column left_as text",
    "create index runs_left on runs (agent_id, left_as) where left_as is not null",
  ];
  for (const statement of statements) await sql.raw(statement).execute(db);
}
