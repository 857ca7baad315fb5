import { sql } from "kysely";
import type { RunRecord } from "../ports/records.ts";
import type { RunFacts } from "../ports/run-store.ts";
import { fromJson, present } from "./columns.ts";
import type { RunRow } from "./run-tables.ts";

/** The columns a record is made of: all but the history, which is read by other runs alone. */
export const RUN_COLUMNS = [
  "id",
  "org_id",
  "agent_id",
  "thread_id",
  "session_id",
  "key_id",
  "request_id",
  "role",
  "subject",
  "status",
  "fence",
  "claims",
  "crashes",
  "last_seq",
  "manifest_hash",
  "request",
  "cancel_requested",
  "created_at",
  "started_at",
  "finished_at",
  "deadline_at",
  "result",
] as const satisfies readonly (keyof RunRow)[];

/** How a run ended. The result of an earlier run has the same members, and its calls. */
export const ENDING = sql<RunRow["ending"]>`coalesce(runs.ending, runs.result)`;

export function toRunRecord(row: Pick<RunRow, (typeof RUN_COLUMNS)[number]>): RunRecord {
  return {
    runId: row.id,
    orgId: row.org_id,
    agentId: row.agent_id,
    threadId: row.thread_id,
    keyId: row.key_id,
    status: row.status,
    fence: row.fence,
    request: fromJson(row.request),
    createdAt: row.created_at,
    deadlineAt: row.deadline_at,
    cancelRequested: row.cancel_requested === 1,
    claims: row.claims,
    crashes: row.crashes,
    lastSeq: row.last_seq,
    ...present({
      sessionId: row.session_id,
      requestId: row.request_id,
      role: row.role,
      subject: row.subject,
      manifestHash: row.manifest_hash,
      startedAt: row.started_at,
      finishedAt: row.finished_at,
      result: row.result === null ? null : fromJson(row.result),
    }),
  };
}

/** Columns that say who may see a run and how far it is. */
export const FACT_COLUMNS = [
  "id",
  "agent_id",
  "thread_id",
  "role",
  "status",
  "last_seq",
  "finished_at",
] as const satisfies readonly (keyof RunRow)[];

export function toRunFacts(row: Pick<RunRow, (typeof FACT_COLUMNS)[number]>): RunFacts {
  return {
    runId: row.id,
    agentId: row.agent_id,
    threadId: row.thread_id,
    status: row.status,
    lastSeq: row.last_seq,
    ...present({ role: row.role, finishedAt: row.finished_at }),
  };
}
