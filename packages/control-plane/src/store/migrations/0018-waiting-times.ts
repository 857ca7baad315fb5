import { type Kysely, sql } from "kysely";

/** How long runs and calls waited for people, so that durations leave it out. The indexes of figures hold it too. */
export async function waitingTimes(db: Kysely<unknown>) {
  const statements = [
    "alter table runs add column waits_since bigint",
    "alter table runs add column waited_ms bigint",
    "alter table calls add column waited_ms bigint",
    "drop index runs_by_outcome",
    `create index runs_by_outcome on runs (org_id, agent_id, created_at, role, status, finished_at, waited_ms)
      where finished_at is not null`,
    "drop index calls_ended",
    `create index calls_ended on calls (org_id, agent_id, finished_at, role, function_name, state, created_at, waited_ms)
      where finished_at is not null`,
  ];
  for (const statement of statements) await sql.raw(statement).execute(db);
}
