import type { Kysely } from "kysely";

/** When things began that are stored at their end, and what was tried before. All ride with rows that are written anyway. */
export async function up(db: Kysely<unknown>): Promise<void> {
  const { schema } = db;
  await schema.alterTable("calls").addColumn("sent_at", "bigint").execute();
  await schema.alterTable("calls").addColumn("attempts", "text").execute();
  await schema.alterTable("turns").addColumn("began_at", "bigint").execute();
  await schema.alterTable("turns").addColumn("retries", "text").execute();
  await schema.alterTable("runs").addColumn("unanswered", "text").execute();
}
