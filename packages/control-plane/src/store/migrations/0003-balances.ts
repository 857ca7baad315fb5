import { type Kysely, sql } from "kysely";
import { separateOrganisations } from "./0001-initial-schema.ts";

/**
 * Moves the balances out of `orgs`. All runs of an organisation update its balance, and Postgres keeps the old versions of a row
 * until a vacuum: each read of the organisation, and each foreign key that points at it, had to walk them. No foreign key points
 * at this table. The free space of its pages takes the new versions of a row, so that no index changes and Postgres removes the
 * old versions without a vacuum. An organisation without a row has no credit.
 */
export async function balances(db: Kysely<unknown>, { rowLevelSecurity }: { rowLevelSecurity: boolean }) {
  await sql`create table balances (
    org_id text not null primary key references orgs (id),
    micros bigint not null check (micros >= 0)
  )`.execute(db);
  if (rowLevelSecurity) {
    await sql`alter table balances set (fillfactor = 10)`.execute(db);
    await separateOrganisations(db, "balances", sql`org_id`);
  }
  await sql`insert into balances (org_id, micros) select id, balance_micros from orgs where balance_micros > 0`.execute(
    db,
  );
  await sql`alter table orgs drop column balance_micros`.execute(db);
}
