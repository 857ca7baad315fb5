import type { JsonValue } from "@patchbay/kit";
import { callerOf } from "@patchbay/engine/ports/callers";
import { type GrantedApproval, isProvisional } from "@patchbay/protocol";
import { type ExpressionBuilder, sql } from "kysely";
import { grantOf } from "@patchbay/engine/ports/store/approvals";
import { type CallRecord, isUnsure } from "@patchbay/engine/ports/records";
import type { CallStore } from "@patchbay/engine/ports/store/call-store";
import { approvalsOf, wakeRun } from "./approvals.ts";
import { fromJson, inBatches, withoutNulls, toJson } from "../columns.ts";
import { type AcceptedInGroup, type Engine, OF_CALL, OF_RUN } from "../engine.ts";
import { type CallingRun, findCall, isLateResult, noteLate, noteUnusedResults } from "./late-calls.ts";
import { affects, is, insertion, statement } from "../statement.ts";
import { callRowOf, type CallRow } from "../tables/calls.ts";
import type { Schema } from "../tables/schema.ts";

/**
 * Calls that one replica assigns and another replica, which has the runtime's connection, sends. The call's row decides
 * between them: each transition is one `update … where` the expected state, so only the first replica succeeds.
 */
export function callStore(engine: Engine): Omit<CallStore, "recordError"> {
  return { ...assignments(engine), ...results(engine) };
}

type Attempt = Parameters<CallStore["accept"]>[0];

const acceptOpen = statement((p: Attempt, { db, dialect }) =>
  db
    .updateTable("calls")
    .set({ accepted_by: p.replicaId })
    .where(is({ id: p.callId, attempt: p.attempt, accepted_by: null, outcome: null, arrived: null }))
    .where((eb) => {
      const own = eb.selectFrom("runs").select("runs.id").whereRef("runs.id", "=", "calls.run_id");
      // The fence must not change between this check and the update. With the shared lock, a claim on the run waits,
      // and the new owner then reads which replica accepted the call, instead of sending the call a second time.
      return eb.exists(dialect.lockShared(own.where("runs.fence", "=", p.fence).where("runs.status", "=", "running")));
    })
    .returning(OF_CALL),
);
const runOfCall = statement((p: { runId: string }, { db }) =>
  db.selectFrom("runs").select(OF_RUN).where("id", "=", p.runId),
);

async function acceptOne(engine: Engine, attempt: Attempt): Promise<AcceptedInGroup | undefined> {
  const [accepted] = await acceptOpen(engine, attempt);
  const [run] = accepted ? await runOfCall(engine, { runId: accepted.run_id }) : [];
  return accepted && run && { ...accepted, ...run };
}

/**
 * An attempt's start. `accept` by the sending replica and `withdraw` by the assigning one exclude each other: either
 * the call is sent, or the assigning replica knows that it never will be and may choose another runtime.
 */
function assignments(engine: Engine): Pick<CallStore, "accept" | "withdraw"> {
  const { db } = engine;
  const accept = engine.dialect.groupAccepts?.(engine) ?? ((attempt: Attempt) => acceptOne(engine, attempt));
  return {
    async accept({ callId, attempt, fence, replicaId }) {
      const accepted = await accept({ callId, attempt, fence, replicaId });
      if (accepted?.instance_id == null) return undefined;
      return {
        callId,
        attempt,
        fence,
        instanceId: accepted.instance_id,
        agentId: accepted.agent_id,
        functionName: accepted.function_name,
        arguments: fromJson(accepted.arguments),
        ...callerOf(fromJson(accepted.request)),
        threadId: accepted.thread_id,
        runId: accepted.run_id,
        ...(accepted.attempts && isUnsure({ earlier: fromJson(accepted.attempts) }) && { unsure: true }),
        ...withoutNulls({
          role: accepted.role,
          sessionId: accepted.session_id,
          approval: accepted.state === "waiting" ? await grantedTo(engine, accepted.run_id, callId) : null,
        }),
      };
    },

    withdraw({ callId, attempt }) {
      const unsent = { id: callId, attempt, accepted_by: null, outcome: null, arrived: null };
      return affects(
        engine,
        db
          .updateTable("calls")
          .set({ attempt: attempt + 1 })
          .where(is(unsent)),
      );
    },
  };
}

async function grantedTo(engine: Engine, runId: string, callId: string): Promise<GrantedApproval | undefined> {
  const approval = (await approvalsOf(engine, runId)).find((one) => one.callId === callId);
  return approval && grantOf(approval);
}

/**
 * Results on their way to the run's owner. They are stored before the owner is notified: when the owner dies, the
 * replica that resumes the run finds the result in the row and does not execute the call again.
 */
