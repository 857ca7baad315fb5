import type { Kysely } from "kysely";

/** A run's result without its function calls, so that what shows no calls does not read megabytes of them. */
export async function up({ schema }: Kysely<unknown>): Promise<void> {
  await schema.alterTable("runs").addColumn("ending", "text").execute();
}
