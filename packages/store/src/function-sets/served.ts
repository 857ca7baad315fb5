import { sql } from "kysely";
import { type Engine, repeat } from "../engine.ts";

/** A longer silence is a gap: replicas record every five seconds that they serve. */
const GAP_MS = 15_000;

/**
 * Records that a replica serves the database now. `begins`: no other replica can have served it until now, so that a
 * gap ends however short it was.
 */
export async function recordServed(engine: Engine, { begins }: { begins: boolean }): Promise<void> {
  const { urgent, dialect } = engine;
  const { now } = dialect;
  const isGap = begins ? sql`1 = 1` : sql`served.last_at < ${now} - ${sql.lit(GAP_MS)}`;
  engine.health.served = await repeat(engine, () =>
    urgent
      .insertInto("served")
      .values({ id: 1, last_at: now, since: now, gap_from: null })
      .onConflict((conflict) =>
        conflict.column("id").doUpdateSet({
          last_at: now,
          since: sql<number>`case when ${isGap} then ${now} else served.since end`,
          gap_from: sql<number | null>`case when ${isGap} then served.last_at else served.gap_from end`,
        }),
      )
      .returning(["last_at as lastAt", "since", "gap_from as gapFrom"])
      .executeTakeFirstOrThrow(),
  );
}

/** How long no replica served the database between two moments: rows that replicas renew do not age in that time. */
export function unservedMs({ health: { served } }: Engine, from: number, to: number): number {
  if (!served) return 0;
  const { lastAt, since, gapFrom } = served;
  const lastGap = gapFrom === null ? 0 : Math.max(0, Math.min(since, to) - Math.max(gapFrom, from));
  // The database may have been unavailable until just now, so that no replica could record anything.
  const present = to - lastAt > GAP_MS ? to - Math.max(lastAt, from) : 0;
  return lastGap + Math.max(0, present);
}

/** The milliseconds that passed while replicas served the database for `ms`, considering only the last gap. */
export function passedMs({ health: { served } }: Engine, ms: number): number {
  if (!served || served.gapFrom === null || served.lastAt - served.since >= ms) return ms;
  return ms + served.since - served.gapFrom;
}
