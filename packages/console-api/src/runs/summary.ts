import type { InferResult } from "kysely";
import { isoTime, isoTimeOrNull } from "@patchbay/kit";
import type { RunSummary } from "@patchbay/protocol/console";
import { fromJson } from "@patchbay/store/columns";
import type { Engine } from "@patchbay/store/engine";
import { durationOf, type Figures, figuresOf, sourceOf } from "@patchbay/store/runs/run-facts";
import { beginningOf } from "@patchbay/store/threads/thread-roles";

const QUERY_UNITS = 200;
/** Micro-USD per dollar. */
export const MICROS = 1_000_000;

/** A summary's columns. The ending is read only for failed or cancelled runs. */
export function summarised({ db, dialect }: Engine) {
  return db
    .selectFrom("runs")
    .select(["runs.id", "runs.agent_id", "runs.thread_id", "runs.position", "runs.session_id", "runs.key_id"])
    .select(["runs.role", "runs.kind", "runs.status", "runs.request", "runs.created_at", "runs.started_at"])
    .select(["runs.finished_at", "runs.waits_since", "runs.waited_ms", dialect.now.as("now")])
    .select((eb) =>
      eb.case().when("runs.status", "in", ["failed", "cancelled"]).then(eb.ref("runs.ending")).end().as("failure"),
    );
}

type SummarisedRun = InferResult<ReturnType<typeof summarised>>[number];

/** Adds call and turn figures, which are read for all rows together. */
export async function toSummaries(engine: Engine, rows: readonly SummarisedRun[]): Promise<RunSummary[]> {
  const figures = await figuresOf(
    engine,
    rows.map(({ id }) => id),
  );
  const waiting = rows.filter(({ status }) => status === "waiting").map(({ id }) => id);
  const calls = waiting.length === 0 ? [] : await openCalls(engine, waiting).execute();
  const open = Map.groupBy(calls, ({ run_id: id }) => id);
  return rows.map((row) => toSummary(row, figures.get(row.id)!, open.get(row.id) ?? []));
}

type OpenCall = InferResult<ReturnType<typeof openCalls>>[number];

const openCalls = ({ db }: Engine, runIds: readonly string[]) =>
  db
    .selectFrom("calls")
    .select(["run_id", "function_name", "sent_at", "runs_until"])
    .where("run_id", "in", runIds)
    .where("outcome", "is", null)
    .orderBy("position");

/** Calls that a person has to decide come first: until then, the run waits for that person. */
const waitsFor = (calls: readonly OpenCall[]): RunSummary["waitsFor"] =>
  calls.some(({ runs_until: until }) => until === null)
    ? []
    : calls.map(({ function_name: functionName, sent_at: at }) => ({ functionName, since: isoTime(at ?? 0) }));

function toSummary(row: SummarisedRun, figures: Figures, open: readonly OpenCall[]): RunSummary {
  const { query, provider, model } = fromJson(row.request);
  return {
    runId: row.id,
    agentId: row.agent_id,
    threadId: row.thread_id,
    sessionId: row.session_id,
    source: sourceOf(row.key_id, row.kind),
    keyId: row.key_id,
    status: row.status,
    waitsFor: waitsFor(open),
    code: (row.failure && fromJson(row.failure).code) ?? null,
    role: row.role,
    query: shownQuery(query),
    provider,
    model,
    createdAt: isoTime(row.created_at),
    startedAt: isoTimeOrNull(row.started_at),
    finishedAt: isoTimeOrNull(row.finished_at),
    durationMs: durationOf(row, row.now),
    calls: figures.calls,
    failedCalls: figures.failed_calls,
    deniedCalls: figures.denied_calls,
    inputTokens: figures.input_tokens,
    outputTokens: figures.output_tokens,
    costUsd: figures.cost_micros / MICROS,
  };
}

/** The part of a query that lists show. */
export const shownQuery = (query: string): string => beginningOf(query, QUERY_UNITS);
