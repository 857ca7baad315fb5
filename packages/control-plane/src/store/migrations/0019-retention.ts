import type { Kysely } from "kysely";

/** What deletes by age look up, and usage that stands for several turns: old usage is kept as sums by the day. */
export async function up({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .alterTable("usage")
    .addColumn("turns", "integer", (column) => column.notNull().defaultTo(1))
    .execute();
  await schema.createIndex("sessions_by_use").on("sessions").column("last_seen_at").execute();
  await schema.createIndex("idempotency_keys_by_time").on("idempotency_keys").column("created_at").execute();
}
