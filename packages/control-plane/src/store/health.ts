import { sql } from "kysely";
import type { Engine } from "./schema.ts";
import { transact } from "./transact.ts";

/**
 * Fails when a query would fail now. A store whose last write failed must take a write first: a full disk still answers reads.
 * The write counts in a minute of 1970, which the next sweep deletes: SQLite writes nothing where a row stays as it is.
 */
export async function ping(engine: Engine): Promise<void> {
  await engine.db.selectFrom("orgs").select("id").limit(1).execute();
  if (engine.health.writable) return;
  await transact(engine, async ({ db }) => {
    await db
      .insertInto("rate_windows")
      .columns(["org_id", "window_start", "count"])
      .expression((eb) =>
        eb
          .selectFrom("orgs")
          .select(["id", sql.lit(0).as("window_start"), sql.lit(1).as("count")])
          .limit(1),
      )
      .onConflict((conflict) =>
        conflict.columns(["org_id", "window_start"]).doUpdateSet((eb) => ({ count: eb("rate_windows.count", "+", 1) })),
      )
      .execute();
  });
}
