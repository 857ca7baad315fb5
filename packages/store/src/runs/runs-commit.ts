import { type RawBuilder, sql } from "kysely";
import type { RunRecord } from "@patchbay/engine/ports/records";
import {
  StoreUnavailable,
  type Lease,
  type RunCommit,
  type RunStore,
  type StoredEvent,
} from "@patchbay/engine/ports/store/run-store";
import { storeApprovals, wakeTimeOf } from "../calls/approvals.ts";
import { insertAudit } from "../audit/audit.ts";
import { storeCalls } from "../calls/calls.ts";
import { withoutNulls, toJson } from "../columns.ts";
import { mayContinue } from "../accounts/credentials.ts";
import { releaseReservations, reserve, settle } from "./credits.ts";
import { countsAsHistory } from "./history.ts";
import { dropHistories, leaseLost } from "./retries.ts";
import { type Engine, transact } from "../engine.ts";
import type { Schema } from "../tables/schema.ts";
import { is, insertion, statement } from "../statement.ts";
import { PARKED } from "./suspects.ts";
import { resultColumns, type RunRow } from "../tables/runs.ts";
import { storedTurn, turnColumns, type TurnRow, usageColumns, type UsageRow } from "../tables/turns.ts";
import { storeRoleEnd } from "../threads/thread-roles.ts";
import { storeDeliveries } from "../webhooks.ts";

/** The run that a commit writes rows for. */
type Owner = Pick<RunRecord, "runId" | "orgId" | "agentId" | "role">;

/**
 * Commits one step in a run: its events, turn, calls, audit entries and credits in one transaction. A step is never
 * half stored, so a replica that resumes the run continues exactly after the last commit.
 */
export function runCommits(engine: Engine): Pick<RunStore, "commit"> {
  const grouped = engine.dialect.groupSteps?.(engine);
  return {
    async commit(lease, change) {
      try {
        const reservedMicros = await grouped?.(lease, change);
        if (reservedMicros !== undefined) return { reservedMicros };
        return await transact(engine, (trx) => step(trx, lease, change));
      } catch (error) {
        // A connection can break between the commit and its acknowledgement. The caller then repeats the step, and the
        // sequence numbers or the fence would reject the repetition although the first attempt was stored.
        if (error instanceof StoreUnavailable || !(await isStored(engine, lease, change))) throw error;
        return { reservedMicros: 0 };
      }
    },
  };
}

/**
 * Writes one step in lock order: thread, run, calls, balance. The run's row comes before everything that belongs to it,
 * so that a lost lease ends the transaction before it has written anything.
 */
async function step(trx: Engine, lease: Lease, change: RunCommit): Promise<{ reservedMicros: number }> {
  const { events, turn, calls, approvals, wait, finish, audit } = change;
  if (finish) {
    await touchThread(trx, { runId: lease.runId });
    await storeRoleEnd(trx, { runId: lease.runId });
    // Before this run's end, which adds the sizes of earlier histories.
    if (finish.replaces) await dropHistories(trx, lease, finish.replaces);
  }
  const run = await advance(trx, lease, change);
  // Before turn and calls: the entry about resuming the run must not follow entries about later calls.
  if (audit?.length) await insertAudit(trx, audit, run);
  if (events?.length) await insertEvents(trx, run, events);
  if (turn) await storeTurn(trx, run, turn);
  if (calls?.length) await storeCalls(trx, run, calls);
  if (approvals) await storeApprovals(trx, run, approvals);
  if (finish?.report) await storeDeliveries(trx, run, [finish.report]);
  if (wait) await park(trx, run, wait);
  if (approvals?.reported?.length) await keepIdempotencyKey(trx, lease.runId, deadlineOf(lease.runId));
  if (finish?.releaseIdempotencyKey) await freeIdempotencyKey(trx, { runId: lease.runId });
  return { reservedMicros: await moveCredits(trx, run, change) };
}

