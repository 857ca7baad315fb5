import { type Kysely, sql } from "kysely";
import { separateOrganisations } from "./0001-initial-schema.ts";

/**
 * Webhooks of agents, and what is to be sent to them. A delivery does not end with its run: it has ids of the run only, and a
 * receiver that was down learns of the run's end also after the erasure of its thread.
 */
export async function webhooks(db: Kysely<unknown>, { rowLevelSecurity }: { rowLevelSecurity: boolean }) {
  const statements = [
    `create table webhooks (
      agent_id text not null primary key references agents (id) on delete cascade,
      org_id text not null,
      url text not null, secret text not null,
      previous_secret text, previous_until bigint,
      created_at bigint not null, updated_at bigint not null
    )`,
    `create table webhook_deliveries (
      id text not null primary key,
      org_id text not null,
      agent_id text not null references agents (id) on delete cascade,
      type text not null, data text not null,
      status text not null, attempts integer not null, attempts_left integer not null,
      created_at bigint not null, queued_at bigint not null, next_attempt_at bigint,
      last_attempt_at bigint, last_status integer, last_error text, last_duration_ms bigint
    )`,
    "create index webhook_deliveries_by_agent on webhook_deliveries (agent_id, created_at, id)",
    "create index webhook_deliveries_due on webhook_deliveries (agent_id, next_attempt_at) where status = 'pending'",
  ];
  for (const statement of statements) await sql.raw(statement).execute(db);
  if (!rowLevelSecurity) return;
  await separateOrganisations(db, "webhooks", sql`org_id`);
  await separateOrganisations(db, "webhook_deliveries", sql`org_id`);
}
