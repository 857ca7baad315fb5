import { type Kysely, sql } from "kysely";
import { separateOrganisations } from "./0001-initial-schema.ts";

/** Errors of owners' code, apart from the outcomes of their calls: only members see them. */
export async function callErrors(db: Kysely<unknown>, { rowLevelSecurity }: { rowLevelSecurity: boolean }) {
  await sql`create table call_errors (
    run_id text not null references runs (id) on delete cascade,
    call_id text not null,
    org_id text not null,
    body text not null,
    constraint call_errors_key primary key (run_id, call_id)
  )`.execute(db);
  if (rowLevelSecurity) await separateOrganisations(db, "call_errors", sql`org_id`);
}