/** Runs last in the transaction: it locks the balance, and all the organisation's other runs wait for that lock. */
async function moveCredits(trx: Engine, run: Owner, { turn, finish, reserve: next }: RunCommit): Promise<number> {
  if (turn && turn.reservedMicros > 0) {
    const { step, reservedMicros, costMicros } = turn;
    await settle(trx, { runId: run.runId, orgId: run.orgId, step, reservedMicros, costMicros });
  }
  if (finish) await releaseReservations(trx, run);
  return (next && (await reserve(trx, { ...run, step: next.step }, next.micros))) ?? 0;
}

/** True when exactly this step is stored and no other replica has claimed the run since. */
async function isStored({ db }: Engine, { runId, fence }: Lease, { events = [], turn }: RunCommit): Promise<boolean> {
  const run = await db.selectFrom("runs").select("fence").where("id", "=", runId).executeTakeFirst();
  if (run?.fence !== fence) return false;
  const [first, last] = [events.at(0), events.at(-1)];
  if (first && last) {
    const stored = await db
      .selectFrom("run_events")
      .select("body")
      .where("run_id", "=", runId)
      .where("seq", ">=", first.seq)
      .where("seq", "<=", last.seq)
      .orderBy("seq")
      .execute();
    return events.every(({ body }, i) => stored[i]?.body === body);
  }
  if (!turn) return false;
  const { step } = turn;
  const sameTurn = db.selectFrom("turns").select("step").where("run_id", "=", runId).where("step", "=", step);
  return (await sameTurn.executeTakeFirst()) !== undefined;
}

/** Locks the thread before the run: erasing a thread locks them in this order, and the reverse order would deadlock. */
const touchThread = statement((p: { runId: string }, { db, dialect }) =>
  db
    .updateTable("threads")
    .set({ updated_at: dialect.now })
    .where("id", "=", (eb) => eb.selectFrom("runs").select("runs.thread_id").where("runs.id", "=", p.runId)),
);

/**
 * Ends the lease. A separate statement: it sees decisions that were stored before the step locked the run. A run that
 * must not continue is due at once: nothing else would end it before its approvals expire.
 */
async function park(
  trx: Engine,
  { runId, ...run }: Owner & { keyId: string },
  { remainingMs, heldBy }: NonNullable<RunCommit["wait"]>,
): Promise<void> {
  const goesOn = await mayContinue(trx, { ...run, heldBy });
  await trx.db
    .updateTable("runs")
    .set({
      status: "waiting",
      ...PARKED,
      remaining_ms: Math.max(0, Math.ceil(remainingMs)),
      waits_since: trx.dialect.now,
      wake_at: goesOn ? wakeTimeOf : sql.lit(0),
    })
    .where("id", "=", runId)
    .execute();
  await keepIdempotencyKey(trx, runId, sql<number>`${sql.lit(NEVER_MS)}`);
}

const deadlineOf = (runId: string) => sql<number>`(select deadline_at from runs where id = ${runId})`;

/** At this time no key is older than 24 h. */
const NEVER_MS = Number.MAX_SAFE_INTEGER;

/** Extends a run's Idempotency-Key to 24 h from `at`. */
async function keepIdempotencyKey({ db }: Engine, runId: string, at: RawBuilder<number>): Promise<void> {
  await db.updateTable("idempotency_keys").set({ created_at: at }).where("run_id", "=", runId).execute();
}

const freeIdempotencyKey = statement((p: { runId: string }, { db }) =>
  db.deleteFrom("idempotency_keys").where("run_id", "=", p.runId),
);

/**
 * Updates the run's row under its fence, before anything else is written. When another replica has claimed the run, no
 * row matches and the transaction ends with `LeaseLost`: a former owner that was paused cannot append to the log.
 */
async function advance(trx: Engine, { runId, fence }: Lease, { events = [], finish }: RunCommit) {
  const by = { runId, fence, events: events.length };
  const [row] = finish ? await end(trx, { ...by, ...finishRowOf(finish) }) : await goOn(trx, by);
  if (!row) throw leaseLost({ runId, fence });
  checkSequence(events, row.last_seq - events.length);
  return { runId, orgId: row.org_id, agentId: row.agent_id, keyId: row.key_id, ...withoutNulls({ role: row.role }) };
}

