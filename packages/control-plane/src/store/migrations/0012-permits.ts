import { type Kysely, sql } from "kysely";
import { separateOrganisations } from "./0001-initial-schema.ts";

/**
 * Calls of functions with `concurrency` that run or wait. The row of a function with an empty `call_id` is locked by each
 * change of the others, so that two replicas cannot both give the last permit away.
 */
export async function permits(db: Kysely<unknown>, { rowLevelSecurity }: { rowLevelSecurity: boolean }) {
  await sql`create table permits (
    agent_id text not null references agents (id) on delete cascade,
    function_name text not null,
    call_id text not null,
    start integer not null,
    org_id text not null,
    granted integer not null,
    queued_at bigint not null,
    expires_at bigint not null,
    constraint permits_key primary key (agent_id, function_name, call_id, start)
  )`.execute(db);
  if (rowLevelSecurity) await separateOrganisations(db, "permits", sql`org_id`);
}
