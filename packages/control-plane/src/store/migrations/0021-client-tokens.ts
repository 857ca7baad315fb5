import { type Kysely, sql } from "kysely";
import { separateOrganisations } from "./0001-initial-schema.ts";

/** Tokens that pages hold. They live for an hour at most, and are deleted after that. */
export async function clientTokens(db: Kysely<unknown>, { rowLevelSecurity }: { rowLevelSecurity: boolean }) {
  const statements = [
    `create table client_tokens (
      id text not null primary key,
      org_id text not null,
      key_id text not null references credentials (id) on delete cascade,
      hash text not null,
      role text not null, context text not null, thread_key text, proven text,
      created_at bigint not null, expires_at bigint not null
    )`,
    "create unique index client_tokens_by_hash on client_tokens (hash)",
    "create index client_tokens_by_key on client_tokens (key_id)",
    "create index client_tokens_by_expiry on client_tokens (expires_at)",
  ];
  for (const statement of statements) await sql.raw(statement).execute(db);
  if (rowLevelSecurity) await separateOrganisations(db, "client_tokens", sql`org_id`);
}
