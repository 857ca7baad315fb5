import { type CallOutcome, type GrantedApproval, isProvisional } from "@patchbay/protocol";
import { type RawBuilder, sql } from "kysely";
import { grantOf } from "../ports/approvals.ts";
import { type CallRecord, isUnsure } from "../ports/records.ts";
import { refusalOf } from "../ports/refusal.ts";
import type { ArrivedOutcome, CallStore } from "../ports/call-store.ts";
import { approvalsOf } from "./approvals.ts";
import { fromJson, idBatches, withoutNulls, toJson } from "./columns.ts";
import type { AcceptedInGroup, Engine } from "./engine.ts";
import { type CallingRun, findCall, isLateResult, noteLate, noteUnusedResults } from "./late-calls.ts";
import type { CallRow } from "./run-record.ts";
import { insertion, statement } from "./statement.ts";

/**
 * Calls that one replica assigns and another replica, which has the runtime's connection, sends. The call's row decides
 * between them: each transition is one `update … where` the expected state, so of two replicas only the first succeeds.
 */
export function callStore(engine: Engine): Omit<CallStore, "recordError"> {
  return { ...assignments(engine), ...results(engine) };
}

type Attempt = Parameters<CallStore["accept"]>[0];

const acceptOpen = statement((p: Attempt, { db, dialect }) =>
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
    .returning(["run_id", "instance_id", "function_name", "arguments", "attempts", "state"]),
);
const runOfCall = statement((p: { runId: string }, { db }) =>
  db.selectFrom("runs").select(["agent_id", "thread_id", "session_id", "role", "request"]).where("id", "=", p.runId),
);

async function acceptOne(engine: Engine, attempt: Attempt): Promise<AcceptedInGroup | undefined> {
  const [accepted] = await acceptOpen(engine, attempt);
  const [run] = accepted ? await runOfCall(engine, { runId: accepted.run_id }) : [];
  return accepted && run && { ...accepted, ...run };
}

/**
 * The start of an attempt. `accept` by the sending replica and `withdraw` by the assigning one exclude each other: either the
 * call is sent, or the assigning replica knows that it never will be and may choose another runtime.
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
        context: fromJson(accepted.request).context,
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

async function grantedTo(engine: Engine, runId: string, callId: string): Promise<GrantedApproval | undefined> {
  const approval = (await approvalsOf(engine, runId)).find((one) => one.callId === callId);
  return approval && grantOf(approval);
}

/**
 * Results on their way to the run's owner. They are stored before the owner is notified: when the owner dies, the replica that
 * resumes the run finds the result in the row and does not execute the call again.
 */
function results(engine: Engine): Pick<CallStore, "arrive" | "arrivals"> {
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
        .where("id", "=", address.callId)
        .where("instance_id", "=", address.instanceId)
        .$if(provisional, (update) => update.where("attempt", "=", attempt))
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
      // The request is stored, and its result repeated: a runtime does so until it is acknowledged.
      if (call.status === "waiting" && provisional) return { over: true };
      const ended = call.outcome !== null || call.status !== "running";
      if (!ended && provisional && call.attempt !== attempt) return { over: true };
      if (!ended) return { over: false, ...withoutNulls({ owner: call.owner }) };
      if (isLateResult(call, outcome)) await noteLate(engine, call);
      if (outcome.ok || !outcome.stillRuns)
        await db.deleteFrom("permits").where("agent_id", "=", address.agentId).where("call_id", "=", call.id).execute();
      return { over: true };
    },

    async arrivals(callIds) {
      const found: ArrivedOutcome[] = [];
      for (const ids of idBatches(callIds)) {
        const rows = await db
          .selectFrom("calls")
          .select(["id", "arrived"])
          .where("id", "in", ids)
          .where("outcome", "is", null)
          .$narrowType<{ arrived: NonNullable<CallRow["arrived"]> }>()
          .where("arrived", "is not", null)
          .execute();
        for (const { id, arrived } of rows) {
          const { provisional: attempt, ...outcome } = fromJson(arrived);
          found.push({ callId: id, outcome, ...withoutNulls({ attempt }) });
        }
      }
      return found;
    },
  };
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
    state: call.outcome ? stateOf(call.outcome) : call.approval ? ("waiting" as const) : null,
  };
}

/** The outcome in one word, for the indexes of lists and figures. */
function stateOf(outcome: CallOutcome): "succeeded" | "failed" | "denied" {
  if (outcome.ok) return "succeeded";
  return refusalOf(outcome) === undefined ? "failed" : "denied";
}

/** `accepted_by`, `arrived` and `late` belong to the replica that sends the call, `waited_ms` to the report of a decision. */
type NewCallRow = Omit<CallRow, "accepted_by" | "arrived" | "late" | "waited_ms" | "created_at" | "finished_at">;

const openCallRows = insertion((rows: NewCallRow[], engine) => callRows(engine, rows, null));
const endedCallRows = insertion((rows: NewCallRow[], engine) => callRows(engine, rows, engine.dialect.now));

function callRows({ db, dialect }: Engine, rows: NewCallRow[], finishedAt: RawBuilder<number> | null) {
  return db
    .insertInto("calls")
    .values(rows.map((row) => ({ ...row, created_at: dialect.now, finished_at: finishedAt })))
    .modifyEnd(REPLACE_CALL);
}

const newAttempt = sql<boolean>`excluded.attempt > calls.attempt`;
/** An outcome begins with its members in the order of `arrive`. */
const isOver = sql<boolean>`${newAttempt} and calls.arrived like '{"provisional":%'`;

/**
 * Ends an insert of calls: calls that exist are updated by id. The sending replica changes `accepted_by`, `arrived` and `sent_at`
 * of the same row, so the update keeps them unless the owner begins a newer attempt. `attempt` only grows: a withdrawn attempt has
 * already raised it, and the acceptance of an older attempt must not count for a newer one. `sent_at`: the replica that sent the
 * call stores the time with the result; the run's owner may not know it. A provisional `arrived` ends with its attempt.
 */
export const REPLACE_CALL = sql`on conflict (id) do update set
  arguments = excluded.arguments, instance_id = excluded.instance_id,
  attempt = case when ${newAttempt} then excluded.attempt else calls.attempt end,
  accepted_by = case when ${newAttempt} then null else calls.accepted_by end,
  sent_at = case when ${newAttempt} then excluded.sent_at else coalesce(excluded.sent_at, calls.sent_at) end,
  attempts = excluded.attempts, arrived = case when excluded.outcome is null and not coalesce(${isOver}, false) then calls.arrived end,
  outcome = excluded.outcome, state = excluded.state, finished_at = excluded.finished_at
  where calls.run_id = excluded.run_id`;
