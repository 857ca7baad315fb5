import type { CallErrorCode, CallOutcome } from "@patchbay/protocol";
import { type RawBuilder, sql } from "kysely";
import type { CallAddress } from "../ports/function-gateway.ts";
import type { CallRecord } from "../ports/records.ts";
import { refusalOf } from "../ports/refusal.ts";
import type { CallStore } from "../ports/run-store.ts";
import { insertAudit } from "./audit.ts";
import { fromJson, idBatches, present, toJson } from "./columns.ts";
import { type Engine, transact } from "./engine.ts";
import type { CallRow } from "./run-record.ts";
import { insertion, statement } from "./statement.ts";

/**
 * Calls that one replica assigns and another replica, which has the runtime's connection, sends. The call's row decides
 * between them: each transition is one `update … where` the expected state, so of two replicas only the first succeeds.
 */
export function callStore(engine: Engine): Omit<CallStore, "recordError"> {
  return { ...assignments(engine), ...results(engine) };
}

const acceptOpen = statement((p: Parameters<CallStore["accept"]>[0], { db, dialect }) =>
  db
    .updateTable("calls")
    .set({ accepted_by: p.replicaId })
    .where("id", "=", p.callId)
    .where("attempt", "=", p.attempt)
    .where("accepted_by", "is", null)
    .where("outcome", "is", null)
    .where("arrived", "is", null)
    .where((eb) => {
      const own = eb.selectFrom("runs").select("runs.id").whereRef("runs.id", "=", "calls.run_id");
      // The fence must not change between this check and the update. The shared lock makes a claim of the run wait, and
      // the new owner then reads which replica accepted the call, instead of sending the call a second time.
      return eb.exists(dialect.lockShared(own.where("runs.fence", "=", p.fence).where("runs.status", "=", "running")));
    })
    .returning(["run_id", "instance_id", "function_name", "arguments"]),
);
const runOfCall = statement((p: { runId: string }, { db }) =>
  db.selectFrom("runs").select(["agent_id", "thread_id", "session_id", "role", "request"]).where("id", "=", p.runId),
);

/**
 * The start of an attempt. `accept` by the sending replica and `withdraw` by the assigning one exclude each other: either the
 * call is sent, or the assigning replica knows that it never will be and may choose another runtime.
 */
function assignments(engine: Engine): Pick<CallStore, "accept" | "withdraw"> {
  const { db } = engine;
  return {
    async accept({ callId, attempt, fence, replicaId }) {
      const [accepted] = await acceptOpen(engine, { callId, attempt, fence, replicaId });
      if (accepted?.instance_id == null) return undefined;
      const [run] = await runOfCall(engine, { runId: accepted.run_id });
      if (!run) return undefined;
      return {
        callId,
        attempt,
        fence,
        instanceId: accepted.instance_id,
        agentId: run.agent_id,
        functionName: accepted.function_name,
        arguments: fromJson(accepted.arguments),
        context: fromJson(run.request).context,
        threadId: run.thread_id,
        runId: accepted.run_id,
        ...present({ role: run.role, sessionId: run.session_id }),
      };
    },

    async withdraw({ callId, attempt }) {
      const withdrawn = await db
        .updateTable("calls")
        .set({ attempt: attempt + 1 })
        .where("id", "=", callId)
        .where("attempt", "=", attempt)
        .where("accepted_by", "is", null)
        .where("outcome", "is", null)
        .where("arrived", "is", null)
        .returning("id")
        .executeTakeFirst();
      return withdrawn !== undefined;
    },
  };
}

/**
 * Results on their way to the run's owner. They are stored before the owner is notified: when the owner dies, the replica that
 * resumes the run finds the result in the row and does not execute the call again.
 */
