import { type Kysely, sql } from "kysely";

const ORG = sql`(select current_setting('patchbay.org', true))`;
const BY_ORG_ID = [
  "agents",
  "credentials",
  "sessions",
  "threads",
  "runs",
  "run_events",
  "turns",
  "calls",
  "manifests",
  "runtimes",
  "usage",
  "ledger",
  "audit",
  "rate_windows",
];

/**
 * Postgres alone: rows are seen and written only where the connection's `patchbay.org` is their organisation, or `*` for all.
 * A connection without the setting sees nothing. The tables' owner is bound too; superusers are not.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const table of BY_ORG_ID) await wall(db, table, sql`org_id`);
  await wall(db, "orgs", sql`id`);
  const ownerOfKey = sql`(select agents.org_id from agents where agents.id = idempotency_keys.agent_id)`;
  await wall(db, "idempotency_keys", ownerOfKey);
}

export async function wall(db: Kysely<unknown>, table: string, org: ReturnType<typeof sql>): Promise<void> {
  const name = sql.table(table);
  await sql`alter table ${name} enable row level security`.execute(db);
  await sql`alter table ${name} force row level security`.execute(db);
  await sql`create policy one_organisation on ${name} using (${ORG} = '*' or ${ORG} = ${org})`.execute(db);
}
