import { type Kysely, sql } from "kysely";
import { separateOrganisations } from "./0001-initial-schema.ts";

/** From a run to those that repeat it. A repeated run names its origin itself, also when the origin is deleted. */
export async function reruns(db: Kysely<unknown>, { rowLevelSecurity }: { rowLevelSecurity: boolean }) {
  await sql`create table reruns (
    run_id text not null primary key references runs (id) on delete cascade,
    origin_id text not null,
    org_id text not null
  )`.execute(db);
  await sql`create index reruns_by_origin on reruns (origin_id, run_id)`.execute(db);
  if (rowLevelSecurity) await separateOrganisations(db, "reruns", sql`org_id`);
}
