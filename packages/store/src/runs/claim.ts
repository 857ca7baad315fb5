import { type Expression, type ExpressionBuilder, type RawBuilder, sql, type SqlBool, type UpdateObject } from "kysely";
import type { RunRecord } from "@patchbay/engine/ports/records";
import { SUSPECT_CRASHES } from "@patchbay/engine/ports/quarantine";
import type { Engine } from "../engine.ts";
import { is } from "../statement.ts";
import { inMs } from "../moments.ts";
import type { Schema } from "../tables/schema.ts";
import { runColumns } from "../tables/runs.ts";

/** A condition on `runs` rows. */
export type RunWhere = (eb: ExpressionBuilder<Schema, "runs">) => Expression<SqlBool>;

export interface Claim {
  owner: string;
  leaseMs: number;
  limit: number;
}

/** How long a suspect has been without an owner. This does not count against its deadline. 0 for every other run. */
const quarantinedMs = ({ now }: Engine["dialect"]): RawBuilder<number> =>
  sql`case when crashes >= ${sql.lit(SUSPECT_CRASHES)} and lease_until > 0 then ${now} - lease_until else 0 end`;

/**
 * Claims the oldest runs without an owner that match `which`. One statement selects and updates, so two replicas never
 * claim the same run: Postgres skips rows that another claim has locked, and SQLite has one writer.
 * The candidates are materialized because the planner could otherwise evaluate the sub-select once per updated row,
 * lock further rows each time, and claim more than `limit`. Each claim raises the fence, which rejects the former
 * owner's writes.
 */
export async function take(
  { urgent: db, dialect }: Engine,
  { owner, leaseMs, limit }: Claim,
  alsoSet: UpdateObject<Schema, "runs">,
  which: RunWhere,
): Promise<RunRecord[]> {
  const candidates = db
    .selectFrom("runs")
    .select("runs.id")
    .where(is({ "runs.finished_at": null, "runs.owner": null, "runs.wake_at": null }))
    .where(which)
    .orderBy("runs.created_at")
    .orderBy("runs.id")
    .limit(limit);
  const rows = await db
    .with(
      (cte) => cte("candidates").materialized(),
      () => dialect.lockForClaim(candidates),
    )
    .updateTable("runs")
    .set((eb) => ({
      status: "running",
      owner,
      fence: eb("fence", "+", 1),
      lease_until: inMs({ dialect }, leaseMs),
      deadline_at: sql<number>`deadline_at + ${quarantinedMs(dialect)}`,
      ...alsoSet,
    }))
    .where("id", "in", (eb) => eb.selectFrom("candidates").select("candidates.id"))
    .returning(runColumns.names)
    .execute();
  return rows.map(runColumns.recordOf).sort((a, b) => a.createdAt - b.createdAt);
}

export const isTrusted: RunWhere = (eb) => eb("runs.crashes", "<", SUSPECT_CRASHES);

/**
 * A queued run that is next in its thread: no run in the thread is running or waits for an approval, and no older one
 * is queued. A thread's runs never overlap, because each continues the previous one's conversation.
 */
export const nextInThread = sql<SqlBool>`(runs.status = 'queued' and not exists (
  select 1 from runs as other where other.thread_id = runs.thread_id and other.finished_at is null
    and (other.status in ('running', 'waiting') or (other.status = 'queued' and other.position < runs.position))))`;
