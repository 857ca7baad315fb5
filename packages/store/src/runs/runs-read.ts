import { present } from "@patchbay/kit";
import { sql } from "kysely";
import type { QueryResponse } from "@patchbay/protocol";
import type { RunHead, RunStore } from "@patchbay/engine/ports/store/run-store";
import { fromJson, inBatches, withoutNulls } from "../columns.ts";
import type { Engine } from "../engine.ts";
import { approvalsOf } from "../calls/approvals.ts";
import { newestFirst } from "../page-cursor.ts";
import { readHistory } from "./history.ts";
import { startedBy } from "./run-requests.ts";
import { is, statement } from "../statement.ts";
import { inQuarantine } from "./suspects.ts";
import { callColumns } from "../tables/calls.ts";
import { factColumns, runColumns } from "../tables/runs.ts";
import { answerColumns, answerOf, turnOf } from "../tables/turns.ts";

/** Reads runs, their logs and their state. */
export function runReads(engine: Engine) {
  return { ...runRecords(engine), ...runProgress(engine) };
}

function runRecords(engine: Engine) {
  const newest = newestFirst(engine.db.selectFrom("runs").select(runColumns.names));
  return {
    async get(agentId, runId) {
      const [row] = await runById(engine, { agentId, runId });
      if (!row) return undefined;
      const run = runColumns.recordOf(row);
      if (row.status !== "succeeded" || run.result || row.ending === null) return run;
      const [last] = await eventsAfter(engine, { runId, after: row.last_seq - 1, limit: 1 });
      if (!last) return run;
      const { toolInteractions } = JSON.parse(last.body) as Pick<QueryResponse, "toolInteractions">;
      // A successful run's calls are stored only in its last event.
      return { ...run, result: { ...fromJson(row.ending), toolInteractions } };
    },

    async facts(agentId, runId) {
      const [row] = await factsById(engine, { agentId, runId });
      return row && factColumns.recordOf(row);
    },

    events: (runId, after, limit) => eventsAfter(engine, { runId, after, limit }),
    history: (threadId, scope) => readHistory(engine, { threadId, ...scope }),

    async list(agentId, { limit }) {
      const rows = await newest.where("agent_id", "=", agentId).limit(limit).execute();
      return rows.map(runColumns.recordOf);
    },

    async openCounts() {
      const rows = await engine.reads
        .selectFrom("runs")
        .select(["status", ({ fn }) => fn.countAll<number>().as("count"), inQuarantine.as("quarantined")])
        .where("finished_at", "is", null)
        .groupBy("status")
        .execute();
      const counts = { queued: 0, running: 0, waiting: 0, quarantined: 0 };
      for (const { status, count, quarantined } of rows) {
        Object.assign(counts, { [status]: count });
        counts.quarantined += quarantined;
      }
      return counts;
    },

    async ofRequest(requestId, { limit, agentId }) {
      const rows = await newest
        .where("id", "in", startedBy(requestId, { agentId }, engine))
        .where(is(present({ agent_id: agentId })))
        .limit(limit)
        .execute();
      return rows.map(runColumns.recordOf);
    },
  } satisfies Partial<RunStore>;
}

/** What a replica needs to resume a run, and what followers need to see that a run has advanced. */
function runProgress(engine: Engine) {
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
        turns: turns.map(turnOf),
        calls: calls.map((call) => ({
          ...callColumns.recordOf(call),
          ...withoutNulls({ approval: approvals.get(call.id) }),
        })),
        lastSeq: run?.last_seq ?? 0,
      };
    },

    async outline(runId) {
      const turns = await db
        .selectFrom("usage")
        .select(answerColumns.names)
        .where("run_id", "=", runId)
        .orderBy("step")
        .execute();
      const { calls } = await db
        .selectFrom("calls")
        .select((eb) => eb.fn.countAll<number>().as("calls"))
        .where("run_id", "=", runId)
        .executeTakeFirstOrThrow();
      return { turns: turns.map((row) => ({ ...answerOf(row), messages: [], warnings: [] })), calls };
    },

    async heads(runIds) {
      const runs = db
        .selectFrom("runs")
        .select(["id as runId", "last_seq as lastSeq", "finished_at", waitsFor.as("waitsFor")]);
      const rows = await inBatches(runIds, (ids) => runs.where("id", "in", ids).execute());
      return rows.map(({ runId, lastSeq, waitsFor, finished_at }) => ({
        runId,
        lastSeq,
        ended: finished_at !== null,
        ...withoutNulls({ waitsFor }),
      }));
    },

    async active(threadId) {
      const rows = await db
        .selectFrom("runs")
        .select("id")
        .where(is({ thread_id: threadId, finished_at: null }))
        .where("status", "in", ["queued", "running", "waiting"])
        .orderBy("position")
        .execute();
      return rows.map(({ id }) => id);
    },
  } satisfies Partial<RunStore>;
}

const waitsFor = sql<RunHead["waitsFor"] | null>`case when runs.status = 'waiting' then
  case when exists (select 1 from approvals where approvals.run_id = runs.id and approvals.status = 'pending')
  then 'approval' else 'function' end end`;

const runById = statement((p: { agentId: string; runId: string }, { db }) =>
  db
    .selectFrom("runs")
    .select([...runColumns.names, "ending"])
    .where(is({ id: p.runId, agent_id: p.agentId })),
);

const factsById = statement((p: { agentId: string; runId: string }, { db }) =>
  db.selectFrom("runs").select(factColumns.names).where("id", "=", p.runId).where("agent_id", "=", p.agentId),
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

/** A run's stored turns, with the provider and model that answered each. */
export const turnsOf = ({ db }: Pick<Engine, "db">, runId: string) =>
  db
    .selectFrom("turns")
    .innerJoin("usage", (join) =>
      join.onRef("usage.run_id", "=", "turns.run_id").onRef("usage.step", "=", "turns.step"),
    )
    .selectAll("turns")
    .select(["usage.provider", "usage.model", "usage.first_token_ms", "usage.reasoning_tokens"])
    .where("turns.run_id", "=", runId)
    .orderBy("turns.step")
    .execute();
