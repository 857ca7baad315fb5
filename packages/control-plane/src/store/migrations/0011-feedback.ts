import { type Kysely, sql } from "kysely";
import { separateOrganisations } from "./0001-initial-schema.ts";

/** What readers of answers say about runs: one row for each key or member. It is erased with its run. */
export async function feedback(db: Kysely<unknown>, { rowLevelSecurity }: { rowLevelSecurity: boolean }) {
  await sql`create table feedback (
    run_id text not null references runs (id) on delete cascade,
    key_id text not null,
    org_id text not null,
    score double precision, tags text, comment text,
    created_at bigint not null,
    constraint feedback_key primary key (run_id, key_id)
  )`.execute(db);
  if (rowLevelSecurity) await separateOrganisations(db, "feedback", sql`org_id`);
}
