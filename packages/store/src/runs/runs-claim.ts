import { present } from "@patchbay/kit";
import { sql, type UpdateObject } from "kysely";
import type { RunStatus } from "@patchbay/protocol";
import { QUARANTINE_CLAIMS } from "@patchbay/engine/ports/quarantine";
import type { RunStore } from "@patchbay/engine/ports/store/run-store";
import { wakeLost } from "../calls/lost-calls.ts";
import { isTrusted, nextInThread, take } from "./claim.ts";
import { idBatches, inBatches, toJson } from "../columns.ts";
import { type Engine, repeat } from "../engine.ts";
import { inMs } from "../moments.ts";
import { afterCrash, forgiving, mustEnd, suspects, UNSUSPECTED } from "./suspects.ts";
import type { Schema } from "../tables/schema.ts";
import { is } from "../statement.ts";

/** Which replica works on which run. */
export function runClaims(engine: Engine) {
  return {
    ...claims(engine),
    ...suspects(engine),
    ...leases(engine),
    ...expiredLeases(engine),
    requestCancel: cancelRequests(engine),
  };
}

/** Claims use the urgent connections: under load a claim must not wait behind queries while runs wait for an owner. */
function claims(engine: Engine): Pick<RunStore, "claim" | "claimExpired" | "wake" | "wakeLost" | "waiting"> {
  const { urgent, dialect } = engine;
  return {
    claim({ orgId, threadId, runId, ...claim }) {
      const started = { started_at: sql<number>`coalesce(started_at, ${dialect.now})` };
      const which = present({ "runs.org_id": orgId, "runs.thread_id": threadId, "runs.id": runId });
      return take(engine, claim, started, (eb) =>
        eb.and([isTrusted(eb), eb.or([eb("runs.status", "=", "running"), nextInThread]), eb.and(which)]),
      );
    },

    claimExpired: (claim) => {
      // More claims than a resumed suspect has: a run for which only the end is left.
      const claims = sql<number>`case when claims >= ${sql.lit(QUARANTINE_CLAIMS)} then claims + 1 else claims end`;
      return take(engine, claim, { claims }, (eb) =>
        eb.or([mustEnd(dialect)(eb), eb("runs.cancel_requested", "=", 1)]),
      );
    },

    async wake(options) {
      const orgs = new Set<string>();
      for (let woken = WAKE_LIMIT; woken === WAKE_LIMIT;) {
        const rows = await wakeSome(engine, options?.all ?? false);
        for (const { org_id } of rows) orgs.add(org_id);
        woken = rows.length;
      }
      return [...orgs];
    },

    wakeLost: () => wakeLost(engine),

    async waiting() {
      const rows = await urgent
        .selectFrom("runs")
        .select("org_id")
        .distinct()
        .where(is({ finished_at: null, owner: null, wake_at: null }))
        .where(isTrusted)
        .execute();
      return rows.map((row) => row.org_id);
    },
  };
}

const WAKE_LIMIT = 500;

/** What ends a run's waiting: it continues like a run that its owner has released. Other runs do not change. */
const continues = ({ now }: Engine["dialect"]) => ({
  status: sql<RunStatus>`case status when 'waiting' then 'running' else status end`,
  wake_at: null,
  // A suspect is in quarantine from now on.
  lease_until: sql<number | null>`case status when 'waiting' then ${now} else lease_until end`,
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

const withoutOwner = ({ now }: Engine["dialect"]) => ({ owner: null, lease_until: now });

function leases(engine: Engine): Pick<RunStore, "renew" | "release" | "recordSegment"> {
  const { urgent, dialect } = engine;
  /**
   * Updates only rows that the owner still has: a replica that was frozen past its lease must not take a run back from
   * the replica that resumed it. The rows missing from the answer tell the caller which runs to abort.
   */
  const ofOwner = (owner: string, ids: string[], lease: UpdateObject<Schema, "runs">, fence?: number) =>
    repeat(engine, () =>
      urgent
        .updateTable("runs")
        .set(lease)
        .where(is({ owner, status: "running", ...(fence !== undefined && { fence }) }))
        .where("id", "in", ids)
        .returning(["id", "cancel_requested"])
        .execute(),
    );
  return {
    async renew(owner, runIds, leaseMs) {
      const lease = { lease_until: inMs(engine, leaseMs), ...forgiving(dialect) };
      const rows = await inBatches(runIds, (ids) => ofOwner(owner, ids, lease));
      return rows.map((run) => ({ runId: run.id, cancelRequested: run.cancel_requested === 1 }));
    },

    async release(owner, runIds, { crashed = false, fence } = {}) {
      const released = { ...withoutOwner(dialect), ...(crashed ? afterCrash(dialect) : UNSUSPECTED) };
      for (const ids of idBatches(runIds)) await ofOwner(owner, ids, released, fence);
    },

    async recordSegment({ runId, fence }, trace) {
      const newest = urgent.updateTable("runs").set({ trace: toJson(trace) });
      await repeat(engine, () => newest.where("id", "=", runId).where("fence", "=", fence).execute());
    },
  };
}

/**
 * Takes runs from replicas that no longer renew their leases. `endLeases` counts a crash for each run: a run that
 * crashes its process repeatedly becomes a suspect and is resumed in quarantine. `releaseAll` counts none, because it
 * runs at the only replica's start, after the earlier process has ended.
 */
function expiredLeases(engine: Engine): Pick<RunStore, "endLeases" | "releaseAll"> {
  const { db, urgent, dialect } = engine;
  return {
    async endLeases({ owner, working }) {
      const expired = urgent
        .updateTable("runs")
        .set({ ...withoutOwner(dialect), ...afterCrash(dialect) })
        .where(is({ finished_at: null, status: "running" }))
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
        .where(is({ finished_at: null, status: "running" }));
      await repeat(engine, () => running.execute());
    },
  };
}

/**
 * Stores a cancel request. The owner may be another replica or none at the moment, so the request stays in the row: the
 * owner sees it when it renews its lease, and a later owner when it claims the run.
 */
function cancelRequests({ db, dialect }: Engine): RunStore["requestCancel"] {
  return async (agentId, runId) => {
    // One statement: a run that starts or ends its waiting at the same moment must not escape the request.
    const open = await db
      .updateTable("runs")
      .set({ ...continues(dialect), cancel_requested: 1 })
      .where(is({ id: runId, agent_id: agentId }))
      .where("status", "in", ["queued", "running", "waiting"])
      .returning("status")
      .executeTakeFirst();
    if (open) return open.status;
    const ended = await db
      .selectFrom("runs")
      .select("status")
      .where(is({ id: runId, agent_id: agentId }))
      .executeTakeFirst();
    return ended?.status;
  };
}