type FinishRow = ReturnType<typeof resultColumns> &
  Pick<RunRow, "status" | "history" | "unanswered"> & { history_bytes: number };

/** The columns that a run's end sets. */
export function finishRowOf({ status, result, history, unanswered }: NonNullable<RunCommit["finish"]>): FinishRow {
  const text = toJson(history);
  return {
    status,
    ...resultColumns(status, result),
    history: text,
    history_bytes: Buffer.byteLength(text),
    unanswered: unanswered ? toJson(unanswered) : null,
  };
}

type Advance = Lease & { events: number };

/** Advances a run that continues. */
const goOn = statement((p: Advance, engine) => advanced(engine, p));

/**
 * Ends a run. `history_total` continues the total from the previous run with the same role and subject, so that a later
 * run knows the whole history's size without reading it.
 */
const end = statement((p: Advance & ReturnType<typeof finishRowOf>, engine) =>
  advanced(engine, p).set((eb) => ({
    status: p.status,
    finished_at: engine.dialect.now,
    result: p.result,
    ending: p.ending,
    history: p.history,
    history_total: sql<number>`coalesce(${eb
      .selectFrom("runs as earlier")
      .select("earlier.history_total")
      .whereRef("earlier.thread_id", "=", "runs.thread_id")
      .whereRef("earlier.position", "<", "runs.position")
      .whereRef("earlier.role", "is not distinct from", "runs.role")
      .whereRef("earlier.subject", "is not distinct from", "runs.subject")
      .where("earlier.history", "is not", null)
      .where(countsAsHistory("earlier"))
      .orderBy("earlier.position", "desc")
      .limit(1)}, 0) + ${p.history_bytes}`,
    unanswered: p.unanswered,
    owner: null,
    lease_until: null,
  })),
);

/** The conditions are the fence: only the current lease's owner can advance a running run. */
const advanced = ({ db }: Engine, { runId, fence, events }: Advance) =>
  db
    .updateTable("runs")
    .set((eb) => ({ last_seq: eb("last_seq", "+", events) }))
    .where(is({ id: runId, fence, status: "running" }))
    .returning(["org_id", "agent_id", "key_id", "role", "last_seq"]);

/**
 * Rejects a gap or an overlap in the event numbers. Clients resume a stream by the last number that they have seen:
 * with a gap or a repeated number they would miss events or get them twice.
 */
function checkSequence(events: readonly StoredEvent[], stored: number): void {
  for (const [index, { seq }] of events.entries()) {
    if (seq !== stored + index + 1) throw new Error(`event ${seq} would follow event ${stored + index}`);
  }
}

export async function insertEvents(
  trx: Engine,
  { runId, orgId }: Pick<Owner, "runId" | "orgId">,
  events: readonly StoredEvent[],
): Promise<void> {
  await eventRows(
    trx,
    events.map(({ seq, body }) => ({ run_id: runId, seq, org_id: orgId, body })),
  );
}

const eventRows = insertion((rows: Omit<Schema["run_events"], "created_at">[], { db, dialect }) =>
  db.insertInto("run_events").values(rows.map((row) => ({ ...row, created_at: dialect.now }))),
);

async function storeTurn(trx: Engine, run: Owner, turn: NonNullable<RunCommit["turn"]>): Promise<void> {
  const of = { run_id: run.runId, org_id: run.orgId };
  const stored = storedTurn(turn);
  await insertTurn(trx, { ...of, ...turnColumns.rowOf(stored) });
  const whose = { agent_id: run.agentId, role: run.role ?? null, turns: 1 };
  await insertUsage(trx, { ...of, ...whose, ...usageColumns.rowOf(stored) });
}

const insertTurn = statement((row: Omit<TurnRow, "created_at">, { db, dialect }) =>
  db.insertInto("turns").values({ ...row, created_at: dialect.now }),
);

const insertUsage = statement((row: Omit<UsageRow, "created_at">, { db, dialect }) =>
  db.insertInto("usage").values({ ...row, created_at: dialect.now }),
);
