import {
  type CallOutcome,
  type AgentSettings,
  LIMITS,
  type QueryResponse,
  type RunStatus,
  type TraceContext,
} from "@patchbay/protocol";
import { type JsonObject, type JsonValue } from "@patchbay/kit";
import type { Caller } from "./callers.ts";
import type { ApprovalRecord } from "./store/approvals.ts";
import type { Message, ModelErrorKind, ModelRequest, TokenUsage } from "./model-provider.ts";

/** A direct call: a function call without a model, made by a member by hand or by an MCP client. */
export interface TestCall {
  functionName: string;
  arguments: JsonObject;
}

/** The id that a client has given a thread. Unique within its scope, which names the client, per agent. */
export interface ThreadKey {
  scope: string;
  /** The client's scope in an earlier version; its threads are found too. */
  formerScope?: string;
  id: string;
}

/** A text that a client sent next to its query. The model receives it as data. */
export interface QuotedText {
  /** `system`: from the client's application; the others: earlier messages, as the client has them. */
  from: "system" | "user" | "assistant";
  text: string;
}

/** A run's request, the same from its first turn to its last. */
export interface RunRequest extends Caller, Pick<ModelRequest, "reasoning">, Pick<AgentSettings, "flows"> {
  query: string;
  /** In the client's order. Later runs in the thread do not receive them. */
  quoted?: readonly QuotedText[];
  /** The context that the model sees. */
  modelContext?: JsonValue;
  analysisMode: boolean;
  provider: string;
  model: string;
  maxTokens: number;
  temperature?: number;
  /** Turns with function calls before the model must answer. Default `LIMITS.steps`. */
  steps?: number;
  /** Models to ask, in this order, when the one before fails. */
  fallback?: readonly ({ provider: string; model: string } & Pick<ModelRequest, "reasoning">)[];
  /** Maximum tokens from earlier runs in a request. Default: half the model's context window. */
  historyTokens?: number;
  /** The JSON Schema that the answer must meet. */
  responseSchema?: JsonObject;
  /** The run's cost cap in micro-USD. */
  maxCostMicros?: number;
  /** What a member sent in place of the agent's instructions; part of `system`. */
  instructions?: string;
  system: string;
  /** False for organisations that are not charged, such as the sandbox tier's. */
  charged: boolean;
  warnings: string[];
  /** The key's label when the query arrived, for the run's log line. */
  keyLabel?: string;
  /** The `sub` in the token that proved its caller. */
  provenSubject?: string;
  /** The salt of its digests in the audit log. */
  auditSalt?: string;
  /** The query had no role: `role` is the service's default role, if any. */
  roleByDefault?: true;
  /** The client asked to cancel the run when its last reader disconnects. */
  cancelWhenGone?: true;
  /** The client can resume its stream. Any other one has its answer when the run waits or its process shuts down. */
  resumable?: true;
  /** True if the run's end is reported to its agent's webhook. */
  reported?: true;
  /** A background task from a chat client: it has no functions. */
  task?: true;
  /** The call that a direct call makes; the run then has no model. */
  testCall?: TestCall;
  /** Set for a retry. */
  retryOf?: RetryOrigin;
  /** The run that this one repeats. Both have the same history: the thread's runs before a given run. */
  rerunOf?: { runId: string; history: { threadId: string; before: string } };
}

/** Where a retry begins. */
export interface RetryOrigin {
  /** The failed run that was to be retried. */
  runId: string;
  /**
   * The runs whose turns and calls come first in this run, oldest first: the first failed run, and its failed retries.
   * They are adjacent in the thread, and the model never gets one of them as an earlier run.
   */
  continues: readonly string[];
  /** One of them ended with `crash_loop`. */
  afterCrashLoop?: true;
}

/** Turns with function calls after which a run's model must answer. */
export const maxTurnsOf = ({ steps = LIMITS.steps }: Pick<RunRequest, "steps">): number => steps;

/** What a run is: a query, one direct call, or a chat client's background task. Thread lists show only queries. */
export type RunKind = "query" | "call" | "task";

/** Where a run's spans belong. Stored with the run: its next segment, at any replica, continues the trace. */
export interface RunTrace {
  /** Each segment's parent: the client's span, or for a query without one the first segment. */
  parent: TraceContext;
  /** The newest segment. It has no exported span if its process was killed. */
  segment: TraceContext;
  /** The agent's name when the query was accepted. */
  agentName?: string;
}

/** One query, from its acceptance to its last event. Times are milliseconds by the database's clock. */
export interface RunRecord {
  runId: string;
  orgId: string;
  agentId: string;
  threadId: string;
  sessionId?: string;
  /** The query's API key or access token. */
  keyId: string;
  /** Id of the request that started the run. */
  requestId?: string;
  role?: string;
  /** The identity that the services made from the context, if any did. */
  subject?: string;
  /** Its proven caller's first id. */
  callerId?: string;
  kind: RunKind;
  status: RunStatus;
  /** Grows with each claim. The store rejects writes with an older fence: they come from a former owner. */
  fence: number;
  manifestHash?: string;
  request: RunRequest;
  createdAt: number;
  startedAt?: number;
  finishedAt?: number;
  deadlineAt: number;
  /** Milliseconds spent waiting for people and detached functions. */
  waitedMs?: number;
  /** Absent when the run began without tracing. */
  trace?: RunTrace;
  cancelRequested: boolean;
  /** How often a lease on it expired: its process crashed or froze while it worked on the run. */
  crashes: number;
  /** Claims in quarantine since a process last survived the run. */
  claims: number;
  /** The newest stored event's `seq`; 0 before the first. */
  lastSeq: number;
  result?: QueryResponse;
}

