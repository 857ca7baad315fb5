import {
  type CallOutcome,
  type JsonObject,
  type JsonValue,
  LIMITS,
  type QueryResponse,
  type RunStatus,
  type TraceContext,
} from "@patchbay/protocol";
import type { ApprovalRecord } from "./approvals.ts";
import type { Message, ModelErrorKind, TokenUsage } from "./model-provider.ts";

/** A direct call: a function call without a model, of a member by hand or of an MCP client. */
export interface TestCall {
  functionName: string;
  arguments: JsonObject;
}

/** The id that a client has given a thread. Unique within its scope, which names the client, per agent. */
export interface ThreadKey {
  scope: string;
  id: string;
}

/** For whom a query is made. */
export interface Caller {
  role?: string;
  context: JsonObject;
}

export const callerOf = ({ role, context }: Caller): Caller => ({ context, ...(role !== undefined && { role }) });

/** A text that a client sent next to its query. The model receives it as data. */
export interface QuotedText {
  /** `system`: of the client's application; the others: earlier messages of the conversation, as the client has them. */
  from: "system" | "user" | "assistant";
  text: string;
}

/** The request of a run, which stays the same from its first turn to its last. */
export interface RunRequest extends Caller {
  query: string;
  /** In the order in which the client sent them. Later runs of the thread do not receive them. */
  quoted?: readonly QuotedText[];
  /** The part of the context that the model sees. */
  modelContext?: JsonValue;
  analysisMode: boolean;
  provider: string;
  model: string;
  maxTokens: number;
  temperature?: number;
  /** Turns with function calls before the model must answer. Default `LIMITS.steps`. */
  steps?: number;
  /** Models that are asked in this order when the one before fails. */
  fallback?: readonly { provider: string; model: string }[];
  /** Upper limit on the tokens of earlier runs in a request. Default: half of the model's context window. */
  historyTokens?: number;
  /** The JSON Schema that the answer must meet. */
  responseSchema?: JsonObject;
  /** Cost cap of the run in micro-USD. */
  maxCostMicros?: number;
  /** What a member sent in place of the agent's instructions; part of `system`. */
  instructions?: string;
  system: string;
  /** False for organisations that are not charged, such as those of the sandbox tier. */
  charged: boolean;
  warnings: string[];
  /** The label of the key when the query arrived, for the line of the run in the log. */
  keyLabel?: string;
  /** The `sub` of the token that proved its caller. */
  provenSubject?: string;
  /** The client of its stream asked to cancel the run when its last reader has left. */
  cancelWhenGone?: true;
  /** True if its end is reported to the webhook of its agent. */
  reported?: true;
  /** A background task of a chat client: no function exists for it. */
  task?: true;
  /** The call of a test call; the run then has no model. */
  testCall?: TestCall;
  /** The run that this one repeats. Both have the same earlier runs: those of a thread before a run. */
  rerunOf?: { runId: string; history: { threadId: string; before: string } };
}

/** Turns with function calls after which a run's model must answer. */
export const stepsOf = ({ steps = LIMITS.steps }: Pick<RunRequest, "steps">): number => steps;

/** What a run is: a query, one direct call, or a background task of a chat client. Lists of threads have queries only. */
export type RunKind = "query" | "call" | "task";

/** Where the spans of a run belong. Stored with the run: its next segment, at any replica, continues the trace. */
export interface RunTrace {
  /** The parent of each segment: the client's span, or for a query without one the first segment. */
  parent: TraceContext;
  /** The newest segment. It has no exported span if its process was killed. */
  segment: TraceContext;
  /** The agent's name when the query was accepted. */
  agentName?: string;
}

/** One query, from its acceptance to its last event. Times are milliseconds of the database's clock. */
export interface RunRecord {
  runId: string;
  orgId: string;
  agentId: string;
  threadId: string;
  sessionId?: string;
  /** The API key or access token of the query. */
  keyId: string;
  /** Id of the request that started the run. */
  requestId?: string;
  role?: string;
  /** The identity that the services made of the context, if any did. */
  subject?: string;
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
  /** Milliseconds that it has waited for people. */
  waitedMs?: number;
  /** Absent when the run began without tracing. */
  trace?: RunTrace;
  cancelRequested: boolean;
  /** How often a lease on it expired: its process crashed or froze while it worked on the run. */
  crashes: number;
  /** Claims in quarantine since a process last survived the run. */
  claims: number;
  /** `seq` of the newest stored event; 0 before the first. */
  lastSeq: number;
  result?: QueryResponse;
}

/** The result of a run without its function calls, which may have megabytes. */
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
  /** The model that was asked; absent for attempts of earlier versions. */
  provider?: string;
  model?: string;
}

/** When and how a turn was requested. Times are milliseconds of the database's clock. */
export interface TurnTiming {
  beganAt: number;
  retries: ModelRetry[];
  /** From `beganAt` to the first text or thought of the attempt that gave the turn. Absent for a turn that only calls functions. */
  firstTokenMs?: number;
  /** The model that was asked last; absent for turns of earlier versions. */
  provider?: string;
  model?: string;
}

/** An attempt of a call that was followed by another one. Times are milliseconds of the database's clock. */
export interface EarlierAttempt {
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
  /** Why it failed, and the time until the next attempt. */
  message?: string;
  retryAfterMs?: number;
}

/** One stored function call. Without an `outcome` it may have been sent to `instanceId`. */
export interface CallRecord {
  callId: string;
  /** The turn that asked for it. */
  step: number;
  /** Its position among the calls of the turn. */
  position: number;
  /** The provider's id of the call, which its result must carry. */
  modelCallId: string;
  functionName: string;
  /** Parsed arguments, or the text of the model when it is not JSON. */
  arguments: JsonValue;
  instanceId?: string;
  attempt: number;
  /** When the frame of this attempt was sent, by the database's clock; absent when it was not sent or the time is unknown. */
  sentAt?: number;
  /** Earlier attempts; absent for the first one. */
  earlier?: EarlierAttempt[];
  outcome?: CallOutcome;
  /** The request for an approval of the call, once there is one. */
  approval?: ApprovalRecord;
  /** Size of the returned value; known only to the process that received it. */
  valueBytes?: number;
}

/** Earlier attempts of a call that may have started its handler. */
export const startedBefore = ({ earlier = [] }: Pick<CallRecord, "earlier">): EarlierAttempt[] =>
  earlier.filter(({ ended }) => ended !== "undelivered" && ended !== "approval");

/** True if an earlier attempt of the call may have taken effect: how the last one that started ended is unknown. */
export const isUnsure = (call: Pick<CallRecord, "earlier">): boolean => startedBefore(call).at(-1)?.ended === "unknown";

/** An entry of the audit log; never holds values of arguments or results. */
export interface AuditEntry {
  /** For example `run.started`, `call.denied`, `key.revoked`. */
  action: string;
  agentId?: string;
  runId?: string;
  callId?: string;
  role?: string;
  keyId?: string;
  functionName?: string;
  /** The rule that denied it (`roles`, `unknown`, `authorize`, `context`, `input`), or the code of its failure. */
  rule?: string;
  /** The function set of a run. Shows which functions its role could see. */
  manifestHash?: string;
  detail?: JsonObject;
}
