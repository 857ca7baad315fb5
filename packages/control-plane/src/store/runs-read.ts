import type { QueryResponse } from "@patchbay/protocol";
import type { CallRecord, TurnRecord } from "../ports/records.ts";
import type { RunHead, RunStore } from "../ports/run-store.ts";
import { fromJson, idBatches, withoutNulls } from "./columns.ts";
import type { Engine } from "./engine.ts";
import { approvalsOf } from "./approvals.ts";
import { readHistory } from "./history.ts";
import { type CallRow, FACT_COLUMNS, RUN_COLUMNS, toRunFacts, toRunRecord } from "./run-record.ts";
import { startedBy } from "./run-requests.ts";
import type { Schema } from "./schema.ts";
import { statement } from "./statement.ts";

/** Reads of runs, their logs and their state. */
export function runReads(engine: Engine) {
  return { ...runRecords(engine), ...runProgress(engine) };
}

function runRecords(
  engine: Engine,
): Pick<RunStore, "get" | "facts" | "events" | "history" | "list" | "ofRequest" | "openCounts"> {
  return {
    async get(agentId, runId) {
      const [row] = await runById(engine, { agentId, runId });
      if (!row) return undefined;
      const run = toRunRecord(row);
      if (row.status !== "succeeded" || run.result || row.ending === null) return run;
      const [last] = await eventsAfter(engine, { runId, after: row.last_seq - 1, limit: 1 });
      if (!last) return run;
      const { toolInteractions } = JSON.parse(last.body) as Pick<QueryResponse, "toolInteractions">;
      // The calls of a successful run are stored only in its last event.
      return { ...run, result: { ...fromJson(row.ending), toolInteractions } };
    },

    async facts(agentId, runId) {
      const [row] = await factsById(engine, { agentId, runId });
      return row && toRunFacts(row);
    },

    events: (runId, after, limit) => eventsAfter(engine, { runId, after, limit }),
    history: (threadId, scope) => readHistory(engine, { threadId, ...scope }),

    async list(agentId, { limit }) {
      const rows = await engine.db
        .selectFrom("runs")
        .select(RUN_COLUMNS)
        .where("agent_id", "=", agentId)
        .orderBy("created_at", "desc")
        .orderBy("id", "desc")
        .limit(limit)
        .execute();
      return rows.map(toRunRecord);
    },

    async openCounts() {
      const rows = await engine.reads
        .selectFrom("runs")
        .select(["status", ({ fn }) => fn.countAll<number>().as("count")])
        .where("finished_at", "is", null)
        .groupBy("status")
        .execute();
      return { queued: 0, running: 0, waiting: 0, ...Object.fromEntries(rows.map((row) => [row.status, row.count])) };
    },

    async ofRequest(requestId, { limit, agentId }) {
      const rows = await engine.db
        .selectFrom("runs")
        .select(RUN_COLUMNS)
        .where("id", "in", startedBy(requestId, { agentId }, engine))
        .$if(agentId !== undefined, (some) => some.where("agent_id", "=", agentId!))
        .orderBy("created_at", "desc")
        .orderBy("id", "desc")
        .limit(limit)
        .execute();
      return rows.map(toRunRecord);
    },
  };
}

/** What a replica needs to resume a run, and what followers need to see that a run has advanced. */
function runProgress(engine: Engine): Pick<RunStore, "checkpoint" | "outline" | "heads" | "active"> {
  const { db } = engine;
  return {
    async checkpoint(runId) {
      const run = await db.selectFrom("runs").select("last_seq").where("id", "=", runId).executeTakeFirst();
      const turns = await turnsOf(engine, runId);
      const calls = await db
        .selectFrom("calls")
        .selectAll()
        .where("run_id", "=", runId)
        .orderBy("step")
        .orderBy("position")
        .execute();
      const waits = calls.some(({ state }) => state === "waiting");
      const approvals = new Map((waits ? await approvalsOf(engine, runId) : []).map((one) => [one.callId, one]));
      return {
        turns: turns.map(toTurnRecord),
        calls: calls.map((call) => ({ ...toCallRecord(call), ...withoutNulls({ approval: approvals.get(call.id) }) })),
        lastSeq: run?.last_seq ?? 0,
      };
    },

    async outline(runId) {
      const turns = await db
        .selectFrom("usage")
        .select([...SPENDING_COLUMNS, "provider", "model"])
        .where("run_id", "=", runId)
        .orderBy("step")
        .execute();
      const { calls } = await db
        .selectFrom("calls")
        .select((eb) => eb.fn.countAll<number>().as("calls"))
        .where("run_id", "=", runId)
        .executeTakeFirstOrThrow();
      return { turns: turns.map((row) => ({ ...spendingOf(row), messages: [], warnings: [] })), calls };
    },

    async heads(runIds) {
      const heads: RunHead[] = [];
      for (const ids of idBatches(runIds)) {
        const rows = await db
          .selectFrom("runs")
          .select(["id", "last_seq", "status", "finished_at"])
          .where("id", "in", ids)
          .execute();
        for (const { id, last_seq: lastSeq, status, finished_at } of rows)
          heads.push({ runId: id, lastSeq, waits: status === "waiting", ended: finished_at !== null });
      }
      return heads;
    },

    async active(threadId) {
      const rows = await db
        .selectFrom("runs")
        .select("id")
        .where("thread_id", "=", threadId)
        .where("finished_at", "is", null)
        .where("status", "in", ["queued", "running", "waiting"])
        .orderBy("position")
        .execute();
      return rows.map(({ id }) => id);
    },
  };
}

