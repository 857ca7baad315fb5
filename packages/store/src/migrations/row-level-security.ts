import { type Kysely, sql } from "kysely";

/** How an engine differs. `rowLevelSecurity`: the database separates organisations too, which only Postgres can. */
export interface MigratedEngine {
  rowLevelSecurity: boolean;
}

/** The organisation of rows that belong to none, which only commands of the operator see. */
export const NO_ORG = sql`''`;

const CURRENT_ORG = sql`(select current_setting('patchbay.org', true))`;

/**
 * Shows and writes a row only when the connection's `patchbay.org` is its organisation, or `*` for all. A connection that has
 * not set it sees nothing. A query that forgets its `where org_id` so cannot reach other organisations. `force` binds the
 * tables' owner too; superusers are never bound.
 */
export async function separateOrganisations(db: Kysely<unknown>, name: string, org = sql`org_id`): Promise<void> {
  const table = sql.table(name);
  await sql`alter table ${table} enable row level security`.execute(db);
  await sql`alter table ${table} force row level security`.execute(db);
  await sql`create policy one_organisation on ${table} using (${CURRENT_ORG} = '*' or ${CURRENT_ORG} = ${org})`.execute(
    db,
  );
}

/** Runs statements one after the other. */
export async function runStatements(db: Kysely<unknown>, statements: readonly string[]): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}
