import { type Kysely, sql } from "kysely";
import { separateOrganisations } from "./0001-initial-schema.ts";

/**
 * The candidate that an agent's ended calls are compared with, and how they differ. The row of an agent is also the lease of the
 * replica that asks the candidate, so that each call is asked about once.
 */
export async function shadows(db: Kysely<unknown>, { rowLevelSecurity }: { rowLevelSecurity: boolean }) {
  const statements = [
    `create table shadows (
      agent_id text not null primary key references agents (id) on delete cascade,
      org_id text not null, service text not null, manifest_hash text not null,
      connection_id text not null, lease_until bigint not null, since bigint not null,
      position_at bigint not null, position_id text not null,
      judged bigint not null, dropped bigint not null, unanswered bigint not null
    )`,
    `create table shadow_changes (
      agent_id text not null references shadows (agent_id) on delete cascade,
      function_name text not null, role text not null, was text not null, decision text not null,
      org_id text not null, calls bigint not null, examples text not null, last_at bigint not null,
      constraint shadow_changes_key primary key (agent_id, function_name, role, was, decision)
    )`,
  ];
  for (const statement of statements) await sql.raw(statement).execute(db);
  if (rowLevelSecurity)
    for (const table of ["shadows", "shadow_changes"]) await separateOrganisations(db, table, sql`org_id`);
}
