import { sql } from "kysely";
import type { AccountStore } from "../ports/stores.ts";
import type { Engine } from "./schema.ts";

export const WINDOW_MS = 60_000;

/** How many queries came in each minute of the database's clock: one count for all replicas. */
export function rateWindows({ db, dialect }: Engine): Pick<AccountStore, "countQuery"> {
  return {
    async countQuery(orgId) {
      // The clock is read once for both columns: it may tick between two readings.
      const moment = db.selectNoFrom(dialect.now.as("at")).as("moment");
      const row = await db
        .insertInto("rate_windows")
        .columns(["org_id", "window_start", "count"])
        .expression((eb) =>
          eb
            .selectFrom(moment)
            .select([
              sql<string>`cast(${orgId} as text)`.as("org_id"),
              sql<number>`moment.at - moment.at % ${sql.lit(WINDOW_MS)}`.as("window_start"),
              sql<number>`1`.as("count"),
            ])
            // SQLite takes `on conflict` for a join's condition unless a `where` stands before it.
            .where(sql.lit(true)),
        )
        .onConflict((conflict) =>
          conflict.columns(["org_id", "window_start"]).doUpdateSet({ count: sql<number>`rate_windows.count + 1` }),
        )
        .returning(["count", sql<number>`window_start + ${sql.lit(WINDOW_MS)} - ${dialect.now}`.as("left")])
        .executeTakeFirstOrThrow();
      return { count: row.count, msLeft: Math.max(0, row.left) };
    },
  };
}