function results(engine: Engine): Pick<CallStore, "arrive" | "arrivals"> {
  const { db } = engine;
  return {
    async arrive(address, outcome, sent) {
      await db
        .updateTable("calls")
        .set({
          arrived: toJson(outcome),
          ...(sent && { sent_at: sql<number>`case when attempt = ${sent.attempt} then ${sent.at} else sent_at end` }),
        })
        .where("id", "=", address.callId)
        .where("instance_id", "=", address.instanceId)
        .where("outcome", "is", null)
        .where("arrived", "is", null)
        .where((eb) =>
          eb.exists(
            eb
              .selectFrom("runs")
              .select("runs.id")
              .whereRef("runs.id", "=", "calls.run_id")
              .where("runs.agent_id", "=", address.agentId)
              .where("runs.status", "=", "running"),
          ),
        )
        .execute();
      const call = await findCall(engine, address);
      if (!call) return { over: true };
      const ended = call.outcome !== null || call.status !== "running";
      if (!ended) return { over: false, ...present({ owner: call.owner }) };
      if (isLateResult(call, outcome)) await noteLate(engine, call);
      return { over: true };
    },

    async arrivals(callIds) {
      const found: { callId: string; outcome: CallOutcome }[] = [];
      for (const ids of idBatches(callIds)) {
        const rows = await db
          .selectFrom("calls")
          .select(["id", "arrived"])
          .where("id", "in", ids)
          .where("outcome", "is", null)
          .$narrowType<{ arrived: NonNullable<CallRow["arrived"]> }>()
          .where("arrived", "is not", null)
          .execute();
        found.push(...rows.map(({ id, arrived }) => ({ callId: id, outcome: fromJson(arrived) })));
      }
      return found;
    },
  };
}

/** The call with its run; undefined unless the call was sent to this runtime. */
function findCall({ db }: Engine, { agentId, callId, instanceId }: CallAddress) {
  return db
    .selectFrom("calls")
    .innerJoin("runs", "runs.id", "calls.run_id")
    .select(["calls.id", "calls.run_id", "calls.org_id", "calls.function_name", "calls.outcome", "calls.late"])
    .select(["runs.agent_id", "runs.key_id", "runs.role", "runs.owner", "runs.status"])
    .where("calls.id", "=", callId)
    .where("calls.instance_id", "=", instanceId)
    .where("runs.agent_id", "=", agentId)
    .executeTakeFirst();
}

type FoundCall = NonNullable<Awaited<ReturnType<typeof findCall>>>;

/**
 * True for a result that differs from the stored outcome. A runtime repeats a result until the control plane acknowledges it;
 * such a repetition must not appear in the audit log as a late result.
 */
function isLateResult({ outcome, late }: FoundCall, answer: CallOutcome): boolean {
  if (late === 1) return false;
  if (outcome === null) return true;
  const stored = endOf(fromJson(outcome));
  return stored !== endOf(answer) && stored !== "result_too_large";
}

const endOf = (outcome: CallOutcome): string => (outcome.ok ? "ok" : outcome.code);

interface CallingRun {
  runId: string;
  orgId: string;
  agentId: string;
  keyId: string;
  role?: string;
}

/** Outcomes that the control plane decided without an answer. The runtime may still have executed the call. */
const GIVEN_UP: ReadonlySet<string> = new Set<CallErrorCode>(["outcome_unknown", "timed_out", "cancelled"]);

/** True for a call whose result may have arrived without being used. */
export const isGivenUp = ({ outcome }: CallRecord): boolean =>
  outcome !== undefined && !outcome.ok && GIVEN_UP.has(outcome.code);

/**
 * Audits results that arrived after their run's owner gave the call up and before it commits that decision. Without this the
 * audit log would not mention that the call was executed.
 */
async function noteUnusedResults(trx: Engine, run: CallingRun, calls: readonly CallRecord[]): Promise<void> {
  const givenUp = calls.filter(isGivenUp);
  if (givenUp.length === 0) return;
  // Locks also the rows without a result: one that arrives now waits for this transaction and then counts as late.
  const locked = await trx.db
    .updateTable("calls")
    .set({ late: sql<number>`case when arrived is null then late else 1 end` })
    .where(
      "id",
      "in",
      givenUp.map(({ callId }) => callId),
    )
    .where("outcome", "is", null)
    .returning(["id", "function_name", "arrived"])
    .execute();
  const answered = locked.filter(({ arrived }) => arrived !== null);
  const entries = answered.map((call) => ({ action: "call.late", callId: call.id, functionName: call.function_name }));
  await insertAudit(trx, entries, run);
}

