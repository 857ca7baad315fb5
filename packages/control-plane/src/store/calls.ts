import type { CallErrorCode, CallOutcome } from "@patchbay/protocol";
import { sql } from "kysely";
import type { CallAddress } from "../ports/function-gateway.ts";
import type { CallRecord } from "../ports/records.ts";
import type { CallStore } from "../ports/run-store.ts";
import { insertAudit } from "./audit.ts";
import { fromJson, present, toJson } from "./columns.ts";
import { idBatches } from "./in-batches.ts";
import type { CallRow } from "./run-tables.ts";
import type { Engine } from "./schema.ts";
import { transact } from "./transact.ts";

/** Calls that one replica asks for and another one sends: each step is one statement, so that whoever comes second changes nothing. */
export function callStore(engine: Engine): CallStore {
  const { db, dialect } = engine;
  return {
    async accept({ callId, attempt, fence, replicaId }) {
      const taken = await db
        .updateTable("calls")
        .set({ accepted_by: replicaId })
        .where("id", "=", callId)
        .where("attempt", "=", attempt)
        .where("accepted_by", "is", null)
        .where("outcome", "is", null)
        .where("arrived", "is", null)
        .where((eb) =>
          eb.exists(
            // Whoever claims the run waits for this, and then sees who took the call.
            dialect.lockShared(
              eb
                .selectFrom("runs")
                .select("runs.id")
                .whereRef("runs.id", "=", "calls.run_id")
                .where("runs.fence", "=", fence)
                .where("runs.status", "=", "running"),
            ),
          ),
        )
        .returning(["run_id", "instance_id", "function_name", "arguments"])
        .executeTakeFirst();
      if (taken?.instance_id == null) return undefined;
      const run = await db
        .selectFrom("runs")
        .select(["agent_id", "thread_id", "session_id", "role", "request"])
        .where("id", "=", taken.run_id)
        .executeTakeFirst();
      if (!run) return undefined;
      return {
        callId,
        attempt,
        fence,
        instanceId: taken.instance_id,
        agentId: run.agent_id,
        functionName: taken.function_name,
        arguments: fromJson(taken.arguments),
        context: fromJson(run.request).context,
        threadId: run.thread_id,
        runId: taken.run_id,
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
      if (isNews(call, outcome)) await noteLate(engine, call);
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

/** The call with its run, where it is one of that runtime. */
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

/** False for a result that is only sent again: a runtime does so until it knows that the first one is stored. */
function isNews({ outcome, late }: FoundCall, answer: CallOutcome): boolean {
  if (late === 1) return false;
  if (outcome === null) return true;
  const stored = endOf(fromJson(outcome));
  return stored !== endOf(answer) && stored !== "result_too_large";
}

const endOf = (outcome: CallOutcome): string => (outcome.ok ? "ok" : outcome.code);

/** Ends of calls whose runtime may have answered after all. */
const GIVEN_UP: ReadonlySet<string> = new Set<CallErrorCode>(["outcome_unknown", "timed_out", "cancelled"]);

/** Says of calls that are given up at the very moment in which their answer is there that it was not taken. */
export async function noteUntaken(
  trx: Engine,
  run: { runId: string; orgId: string; agentId: string; keyId: string; role?: string },
  calls: readonly CallRecord[],
): Promise<void> {
  const givenUp = calls.filter(({ outcome }) => outcome && !outcome.ok && GIVEN_UP.has(outcome.code));
  if (givenUp.length === 0) return;
  // Locks the rows whether or not an answer is there: one that comes now waits, and finds the call given up.
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

/** The call was given up, and its runtime answered after all: said once, without the answer. */
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
