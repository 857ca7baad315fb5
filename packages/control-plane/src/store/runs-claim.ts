import { sql, type Expression, type ExpressionBuilder, type SqlBool, type UpdateObject } from "kysely";
import type { RunStatus } from "@patchbay/protocol";
import type { RunRecord } from "../ports/records.ts";
import { type RunStore, SUSPECT_CRASHES } from "../ports/run-store.ts";
import { idBatches, toJson } from "./columns.ts";
import { RUN_COLUMNS, toRunRecord } from "./run-record.ts";
import { type Engine, repeat } from "./engine.ts";
import type { Schema } from "./schema.ts";

/** A condition on rows of `runs`. */
type RunWhere = (eb: ExpressionBuilder<Schema, "runs">) => Expression<SqlBool>;
interface Claim {
  owner: string;
  leaseMs: number;
  limit: number;
}

/** Which replica works on which run. */
export function runClaims(engine: Engine) {
  return { ...claims(engine), ...leases(engine), ...expiredLeases(engine), requestCancel: cancelRequests(engine) };
}

/** Claims use the urgent connections: under load a claim must not wait behind queries while runs wait for an owner. */
function claims(
  engine: Engine,
): Pick<RunStore, "claim" | "claimSuspect" | "clearSuspect" | "claimExpired" | "wake" | "waiting"> {
  const { urgent, dialect } = engine;
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
      // By claims first: a run that crashes every process that resumes it must not keep the other suspects waiting.
      const counted = { claims: sql<number>`claims + 1` };
      const [run] = await take(engine, { ...claim, limit: 1 }, counted, isSuspect, "runs.claims");
      return run;
    },

    async clearSuspect({ runId, fence }) {
      await urgent.updateTable("runs").set({ claims: 0 }).where("id", "=", runId).where("fence", "=", fence).execute();
    },

    claimExpired: (claim) =>
      take(engine, claim, {}, (eb) =>
        eb.or([eb("runs.deadline_at", "<=", dialect.now), eb("runs.cancel_requested", "=", 1)]),
      ),

    async wake(options) {
      const orgs = new Set<string>();
      for (let woken = WAKE_LIMIT; woken === WAKE_LIMIT;) {
        const rows = await wakeSome(engine, options?.all ?? false);
        for (const { org_id } of rows) orgs.add(org_id);
        woken = rows.length;
      }
      return [...orgs];
    },

    async waiting() {
      const rows = await urgent
        .selectFrom("runs")
        .select("org_id")
        .distinct()
        .where("finished_at", "is", null)
        .where("owner", "is", null)
        .where("wake_at", "is", null)
        .where(isTrusted)
        .execute();
      return rows.map((row) => row.org_id);
    },
  };
}

const WAKE_LIMIT = 500;

/** What ends a run's waiting: it continues as one that its owner has released. Leaves a run that does not wait as it is. */
const continues = ({ now }: Engine["dialect"]) => ({
  status: sql<RunStatus>`case status when 'waiting' then 'running' else status end`,
  wake_at: null,
  remaining_ms: null,
  waits_since: null,
  waited_ms: sql<number | null>`coalesce(coalesce(waited_ms, 0) + ${now} - waits_since, waited_ms)`,
  deadline_at: sql<number>`coalesce(${now} + remaining_ms, deadline_at)`,
});

/** Locks the runs in one statement, as `take` does: two replicas never wake the same run. */
function wakeSome({ urgent: db, dialect }: Engine, all: boolean) {
  const due = db
    .selectFrom("runs")
    .select("runs.id")
    .where("runs.wake_at", "<=", all ? sql.lit(Number.MAX_SAFE_INTEGER) : dialect.now)
    .orderBy("runs.wake_at")
    .limit(WAKE_LIMIT);
  return db
    .with(
      (cte) => cte("due").materialized(),
      () => dialect.lockForClaim(due),
    )
    .updateTable("runs")
    .set(continues(dialect))
    .where("id", "in", (eb) => eb.selectFrom("due").select("due.id"))
    .returning("org_id")
    .execute();
}

const NO_OWNER = { owner: null, lease_until: 0 };
const CRASHED = { ...NO_OWNER, crashes: sql<number>`crashes + 1` };

