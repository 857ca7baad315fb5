import { type Kysely, sql } from "kysely";
import { separateOrganisations } from "./0001-initial-schema.ts";

/** One row: the address of the service. It belongs to no organisation, so that only the operator's commands see it. */
export async function serviceAddress(db: Kysely<unknown>, { rowLevelSecurity }: { rowLevelSecurity: boolean }) {
  await sql`create table service (
    id integer not null primary key check (id = 1),
    address text not null
  )`.execute(db);
  if (rowLevelSecurity) await separateOrganisations(db, "service", sql`''`);
}