function results(engine: Engine): Pick<CallStore, "arrive" | "progressed" | "arrivals"> {
  const { db } = engine;
  return {
    async arrive(address, outcome, sentAt) {
      const { attempt } = address;
      const provisional = isProvisional(outcome);
      await db
        .updateTable("calls")
        .set({
          arrived: toJson({ ...(provisional && { provisional: attempt }), ...outcome }),
          ...(sentAt !== undefined && {
            sent_at: sql<number>`case when attempt = ${attempt} then ${sentAt} else sent_at end`,
          }),
        })
        .where(is({ id: address.callId, instance_id: address.instanceId }))
        .$if(provisional, (update) => update.where("attempt", "=", attempt))
        .where(is({ outcome: null, arrived: null }))
        .where((eb) =>
          eb.exists(
            eb
              .selectFrom("runs")
              .select("runs.id")
              .whereRef("runs.id", "=", "calls.run_id")
              .where("runs.agent_id", "=", address.agentId)
              .where(awaits),
          ),
        )
        .execute();
      const call = await findCall(engine, address);
      if (!call) return { over: true };
      const waitsForIt = call.status === "waiting" && call.runs_until !== null;
      // The request is stored, and its result is a repetition: a runtime repeats it until it is acknowledged.
      if (call.status === "waiting" && provisional && !waitsForIt) return { over: true };
      const ended = call.outcome !== null || (call.status !== "running" && !waitsForIt);
      if (!ended && provisional && call.attempt !== attempt) return { over: true };
      if (!ended && call.runs_until !== null) await wakeRun(engine, call.run_id);
      if (!ended) return { over: false, ...withoutNulls({ owner: call.owner }), ...(waitsForIt && { due: true }) };
      if (isLateResult(call, outcome)) await noteLate(engine, call);
      if (outcome.ok || !outcome.stillRuns)
        await db.deleteFrom("permits").where("agent_id", "=", address.agentId).where("call_id", "=", call.id).execute();
      return { over: true };
    },

    async progressed(address, progress) {
      const call = await findCall(engine, address);
      if (!call || call.outcome !== null || !["running", "waiting"].includes(call.status)) return undefined;
      if (progress !== undefined)
        await db
          .updateTable("calls")
          .set({ progress: toJson(progress as NonNullable<JsonValue>) })
          .where(is({ id: call.id, attempt: call.attempt, outcome: null }))
          .execute();
      return call.run_id;
    },

    async arrivals(callIds) {
      const arrived = db
        .selectFrom("calls")
        .select(["id", "arrived"])
        .where("outcome", "is", null)
        .$narrowType<{ arrived: NonNullable<CallRow["arrived"]> }>()
        .where("arrived", "is not", null);
      const rows = await inBatches(callIds, (ids) => arrived.where("id", "in", ids).execute());
      return rows.map((row) => {
        const { provisional: attempt, ...outcome } = fromJson(row.arrived);
        return { callId: row.id, outcome, ...withoutNulls({ attempt }) };
      });
    },
  };
}

/** The run of a call still takes its result. */
const awaits = (eb: ExpressionBuilder<Schema, "calls" | "runs">) =>
  eb.or([
    eb("runs.status", "=", "running"),
    eb.and([eb("runs.status", "=", "waiting"), eb("calls.runs_until", "is not", null)]),
  ]);

/** Stores a step's calls. Locks them in the common transaction order, after their run. */
export async function storeCalls(trx: Engine, run: CallingRun, calls: readonly CallRecord[]): Promise<void> {
  await noteUnusedResults(trx, run, calls);
  const of = { run_id: run.runId, org_id: run.orgId, agent_id: run.agentId, role: run.role ?? null };
  await insertCalls(
    trx,
    calls.map((call) => ({ ...of, ...callRowOf(call) })),
  );
}

/** The sending replica writes `accepted_by`, `arrived` and `late`; a decision's report writes `waited_ms`. */
type NewCallRow = Omit<CallRow, "accepted_by" | "arrived" | "late" | "waited_ms" | "created_at" | "finished_at">;

const insertCalls = insertion((rows: NewCallRow[], { db, dialect: { now } }) => {
  // Only calls with an outcome get an end time.
  const finishedAt = ({ state }: NewCallRow) =>
    sql<number | null>`case when cast(${state} as text) in ('succeeded', 'failed', 'denied') then ${now} end`;
  return db
    .insertInto("calls")
    .values(rows.map((row) => ({ ...row, created_at: now, finished_at: finishedAt(row) })))
    .modifyEnd(REPLACE_CALL);
});

const newAttempt = sql<boolean>`excluded.attempt > calls.attempt`;
/** An outcome's text starts with its members in `arrive` order. */
const isOver = sql<boolean>`${newAttempt} and calls.arrived like '{"provisional":%'`;

/**
 * Ends an insert of calls: existing calls are updated by id. The sending replica changes `accepted_by`, `arrived` and
 * `sent_at` in the same row, so the update keeps them unless the owner starts a newer attempt. `attempt` only grows: a
 * withdrawn attempt has already raised it, and an older attempt's acceptance must not count for a newer one. `sent_at`:
 * the sending replica stores the time with the result; the run's owner may not know it. A provisional `arrived` ends
 * with its attempt.
 */
export const REPLACE_CALL = sql`on conflict (id) do update set
  arguments = excluded.arguments, instance_id = excluded.instance_id,
  attempt = case when ${newAttempt} then excluded.attempt else calls.attempt end,
  accepted_by = case when ${newAttempt} then null else calls.accepted_by end,
  sent_at = case when ${newAttempt} then excluded.sent_at else coalesce(excluded.sent_at, calls.sent_at) end,
  attempts = excluded.attempts, arrived = case when excluded.outcome is null and not coalesce(${isOver}, false) then calls.arrived end,
  outcome = excluded.outcome, state = excluded.state, finished_at = excluded.finished_at,
  runs_until = excluded.runs_until, progress = case when ${newAttempt} then null else calls.progress end
  where calls.run_id = excluded.run_id`;
