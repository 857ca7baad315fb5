import { sql, type Expression, type ExpressionBuilder, type SqlBool, type UpdateObject } from "kysely";
import type { RunRecord } from "../ports/records.ts";
import type { RunStore } from "../ports/run-store.ts";
import { idBatches } from "./in-batches.ts";
import { RUN_COLUMNS, toRunRecord } from "./run-record.ts";
import type { Engine, Schema } from "./schema.ts";
import { repeat } from "./transact.ts";

type RunWhere = (eb: ExpressionBuilder<Schema, "runs">) => Expression<SqlBool>;
interface Claim {
  owner: string;
  leaseMs: number;
  limit: number;
}

/** Who works on which run. */
export function runClaims(
  engine: Engine,
): Pick<RunStore, "claim" | "claimExpired" | "renew" | "release" | "releaseAll" | "requestCancel"> {
  const { db, urgent, dialect } = engine;
  const leaseFor = (leaseMs: number) => sql<number>`${dialect.now} + ${leaseMs}`;
  const noLease = { owner: null, lease_until: 0 };
  const ofOwner = (owner: string, ids: string[], lease: UpdateObject<Schema, "runs">) =>
    repeat(engine, () =>
      urgent
        .updateTable("runs")
        .set(lease)
        .where("owner", "=", owner)
        .where("status", "=", "running")
        .where("id", "in", ids)
        .returning(["id", "cancel_requested"])
        .execute(),
    );
  return {
    async claim({ threadId, runId, ...claim }) {
      const claimed = await take(engine, claim, { started_at: sql`coalesce(started_at, ${dialect.now})` }, (eb) => {
        const narrowed: Expression<SqlBool>[] = [eb.or([abandoned(engine)(eb), nextInThread(eb)])];
        if (threadId !== undefined) narrowed.push(eb("runs.thread_id", "=", threadId));
        if (runId !== undefined) narrowed.push(eb("runs.id", "=", runId));
        return eb.and(narrowed);
      });
      return claimed;
    },

    claimExpired: (claim) =>
      take(engine, claim, {}, (eb) =>
        eb.and([
          eb("runs.status", "=", "queued"),
          eb.or([eb("runs.deadline_at", "<=", dialect.now), eb("runs.cancel_requested", "=", 1)]),
        ]),
      ),

    async renew(owner, runIds, leaseMs) {
      const held: { runId: string; cancelRequested: boolean }[] = [];
      for (const ids of idBatches(runIds)) {
        const rows = await ofOwner(owner, ids, { lease_until: leaseFor(leaseMs) });
        held.push(...rows.map((run) => ({ runId: run.id, cancelRequested: run.cancel_requested === 1 })));
      }
      return held;
    },

    async release(owner, runIds) {
      for (const ids of idBatches(runIds)) await ofOwner(owner, ids, noLease);
    },

    async releaseAll() {
      const running = db
        .updateTable("runs")
        .set(noLease)
        .where("finished_at", "is", null)
        .where("status", "=", "running");
      await repeat(engine, () => running.execute());
    },

    async requestCancel(agentId, runId) {
      const asked = await db
        .updateTable("runs")
        .set({ cancel_requested: 1 })
        .where("id", "=", runId)
        .where("agent_id", "=", agentId)
        .where("status", "in", ["queued", "running"])
        .returning("status")
        .executeTakeFirst();
      if (asked) return asked.status;
      const ended = await db
        .selectFrom("runs")
        .select("status")
        .where("id", "=", runId)
        .where("agent_id", "=", agentId)
        .executeTakeFirst();
      return ended?.status;
    },
  };
}

/**
 * Claims the oldest runs that `which` describes, in one statement: whoever comes second finds them taken. The candidates are
 * chosen once, apart from the update: a planner that chose them again for each row would claim more than `limit`.
 */
async function take(
  { urgent: db, dialect }: Engine,
  { owner, leaseMs, limit }: Claim,
  alsoSet: { started_at?: Expression<number | null> },
  which: RunWhere,
): Promise<RunRecord[]> {
  const candidates = db
    .selectFrom("runs")
    .select("runs.id")
    .where("runs.finished_at", "is", null)
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
      claims: eb("claims", "+", 1),
      lease_until: sql<number>`${dialect.now} + ${leaseMs}`,
      ...alsoSet,
    }))
    .where("id", "in", (eb) => eb.selectFrom("candidates").select("candidates.id"))
    .returning(RUN_COLUMNS)
    .execute();
  return rows.map(toRunRecord).sort((a, b) => a.createdAt - b.createdAt);
}

/** A run whose owner stopped renewing its lease. */
function abandoned({ dialect }: Engine): RunWhere {
  return (eb) => eb.and([eb("runs.status", "=", "running"), eb("runs.lease_until", "<=", dialect.now)]);
}

/** A queued run with nothing running and nothing older waiting in its thread. */
const nextInThread: RunWhere = (eb) =>
  eb.and([
    eb("runs.status", "=", "queued"),
    eb.not(
      eb.exists(
        eb
          .selectFrom("runs as other")
          .select("other.id")
          .whereRef("other.thread_id", "=", "runs.thread_id")
          .where("other.finished_at", "is", null)
          .where((other) =>
            other.or([
              other("other.status", "=", "running"),
              other.and([
                other("other.status", "=", "queued"),
                other("other.position", "<", other.ref("runs.position")),
              ]),
            ]),
          ),
      ),
    ),
  ]);