function leases(engine: Engine): Pick<RunStore, "renew" | "release" | "recordSegment"> {
  const { urgent, dialect } = engine;
  /**
   * Only rows that the owner still has are updated: a replica that was frozen past its lease must not take a run back from the
   * replica that resumed it. The rows that are missing from the answer tell the caller which runs to abort.
   */
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
    async renew(owner, runIds, leaseMs) {
      const renewed: { runId: string; cancelRequested: boolean }[] = [];
      for (const ids of idBatches(runIds)) {
        const rows = await ofOwner(owner, ids, { lease_until: sql<number>`${dialect.now} + ${leaseMs}` });
        renewed.push(...rows.map((run) => ({ runId: run.id, cancelRequested: run.cancel_requested === 1 })));
      }
      return renewed;
    },

    async release(owner, runIds, options) {
      const released = options?.crashed ? CRASHED : { ...NO_OWNER, claims: 0 };
      for (const ids of idBatches(runIds)) await ofOwner(owner, ids, released);
    },

    async recordSegment({ runId, fence }, trace) {
      const newest = urgent.updateTable("runs").set({ trace: toJson(trace) });
      await repeat(engine, () => newest.where("id", "=", runId).where("fence", "=", fence).execute());
    },
  };
}

/**
 * Takes runs from replicas that no longer renew their leases. `endLeases` counts a crash for each run: a run that crashes its
 * process again and again becomes a suspect and is resumed in quarantine. `releaseAll` counts none, because it runs at the
 * start of the only replica, after the earlier process has ended.
 */
function expiredLeases(engine: Engine): Pick<RunStore, "endLeases" | "releaseAll"> {
  const { db, urgent, dialect } = engine;
  return {
    async endLeases({ owner, working }) {
      const expired = urgent
        .updateTable("runs")
        .set(CRASHED)
        .where("finished_at", "is", null)
        .where("status", "=", "running")
        .where("owner", "is not", null)
        .where("lease_until", "<=", dialect.now);
      // A run that this replica works on did not crash: the store was only too slow to renew its lease.
      const known = [...idBatches(working)];
      const ofOthers = expired.where((eb) =>
        eb.or([eb("owner", "!=", owner), eb.and(known.map((ids) => eb("id", "not in", ids)))]),
      );
      await repeat(engine, () => (known.length > 0 ? ofOthers : expired).execute());
    },

    async releaseAll() {
      const running = db
        .updateTable("runs")
        .set({ lease_until: 0 })
        .where("finished_at", "is", null)
        .where("status", "=", "running");
      await repeat(engine, () => running.execute());
    },
  };
}

/**
 * Stores a request to cancel. The owner may be another replica or none at the moment, so the request stays in the row: the owner
 * sees it when it renews its lease, and a later owner when it claims the run.
 */
function cancelRequests({ db, dialect }: Engine): RunStore["requestCancel"] {
  return async (agentId, runId) => {
    // One statement: a run that begins or ends its waiting at the same moment must not escape the request.
    const open = await db
      .updateTable("runs")
      .set({ ...continues(dialect), cancel_requested: 1 })
      .where("id", "=", runId)
      .where("agent_id", "=", agentId)
      .where("status", "in", ["queued", "running", "waiting"])
      .returning("status")
      .executeTakeFirst();
    if (open) return open.status;
    const ended = await db
      .selectFrom("runs")
      .select("status")
      .where("id", "=", runId)
      .where("agent_id", "=", agentId)
      .executeTakeFirst();
    return ended?.status;
  };
}

/**
 * Claims the oldest runs without an owner that match `which`. One statement selects and updates, so two replicas never claim
 * the same run: Postgres skips rows that another claim has locked, and SQLite has one writer.
 *
 * The candidates are materialized because the planner could otherwise evaluate the sub-select once per updated row, lock
 * further rows each time, and claim more than `limit`. Each claim raises the fence, which rejects writes of the former owner.
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
    .where("runs.wake_at", "is", null)
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

/**
 * A queued run that is next in its thread: no run of the thread is running or waits for an approval, and no older one is queued. Runs of one thread never
 * overlap, because each continues the conversation of the one before.
 */
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
              other("other.status", "in", ["running", "waiting"]),
              other.and([
                other("other.status", "=", "queued"),
                other("other.position", "<", other.ref("runs.position")),
              ]),
            ]),
          ),
      ),
    ),
  ]);
