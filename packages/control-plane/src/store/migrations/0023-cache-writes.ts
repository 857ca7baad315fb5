import type { Kysely } from "kysely";

/** Input tokens that a provider wrote to its cache: most providers charge more for them than for other input. */
export async function up({ schema }: Kysely<unknown>): Promise<void> {
  for (const table of ["turns", "usage"])
    await schema
      .alterTable(table)
      .addColumn("cache_write_input_tokens", "bigint", (column) => column.notNull().defaultTo(0))
      .execute();
}
