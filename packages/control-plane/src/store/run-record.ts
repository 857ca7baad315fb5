import type { Generated, Selectable } from "kysely";
import type {
  EarlierAttempt,
  RunEnding,
  RunKind,
  RunRecord,
  RunRequest,
  RunTrace,
  TurnTiming,
} from "../ports/records.ts";
import type { RunFacts } from "../ports/run-store.ts";
import { fromJson, type Json, withoutNulls } from "./columns.ts";
import type { CallOutcome, JsonValue, QueryResponse, RunStatus } from "@patchbay/protocol";
import type { Message } from "../ports/model-provider.ts";

/** One query. Times are milliseconds of the database's clock. */
export interface RunRow {
  id: string;
  org_id: string;
  agent_id: string;
  thread_id: string;
  /** 1, 2, 3 … within the thread, the order in which its runs execute. */
  position: number;
  session_id: string | null;
  key_id: string;
  role: string | null;
  subject: string | null;
  kind: RunKind;
  status: RunStatus;
  owner: string | null;
  fence: number;
  lease_until: number | null;
  claims: number;
  crashes: number;
  last_seq: number;
  manifest_hash: string | null;
  request: Json<RunRequest>;
  cancel_requested: number;
  created_at: number;
  started_at: number | null;
  /** Null while the run is queued or running. The partial indexes of open runs use it, so queries for open runs must name it. */
  finished_at: number | null;
  deadline_at: number;
  result: Json<QueryResponse> | null;
  /** The result without its function calls, which may be megabytes. */
  ending: Json<RunEnding> | null;
  history: Json<Message[]> | null;
  /**
   * Bytes of `history` of the thread's runs of the same role and subject, up to and including this run. Still counts runs that
   * were deleted since.
   */
  history_total: number | null;
  /** Milliseconds that a waiting run had left until its deadline. */
  remaining_ms: number | null;
  /** When a waiting run is due: at the first expiry of its approvals, or at once. Null for every other run. */
  wake_at: number | null;
  /** Since when a waiting run waits. Null for every other run. */
  waits_since: number | null;
  /** Milliseconds that the run has waited for people; null for none. */
  waited_ms: number | null;
  /** Id of the request that started the run. */
  request_id: string | null;
  /** Null when the run began without tracing. */
  trace: Json<RunTrace> | null;
  /** The turn that was requested from the model when the run ended. */
  unanswered: Json<TurnTiming> | null;
  /** The name under which a later request of its client takes the run; null for every other run. */
  left_as: string | null;
}

/** A row of `calls`. */
export type CallRow = Selectable<CallTable>;

/** One function call of a run. */
export interface CallTable {
  id: string;
  run_id: string;
  org_id: string;
  agent_id: string | null;
  role: string | null;
  step: number;
  position: number;
  model_call_id: string;
  function_name: string;
  arguments: Json<JsonValue>;
  instance_id: string | null;
  attempt: number;
  /** When this attempt was sent. Known from the answer, so null until then. */
  sent_at: number | null;
  /** Earlier attempts; null for the first. */
  attempts: Json<EarlierAttempt[]> | null;
  /** The replica that accepted this attempt and sends it. */
  accepted_by: string | null;
  outcome: Json<CallOutcome> | null;
  /** The runtime's result, until the run's owner stores it as the outcome. */
  /** `provisional`: the attempt that a provisional outcome ends. */
  arrived: Json<CallOutcome & { provisional?: number }> | null;
  /** Null without an outcome. `waiting`: asked for an approval. `denied`: refused by a role list, `authorize` or validation. `failed`: any other error. */
  state: "succeeded" | "failed" | "denied" | "waiting" | null;
  /** 1 when the audit log has an entry that a result arrived after the call was given up. */
  late: Generated<number>;
  /** Milliseconds that the call has waited for a person; null for none. */
  waited_ms: Generated<number | null>;
  created_at: number;
  finished_at: number | null;
}

/** The columns of a `RunRecord`. Without `history`, which may be large and only later runs read. */
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
  "kind",
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
  "waited_ms",
  "trace",
  "result",
] as const satisfies readonly (keyof RunRow)[];

export function toRunRecord(row: Pick<RunRow, (typeof RUN_COLUMNS)[number]>): RunRecord {
  return {
    runId: row.id,
    orgId: row.org_id,
    agentId: row.agent_id,
    threadId: row.thread_id,
    keyId: row.key_id,
    kind: row.kind,
    status: row.status,
    fence: row.fence,
    request: fromJson(row.request),
    createdAt: row.created_at,
    deadlineAt: row.deadline_at,
    cancelRequested: row.cancel_requested === 1,
    claims: row.claims,
    crashes: row.crashes,
    lastSeq: row.last_seq,
    ...withoutNulls({
      sessionId: row.session_id,
      requestId: row.request_id,
      role: row.role,
      subject: row.subject,
      manifestHash: row.manifest_hash,
      startedAt: row.started_at,
      finishedAt: row.finished_at,
      waitedMs: row.waited_ms,
      trace: row.trace === null ? null : fromJson(row.trace),
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
    ...withoutNulls({ role: row.role, finishedAt: row.finished_at }),
  };
}
