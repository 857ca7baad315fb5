import { type Kysely, sql } from "kysely";
import { separateOrganisations } from "./0001-initial-schema.ts";

/**
 * Seals of the audit log, and sums of the calls in it. Both are written after the commits of runs, by batches, so that a query
 * waits for neither and no row is shared by its commits.
 */
export async function auditSeals(db: Kysely<unknown>, { rowLevelSecurity }: { rowLevelSecurity: boolean }) {
  const statements = [
    `create table audit_chains (
      org_id text not null primary key,
      seq bigint not null, head text not null, to_at bigint not null, to_id text not null, entries bigint not null,
      base_seq bigint not null, base_head text not null, base_at bigint not null, base_id text not null,
      base_entries bigint not null
    )`,
    `create table audit_seals (
      org_id text not null, seq bigint not null, head text not null, entries integer not null, content text not null,
      digests text not null, to_at bigint not null, to_id text not null, sealed_at bigint not null,
      constraint audit_seals_key primary key (org_id, seq)
    )`,
    `create table audit_use (
      org_id text not null, agent_id text not null, day bigint not null, function_name text not null,
      role text not null, outcome text not null, calls bigint not null, last_at bigint not null,
      constraint audit_use_key primary key (agent_id, day, function_name, role, outcome)
    )`,
    "create index audit_use_by_day on audit_use (org_id, day)",
  ];
  for (const statement of statements) await sql.raw(statement).execute(db);
  if (rowLevelSecurity)
    for (const table of ["audit_chains", "audit_seals", "audit_use"])
      await separateOrganisations(db, table, sql`org_id`);
}