const runById = statement((p: { agentId: string; runId: string }, { db }) =>
  db
    .selectFrom("runs")
    .select([...RUN_COLUMNS, "ending"])
    .where("id", "=", p.runId)
    .where("agent_id", "=", p.agentId),
);

const factsById = statement((p: { agentId: string; runId: string }, { db }) =>
  db.selectFrom("runs").select(FACT_COLUMNS).where("id", "=", p.runId).where("agent_id", "=", p.agentId),
);

const eventsAfter = statement((p: { runId: string; after: number; limit: number }, { db }) =>
  db
    .selectFrom("run_events")
    .select(["seq", "body"])
    .where("run_id", "=", p.runId)
    .where("seq", ">", p.after)
    .orderBy("seq")
    .limit(p.limit),
);

/** The stored turns of a run, with the provider and model that answered each. */
export const turnsOf = ({ db }: Pick<Engine, "db">, runId: string) =>
  db
    .selectFrom("turns")
    .innerJoin("usage", (join) =>
      join.onRef("usage.run_id", "=", "turns.run_id").onRef("usage.step", "=", "turns.step"),
    )
    .selectAll("turns")
    .select(["usage.provider", "usage.model", "usage.first_token_ms"])
    .where("turns.run_id", "=", runId)
    .orderBy("turns.step")
    .execute();

export function toTurnRecord(row: Awaited<ReturnType<typeof turnsOf>>[number]): TurnRecord {
  return { ...spendingOf(row), messages: fromJson(row.messages), warnings: fromJson(row.warnings) };
}

const SPENDING_COLUMNS = [
  "step",
  "input_tokens",
  "cached_input_tokens",
  "cache_write_input_tokens",
  "output_tokens",
  "cost_micros",
] as const satisfies readonly (keyof Schema["turns"])[];

type SpendingRow = Pick<Schema["turns"], (typeof SPENDING_COLUMNS)[number]> &
  Pick<Schema["usage"], "provider" | "model">;

function spendingOf(row: SpendingRow): Omit<TurnRecord, "messages" | "warnings"> {
  return {
    step: row.step,
    provider: row.provider,
    model: row.model,
    usage: {
      input: row.input_tokens,
      cachedInput: row.cached_input_tokens,
      cacheWriteInput: row.cache_write_input_tokens,
      output: row.output_tokens,
    },
    costMicros: row.cost_micros,
  };
}

/** The columns of a `CallRecord`. Without `arrived`, which may be as large as `outcome`. */
export const CALL_COLUMNS = [
  "id",
  "step",
  "position",
  "model_call_id",
  "function_name",
  "arguments",
  "instance_id",
  "attempt",
  "sent_at",
  "attempts",
  "outcome",
  "created_at",
  "finished_at",
] as const satisfies readonly (keyof CallRow)[];

export function toCallRecord(row: Pick<CallRow, (typeof CALL_COLUMNS)[number]>): CallRecord {
  return {
    callId: row.id,
    step: row.step,
    position: row.position,
    modelCallId: row.model_call_id,
    functionName: row.function_name,
    arguments: fromJson(row.arguments),
    attempt: row.attempt,
    ...withoutNulls({
      instanceId: row.instance_id,
      sentAt: row.sent_at,
      earlier: row.attempts === null ? null : fromJson(row.attempts),
      outcome: row.outcome === null ? null : fromJson(row.outcome),
    }),
  };
}
