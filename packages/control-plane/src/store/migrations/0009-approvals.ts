import { type Kysely, sql } from "kysely";
import { separateOrganisations } from "./0001-initial-schema.ts";

/**
 * Approvals, and runs that wait for them. A run that never waits has no `wake_at`: it is in none of these indexes, and a change of
 * its other columns stays a change in place.
 */
export async function approvals(db: Kysely<unknown>, { rowLevelSecurity }: { rowLevelSecurity: boolean }) {
  const statements = [
    `create table approvals (
      id text not null primary key,
      org_id text not null, agent_id text not null,
      run_id text not null references runs (id) on delete cascade,
      thread_id text not null, call_id text not null, function_name text not null, role text,
      requested_by text not null, arguments text not null, arguments_hash text not null, reason text,
      decides text not null, edit text not null, four_eyes integer not null,
      status text not null, requested_at bigint not null, expires_at bigint not null,
      decided_at bigint, decided_by text, decided_as text, decision_reason text, edited text,
      reported integer not null default 0
    )`,
    "create index approvals_by_run on approvals (run_id)",
    "create index approvals_by_agent on approvals (agent_id, requested_at, id)",
    "create index approvals_by_org on approvals (org_id, requested_at, id)",
    // The inbox and its badge, however many decided approvals there are.
    "create index approvals_pending on approvals (org_id, agent_id, requested_at, id) where status = 'pending'",
    "alter table runs add column remaining_ms bigint",
    "alter table runs add column wake_at bigint",
    "create index runs_waiting on runs (wake_at) where wake_at is not null",
    // Waiting runs may be many, and each poll reads the runs without an owner.
    "drop index runs_unowned",
    `create index runs_unowned on runs (org_id, created_at, id)
      where finished_at is null and owner is null and wake_at is null`,
    "alter table credentials add column can text",
  ];
  for (const statement of statements) await sql.raw(statement).execute(db);
  if (rowLevelSecurity) await separateOrganisations(db, "approvals", sql`org_id`);
}
