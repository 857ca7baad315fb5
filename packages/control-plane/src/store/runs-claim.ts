import { sql, type Expression, type ExpressionBuilder, type SqlBool, type UpdateObject } from "kysely";
import type { RunRecord } from "../ports/records.ts";
import { type RunStore, SUSPECT_CRASHES } from "../ports/run-store.ts";
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

type Claims = Pick<
  RunStore,
  | "claim"
  | "claimSuspect"
  | "clearSuspect"
  | "claimExpired"
  | "waiting"
  | "endLeases"
  | "renew"
  | "release"
  | "releaseAll"
  | "requestCancel"
>;

/** Who works on which run. */
export function runClaims(engine: Engine): Claims {
  const { db, urgent, dialect } = engine;
  const leaseFor = (leaseMs: number) => sql<number>`${dialect.now} + ${leaseMs}`;
  const noOwner = { owner: null, lease_until: 0 };
  const crashed = { ...noOwner, crashes: sql<number>`crashes + 1` };
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
    claim({ orgId, threadId, runId, ...claim }) {
      const started = { started_at: sql<number>`coalesce(started_at, ${dialect.now})` };
      return take(engine, claim, started, (eb) => {
        const which = [isTrusted(eb), eb.or([eb("runs.status", "=", "running"), nextInThread(eb)])];
        if (orgId !== undefined) which.push(eb("runs.org_id", "=", orgId));
        if (threadId !== undefined) which.push(eb("runs.thread_id", "=", threadId));
        if (runId !== undefined) which.push(eb("runs.id", "=", runId));
        return eb.and(which);
      });
    },

    async claimSuspect(claim) {
      const counted = { claims: sql<number>`claims + 1` };
      const [run] = await take(engine, { ...claim, limit: 1 }, counted, isSuspect, "runs.claims");
      return run;
    },

    async clearSuspect({ runId, fence }) {
      await urgent.updateTable("runs").set({ claims: 0 }).where("id", "=", runId).where("fence", "=", fence).execute();
    },

    claimExpired: (claim) =>
      take(engine, claim, {}, (eb) =>
        eb.and([
          eb.or([eb("runs.status", "=", "queued"), isSuspect(eb)]),
          eb.or([eb("runs.deadline_at", "<=", dialect.now), eb("runs.cancel_requested", "=", 1)]),
        ]),
      ),

    async waiting() {
      const rows = await urgent
        .selectFrom("runs")
        .select("org_id")
        .distinct()
        .where("finished_at", "is", null)
        .where("owner", "is", null)
        .where(isTrusted)
        .execute();
      return rows.map((row) => row.org_id);
    },

    async endLeases({ owner, working }) {
      const ended = urgent
        .updateTable("runs")
        .set(crashed)
        .where("finished_at", "is", null)
        .where("status", "=", "running")
        .where("owner", "is not", null)
        .where("lease_until", "<=", dialect.now);
      const known = [...idBatches(working)];
      const ofOthers = ended.where((eb) =>
        eb.or([eb("owner", "!=", owner), eb.and(known.map((ids) => eb("id", "not in", ids)))]),
      );
      await repeat(engine, () => (known.length > 0 ? ofOthers : ended).execute());
    },

    async renew(owner, runIds, leaseMs) {
      const held: { runId: string; cancelRequested: boolean }[] = [];
      for (const ids of idBatches(runIds)) {
        const rows = await ofOwner(owner, ids, { lease_until: leaseFor(leaseMs) });
        held.push(...rows.map((run) => ({ runId: run.id, cancelRequested: run.cancel_requested === 1 })));
      }
      return held;
    },

    async release(owner, runIds, options) {
      const given = options?.crashed ? crashed : { ...noOwner, claims: 0 };
      for (const ids of idBatches(runIds)) await ofOwner(owner, ids, given);
    },

    async releaseAll() {
      const running = db
        .updateTable("runs")
        .set({ lease_until: 0 })
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
 * Claims the oldest runs without an owner that `which` describes, in one statement: whoever comes second finds them taken. The
 * candidates are chosen once, apart from the update: a planner that chose them again for each row would claim more than `limit`.
 */
async function take(
  { urgent: db, dialect }: Engine,
  { owner, leaseMs, limit }: Claim,
  alsoSet: { started_at?: Expression<number | null>; claims?: Expression<number> },
  which: RunWhere,
  first: "runs.claims" | "runs.created_at" = "runs.created_at",
): Promise<RunRecord[]> {
  const candidates = db
    .selectFrom("runs")
    .select("runs.id")
    .where("runs.finished_at", "is", null)
    .where("runs.owner", "is", null)
    .where(which)
    .orderBy(first)
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
      lease_until: sql<number>`${dialect.now} + ${leaseMs}`,
      ...alsoSet,
    }))
    .where("id", "in", (eb) => eb.selectFrom("candidates").select("candidates.id"))
    .returning(RUN_COLUMNS)
    .execute();
  return rows.map(toRunRecord).sort((a, b) => a.createdAt - b.createdAt);
}

const isTrusted: RunWhere = (eb) => eb("runs.crashes", "<", SUSPECT_CRASHES);
const isSuspect: RunWhere = (eb) =>
  eb.and([eb("runs.status", "=", "running"), eb("runs.crashes", ">=", SUSPECT_CRASHES)]);

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