/** Audits once, without the result, that a call was answered after it had been given up. */
function noteLate(engine: Engine, call: FoundCall): Promise<void> {
  return transact(engine, async (trx) => {
    const first = await trx.db
      .updateTable("calls")
      .set({ late: 1 })
      .where("id", "=", call.id)
      .where("late", "=", 0)
      .returning("id")
      .executeTakeFirst();
    if (!first) return;
    const author = { orgId: call.org_id, agentId: call.agent_id, runId: call.run_id, keyId: call.key_id };
    const entry = { action: "call.late", callId: call.id, functionName: call.function_name };
    await insertAudit(trx, [entry], { ...author, ...present({ role: call.role }) });
  });
}

/** Stores the calls of a step. Locks them in the order of all transactions, after their run. */
export async function storeCalls(trx: Engine, run: CallingRun, calls: readonly CallRecord[]): Promise<void> {
  await noteUnusedResults(trx, run, calls);
  const of = { run_id: run.runId, org_id: run.orgId, agent_id: run.agentId, role: run.role ?? null };
  const rows = calls.map((call) => ({ ...of, ...callRowOf(call) }));
  // Only calls with an outcome get an end time.
  await openCallRows(
    trx,
    rows.filter(({ outcome }) => outcome === null),
  );
  await endedCallRows(
    trx,
    rows.filter(({ outcome }) => outcome !== null),
  );
}

/** The columns of a call that do not come from its run. */
export function callRowOf(call: CallRecord) {
  return {
    id: call.callId,
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
  };
}

/** The outcome in one word, for the indexes of lists and figures. */
function stateOf(outcome: CallOutcome): NonNullable<CallRow["state"]> {
  if (outcome.ok) return "succeeded";
  return refusalOf(outcome) === undefined ? "failed" : "denied";
}

/** `accepted_by`, `arrived` and `late` belong to the replica that sends the call. */
type NewCallRow = Omit<CallRow, "accepted_by" | "arrived" | "late" | "created_at" | "finished_at">;

const openCallRows = insertion((rows: NewCallRow[], engine) => callRows(engine, rows, null));
const endedCallRows = insertion((rows: NewCallRow[], engine) => callRows(engine, rows, engine.dialect.now));

function callRows({ db, dialect }: Engine, rows: NewCallRow[], finishedAt: RawBuilder<number> | null) {
  return db
    .insertInto("calls")
    .values(rows.map((row) => ({ ...row, created_at: dialect.now, finished_at: finishedAt })))
    .modifyEnd(REPLACE_CALL);
}

const newAttempt = sql<boolean>`excluded.attempt > calls.attempt`;

/**
 * Ends an insert of calls: calls that exist are updated by id. The sending replica changes `accepted_by`, `arrived` and `sent_at`
 * of the same row, so the update keeps them unless the owner begins a newer attempt. `attempt` only grows: a withdrawn attempt has
 * already raised it, and the acceptance of an older attempt must not count for a newer one. `sent_at`: the replica that sent the
 * call stores the time with the result; the run's owner may not know it.
 */
export const REPLACE_CALL = sql`on conflict (id) do update set
  arguments = excluded.arguments, instance_id = excluded.instance_id,
  attempt = case when ${newAttempt} then excluded.attempt else calls.attempt end,
  accepted_by = case when ${newAttempt} then null else calls.accepted_by end,
  sent_at = case when ${newAttempt} then excluded.sent_at else coalesce(excluded.sent_at, calls.sent_at) end,
  attempts = excluded.attempts, arrived = case when excluded.outcome is null then calls.arrived end,
  outcome = excluded.outcome, state = excluded.state, finished_at = excluded.finished_at
  where calls.run_id = excluded.run_id`;
