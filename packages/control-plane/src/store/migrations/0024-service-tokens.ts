import { type Kysely, sql } from "kysely";
import { separateOrganisations } from "./0001-initial-schema.ts";

/** Tokens with which programs manage an organisation, the links for members that they make, and what the first start set up. */
export async function serviceTokens(db: Kysely<unknown>, { rowLevelSecurity }: { rowLevelSecurity: boolean }) {
  const statements = [
    `create table service_tokens (
      id text not null primary key,
      org_id text not null references orgs (id),
      hash text not null unique, hint text not null, scopes text not null, label text, created_by text,
      created_at bigint not null, expires_at bigint, last_used_at bigint, revoked_at bigint
    )`,
    "create index service_tokens_by_org on service_tokens (org_id, created_at, id)",
    "create table first_start (name text not null primary key, org_id text not null, value text not null)",
    "alter table sign_in_links add column created_by_token text",
  ];
  for (const statement of statements) await sql.raw(statement).execute(db);
  if (rowLevelSecurity)
    for (const table of ["service_tokens", "first_start"]) await separateOrganisations(db, table, sql`org_id`);
}
