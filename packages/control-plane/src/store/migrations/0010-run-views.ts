import { type Kysely, sql } from "kysely";
import { separateOrganisations } from "./0001-initial-schema.ts";

/** Lists of runs that members keep. There are few, so one index serves lists and deletions. */
export async function runViews(db: Kysely<unknown>, { rowLevelSecurity }: { rowLevelSecurity: boolean }) {
  await sql`create table run_views (
    id text not null primary key,
    org_id text not null, agent_id text not null, member_id text not null, name text not null,
    shared integer not null, search text not null, created_at bigint not null
  )`.execute(db);
  await sql`create index run_views_by_agent on run_views (agent_id, created_at, id)`.execute(db);
  if (rowLevelSecurity) await separateOrganisations(db, "run_views", sql`org_id`);
}
