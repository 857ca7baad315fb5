import type { CallOutcome, QueryResponse } from "@patchbay/protocol";
import { type RawBuilder, sql } from "kysely";
import type { CallRecord, RunEnding } from "../ports/records.ts";
import {
  LeaseLost,
  StoreUnavailable,
  type Lease,
  type RunCommit,
  type RunStore,
  type StoredEvent,
} from "../ports/run-store.ts";
import { refusalOf } from "../ports/refusal.ts";
import { insertAudit } from "./audit.ts";
import { noteUntaken } from "./calls.ts";
import { present, toJson } from "./columns.ts";
import { hold, releaseHolds, settleHold } from "./credits.ts";
import { countsAsHistory } from "./history.ts";
import type { CallRow } from "./run-tables.ts";
import type { Engine, Schema } from "./schema.ts";
import { insertion, statement } from "./statement.ts";
import { touchRole } from "./thread-roles.ts";
import { transact } from "./transact.ts";

/** Whose rows a commit writes. */
interface Owner {
  runId: string;
  orgId: string;
  agentId: string;
  role?: string;
}

/** How a run goes one step forward. */
export function runCommits(engine: Engine): Pick<RunStore, "commit"> {
  return {
    async commit(lease, change) {
      try {
        return await transact(engine, (trx) => step(trx, lease, change));
      } catch (error) {
        // A connection may break after the database took a step and before it said so: the step comes again then.
        if (error instanceof StoreUnavailable || !(await isStored(engine, lease, change))) throw error;
        return { heldMicros: 0 };
      }
    },
  };
}

async function step(trx: Engine, lease: Lease, change: RunCommit): Promise<{ heldMicros: number }> {
  const { events, turn, calls, finish, audit } = change;
  if (finish) {
    await touchThread(trx, { runId: lease.runId });
    await touchRole(trx, { runId: lease.runId });
  }
  const run = await advance(trx, lease, change);
  // Before its turn and calls: what says that the run was resumed is not later than the call that it was resumed for.
  if (audit?.length) await insertAudit(trx, audit, run);
  if (events?.length) await insertEvents(trx, run, events);
  if (turn) await insertTurn(trx, run, turn);
  if (calls?.length) {
    await noteUntaken(trx, run, calls);
    await putCalls(trx, run, calls);
  }
  if (finish?.releaseIdempotencyKey) await freeIdempotencyKey(trx, { runId: lease.runId });
  return { heldMicros: await moveCredits(trx, run, change) };
}

/** Last of all, since every run of the organisation waits for the one that changes its balance. */
async function moveCredits(trx: Engine, run: Owner, { turn, finish, hold: next }: RunCommit): Promise<number> {
  if (turn && turn.heldMicros > 0) {
    const { step, heldMicros, costMicros } = turn;
    await settleHold(trx, { runId: run.runId, orgId: run.orgId, step, heldMicros, costMicros });
  }
  if (finish) await releaseHolds(trx, run);
  return (next && (await hold(trx, { ...run, step: next.step }, next.micros))) ?? 0;
}

/** True when this very step stands in the log, and nobody has claimed the run since. */
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

/** The thread comes before its runs in the order of locks: who erases it holds it while waiting for its runs. */
const touchThread = statement((p: { runId: string }, { db, dialect }) =>
  db
    .updateTable("threads")
    .set({ updated_at: dialect.now })
    .where("id", "=", (eb) => eb.selectFrom("runs").select("runs.thread_id").where("runs.id", "=", p.runId)),
);

const freeIdempotencyKey = statement((p: { runId: string }, { db }) =>
  db.deleteFrom("idempotency_keys").where("run_id", "=", p.runId),
);

/** Moves the run's row on, which the fence may forbid: nothing else of a lost run is tried. */
async function advance(trx: Engine, { runId, fence }: Lease, { events = [], finish }: RunCommit) {
  const by = { runId, fence, events: events.length };
  const [row] = finish ? await end(trx, { ...by, ...columnsOf(finish) }) : await goOn(trx, by);
  if (!row) throw new LeaseLost(`run ${runId} is no longer owned under fence ${fence}`);
  checkSequence(events, row.last_seq - events.length);
  return { runId, orgId: row.org_id, agentId: row.agent_id, keyId: row.key_id, ...present({ role: row.role }) };
}

function columnsOf({ status, result, history, unanswered }: NonNullable<RunCommit["finish"]>) {
  const text = toJson(history);
  return {
    status,
    // The last event of a run that succeeded holds its calls, which may be megabytes.
    result: result && status !== "succeeded" ? toJson(result) : null,
    ending: result ? toJson(endingOf(result)) : null,
    history: text,
    historyBytes: Buffer.byteLength(text),
    unanswered: unanswered ? toJson(unanswered) : null,
  };
}

function endingOf({ toolInteractions: _calls, ...ending }: QueryResponse): RunEnding {
  return ending;
}

type Advance = Lease & { events: number };

const goOn = statement((p: Advance, engine) => advanced(engine, p));

