import { type Kysely, sql } from "kysely";
import { separateOrganisations } from "./0001-initial-schema.ts";

/** The ids that clients have given threads. A key is erased with its thread. */
export async function threadKeys(db: Kysely<unknown>, { rowLevelSecurity }: { rowLevelSecurity: boolean }) {
  const statements = [
    `create table thread_keys (
      agent_id text not null, scope text not null, external_id text not null,
      thread_id text not null references threads (id) on delete cascade,
      org_id text not null, created_at bigint not null,
      constraint thread_keys_key primary key (agent_id, scope, external_id)
    )`,
    "create index thread_keys_by_thread on thread_keys (thread_id)",
  ];
  for (const statement of statements) await sql.raw(statement).execute(db);
  if (rowLevelSecurity) await separateOrganisations(db, "thread_keys", sql`org_id`);
}
