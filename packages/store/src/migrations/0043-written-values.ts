import type { Kysely } from "kysely";
import { type MigratedEngine, runStatements, separateOrganisations } from "./row-level-security.ts";

/** Digests of what tainted runs wrote. They are kept as long as the agent: the owner's records keep the values. */
export async function writtenValues(db: Kysely<unknown>, { rowLevelSecurity }: MigratedEngine): Promise<void> {
  await runStatements(db, [
    `create table written_values (
      agent_id text not null, digest text not null, org_id text not null,
      is_text integer not null, created_at bigint not null,
      constraint written_values_key primary key (agent_id, digest)
    )`,
  ]);
  if (rowLevelSecurity) await separateOrganisations(db, "written_values");
}