const end = statement((p: Advance & ReturnType<typeof columnsOf>, engine) =>
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
      .limit(1)}, 0) + ${p.historyBytes}`,
    unanswered: p.unanswered,
    owner: null,
    lease_until: null,
  })),
);

const advanced = ({ db }: Engine, { runId, fence, events }: Advance) =>
  db
    .updateTable("runs")
    .set((eb) => ({ last_seq: eb("last_seq", "+", events) }))
    .where("id", "=", runId)
    .where("fence", "=", fence)
    .where("status", "=", "running")
    .returning(["org_id", "agent_id", "key_id", "role", "last_seq"]);

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

async function insertTurn(trx: Engine, run: Owner, turn: NonNullable<RunCommit["turn"]>): Promise<void> {
  const key = { run_id: run.runId, step: turn.step, org_id: run.orgId };
  const spending = {
    input_tokens: turn.usage.input,
    cached_input_tokens: turn.usage.cachedInput,
    cache_write_input_tokens: turn.usage.cacheWriteInput ?? 0,
    output_tokens: turn.usage.output,
    cost_micros: turn.costMicros,
  };
  const { messages, warnings, timing } = turn;
  await turnRow(trx, {
    ...key,
    ...spending,
    messages: toJson(messages),
    warnings: toJson(warnings),
    began_at: timing?.beganAt ?? null,
    retries: timing?.retries.length ? toJson(timing.retries) : null,
  });
  const whose = { agent_id: run.agentId, role: run.role ?? null };
  await usageRow(trx, { ...key, ...spending, ...whose, provider: turn.provider, model: turn.model, turns: 1 });
}

const turnRow = statement((row: Omit<Schema["turns"], "created_at">, { db, dialect }) =>
  db.insertInto("turns").values({ ...row, created_at: dialect.now }),
);

const usageRow = statement((row: Omit<Schema["usage"], "created_at">, { db, dialect }) =>
  db.insertInto("usage").values({ ...row, created_at: dialect.now }),
);

async function putCalls(trx: Engine, run: Owner, calls: readonly CallRecord[]): Promise<void> {
  const rows = calls.map((call) => ({
    id: call.callId,
    run_id: run.runId,
    org_id: run.orgId,
    agent_id: run.agentId,
    role: run.role ?? null,
    step: call.step,
    position: call.position,
    model_call_id: call.modelCallId,
    function_name: call.functionName,
    arguments: toJson(call.arguments),
    instance_id: call.instanceId ?? null,
    attempt: call.attempt,
    sent_at: call.sentAt ?? null,
    attempts: call.earlier ? toJson(call.earlier) : null,
    outcome: call.outcome ? toJson(call.outcome) : null,
    state: call.outcome ? stateOf(call.outcome) : null,
  }));
  // Only what has its outcome has its end.
  await openCallRows(
    trx,
    rows.filter(({ outcome }) => outcome === null),
  );
  await endedCallRows(
    trx,
    rows.filter(({ outcome }) => outcome !== null),
  );
}

function stateOf(outcome: CallOutcome): NonNullable<CallRow["state"]> {
  if (outcome.ok) return "succeeded";
  return refusalOf(outcome) === undefined ? "failed" : "denied";
}

type NewCallRow = Omit<CallRow, "accepted_by" | "arrived" | "late" | "created_at" | "finished_at">;

const openCallRows = insertion((rows: NewCallRow[], engine) => callRows(engine, rows, null));
const endedCallRows = insertion((rows: NewCallRow[], engine) => callRows(engine, rows, engine.dialect.now));

const newAttempt = sql<boolean>`excluded.attempt > calls.attempt`;

function callRows({ db, dialect }: Engine, rows: NewCallRow[], finishedAt: RawBuilder<number> | null) {
  return db
    .insertInto("calls")
    .values(rows.map((row) => ({ ...row, created_at: dialect.now, finished_at: finishedAt })))
    .onConflict((conflict) =>
      conflict
        .column("id")
        .doUpdateSet((eb) => ({
          arguments: eb.ref("excluded.arguments"),
          instance_id: eb.ref("excluded.instance_id"),
          // An attempt that was taken back raised the number: it only ever grows, and what was accepted was an older one.
          attempt: sql<number>`case when ${newAttempt} then excluded.attempt else calls.attempt end`,
          accepted_by: sql<null>`case when ${newAttempt} then null else calls.accepted_by end`,
          // Who sent it may have told, where its run's owner cannot.
          sent_at: sql<null>`case when ${newAttempt} then excluded.sent_at else coalesce(excluded.sent_at, calls.sent_at) end`,
          attempts: eb.ref("excluded.attempts"),
          arrived: sql<null>`case when excluded.outcome is null then calls.arrived end`,
          outcome: eb.ref("excluded.outcome"),
          state: eb.ref("excluded.state"),
          finished_at: eb.ref("excluded.finished_at"),
        }))
        .where(sql.ref("calls.run_id"), "=", sql.ref("excluded.run_id")),
    );
}
