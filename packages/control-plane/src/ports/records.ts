import type { CallOutcome, JsonObject, JsonValue, QueryResponse, RunStatus } from "@patchbay/protocol";
import type { Message, ModelErrorKind, TokenUsage } from "./model-provider.ts";

/** One function call that is wanted as it is, without a model. */
export interface TrialCall {
  functionName: string;
  arguments: JsonObject;
}

/** What a run was asked and keeps unchanged from its first turn to its last. */
export interface RunRequest {
  query: string;
  role?: string;
  context: JsonObject;
  /** What of the context the model is told. */
  told?: JsonValue;
  analysisMode: boolean;
  provider: string;
  model: string;
  maxTokens: number;
  temperature?: number;
  /** Turns with function calls before the model must answer. Default `LIMITS.steps`. */
  steps?: number;
  /** Models that are tried in this order when the one before fails. */
  fallback?: readonly { provider: string; model: string }[];
  /** Tokens of earlier runs that the model is sent. Default: half of the model's context window. */
  historyTokens?: number;
  /** The JSON Schema that the answer meets. */
  responseSchema?: JsonObject;
  /** Micro-USD after which the run asks its model no further. */
  maxCostMicros?: number;
  system: string;
  /** False for organisations that are not charged (sandbox). */
  charged: boolean;
  warnings: string[];
  /** The call that the run was begun for; it then has no model. */
  trial?: TrialCall;
}

/** One query, from its acceptance to its last event. Times are milliseconds of the database's clock. */
export interface RunRecord {
  runId: string;
  orgId: string;
  agentId: string;
  threadId: string;
  sessionId?: string;
  /** The API key or access token that asked. */
  keyId: string;
  /** Of the request that began the run; absent for runs of earlier versions. */
  requestId?: string;
  role?: string;
  /** Whose data the query is about, where the service names it. */
  subject?: string;
  status: RunStatus;
  /** Grows with each claim; a write with an older fence is refused. */
  fence: number;
  manifestHash?: string;
  request: RunRequest;
  createdAt: number;
  startedAt?: number;
  finishedAt?: number;
  deadlineAt: number;
  cancelRequested: boolean;
  /** How often a lease on it ran out: its process ended, or froze, while it worked on the run. */
  crashes: number;
  /** Claims in quarantine that no process has survived so far. */
  claims: number;
  /** `seq` of the newest stored event; 0 before the first. */
  lastSeq: number;
  result?: QueryResponse;
}

/** How a run ended: its result without its function calls, which may be megabytes. */
export type RunEnding = Omit<QueryResponse, "toolInteractions">;

/** One stored model turn: what the loop needs to go on after a crash. */
export interface TurnRecord {
  step: number;
  /** The assistant message and, for a plan, the user message that follows it. */
  messages: Message[];
  usage: TokenUsage;
  costMicros: number;
  warnings: string[];
  /** The model that answered. */
  provider: string;
  model: string;
}

/** One attempt of a turn that came to nothing, after which the model was asked once more, or another one. */
export interface ModelRetry {
  /** When it had failed. */
  at: number;
  /** `empty`: an answer without text or calls. */
  code: ModelErrorKind | "empty";
  /** The pause before the model was asked again. */
  waitedMs: number;
  /** The model that was asked; absent for attempts of earlier versions. */
  provider?: string;
  model?: string;
}

/** How a turn was asked for. Times are milliseconds of the database's clock. */
export interface TurnTiming {
  beganAt: number;
  retries: ModelRetry[];
  /** The model that was asked last; absent for turns of earlier versions. */
  provider?: string;
  model?: string;
}

/** One attempt of a call that was given to another runtime after it. Times are milliseconds of the database's clock. */
export interface EarlierAttempt {
  attempt: number;
  instanceId: string;
  /** When its frame left; absent where it did not, or nobody knows. */
  sentAt?: number;
  endedAt: number;
  /** `undelivered`: surely not run. `unknown`: perhaps run, of a function that may run again. */
  ended: "undelivered" | "unknown";
}

/** One function call as stored. Without an `outcome` it was intended, and perhaps sent to `instanceId`. */
export interface CallRecord {
  callId: string;
  /** The turn that asked for it and its place there. */
  step: number;
  position: number;
  /** The provider's id of the call, by which its result is given back. */
  modelCallId: string;
  functionName: string;
  /** Parsed arguments, or the raw text where that was no JSON. */
  arguments: JsonValue;
  instanceId?: string;
  attempt: number;
  /** When the frame of this attempt left, by the database's clock; absent where it did not, or nobody knows. */
  sentAt?: number;
  /** Absent where this attempt is the first. */
  earlier?: EarlierAttempt[];
  outcome?: CallOutcome;
  /** Of the value that it returned, in the process where the result came in. */
  valueBytes?: number;
}

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
  /** What refused it (`roles`, `unknown`, `authorize`, `context`, `input`), or the code it failed with. */
  rule?: string;
  /** The function set of a run: what its role was shown can be told from it. */
  manifestHash?: string;
  detail?: JsonObject;
}