/** Members that the request sets. */
export const ACCEPTED = [
  "runId",
  "orgId",
  "agentId",
  "threadId",
  "sessionId",
  "keyId",
  "requestId",
  "trace",
  "role",
  "subject",
  "callerId",
  "kind",
  "manifestHash",
  "request",
] as const satisfies readonly (keyof RunRecord)[];
/** A run as its request describes it. */
export type AcceptedRun = Pick<RunRecord, (typeof ACCEPTED)[number]>;

/** What decides who may see a run, and its progress. */
export type RunFacts = Pick<
  RunRecord,
  "runId" | "agentId" | "threadId" | "role" | "callerId" | "status" | "lastSeq" | "finishedAt"
>;

/** A run's result without its function calls, which can be megabytes. */
export type RunEnding = Omit<QueryResponse, "toolInteractions">;

/** One stored model turn: what the loop needs to continue after a crash. */
export interface TurnRecord {
  step: number;
  /** The assistant message, and the user messages and results that were stored with it. */
  messages: Message[];
  usage: TokenUsage;
  costMicros: number;
  warnings: string[];
  /** The model that answered. */
  provider: string;
  model: string;
}

/** A failed attempt at a turn, after which the same model or another one was asked again. */
export interface ModelRetry {
  /** When it failed. */
  at: number;
  /** `empty`: a turn without text and calls. */
  code: ModelErrorKind | "empty";
  /** The pause before the model was asked again. */
  waitedMs: number;
  /** The model that was asked; absent for attempts stored by earlier versions. */
  provider?: string;
  model?: string;
}

/** When and how a turn was requested. Times are milliseconds by the database's clock. */
export interface TurnTiming {
  beganAt: number;
  retries: ModelRetry[];
  /**
   * From `beganAt` to the first text or thought in the successful attempt. Absent for a turn that only calls functions.
   */
  firstTokenMs?: number;
  /** The model that was asked last; absent for turns stored by earlier versions. */
  provider?: string;
  model?: string;
}

/** A call's attempt that was followed by another one. Times are milliseconds by the database's clock. */
export interface EarlierAttempt extends Pick<CallOutcome, "flow"> {
  attempt: number;
  instanceId: string;
  /** When its frame was sent; absent when it was not sent or the time is unknown. */
  sentAt?: number;
  endedAt: number;
  /**
   * `undelivered`: the handler did not start. `unknown`: it may have run; only functions that may run twice get another attempt then.
   * `failed`: it failed in a way that the function retries. `approval`: the handler did not start, because a person must approve the
   * call.
   */
  ended: "undelivered" | "unknown" | "failed" | "approval";
  /** Why it failed, with the labels `flow`, and the time until the next attempt. */
  message?: string;
  retryAfterMs?: number;
}

/** One stored function call. Without an `outcome` it may have been sent to `instanceId`. */
export interface CallRecord {
  callId: string;
  /** The turn that asked for it. */
  step: number;
  /** Its position among the turn's calls. */
  position: number;
  /** The provider's call id, which the result must carry. */
  modelCallId: string;
  functionName: string;
  /** Parsed arguments, or the model's text when it is not JSON. */
  arguments: JsonValue;
  instanceId?: string;
  attempt: number;
  /** When this attempt's frame was sent, by the database's clock; absent when it was not sent or at an unknown time. */
  sentAt?: number;
  /** Earlier attempts; absent for the first one. */
  earlier?: EarlierAttempt[];
  outcome?: CallOutcome;
  /** The request to approve the call, once there is one. */
  approval?: ApprovalRecord;
  /** When the time of this attempt's detached handler is over, by the database's clock. Absent until the handler runs. */
  runsUntil?: number;
  /** The detached handler's newest progress. */
  progress?: JsonValue;
  /** The returned value's size; known only to the process that received it. */
  valueBytes?: number;
}

/** A call's earlier attempts that may have started its handler. */
export const startedBefore = ({ earlier = [] }: Pick<CallRecord, "earlier">): EarlierAttempt[] =>
  earlier.filter(({ ended }) => ended !== "undelivered" && ended !== "approval");

/** True if an earlier attempt may have taken effect: how the last one that started ended is unknown. */
export const isUnsure = (call: Pick<CallRecord, "earlier">): boolean => startedBefore(call).at(-1)?.ended === "unknown";

/** An audit log entry; never holds argument or result values. */
export interface AuditEntry {
  /** For example `run.started`, `call.denied`, `key.revoked`. */
  action: string;
  agentId?: string;
  runId?: string;
  callId?: string;
  role?: string;
  keyId?: string;
  functionName?: string;
  /** The rule that denied it (`roles`, `unknown`, `authorize`, `context`, `input`), or its failure code. */
  rule?: string;
  /** The run's function set. Shows which functions its role could see. */
  manifestHash?: string;
  detail?: JsonObject;
}
