import type { ModelRequest } from "@patchbay/control-plane";
import {
  type AgentSettingsChange,
  type CallOutcome,
  type Fault,
  type LlmConfig,
  type QueryResponse,
  type RunEvent,
  type ThreadDetail,
} from "@patchbay/protocol";
import { type JsonObject, type JsonValue, type Log, type LogFields, type LogLevel, logTo } from "@patchbay/kit";
import type { Approver } from "./approver.ts";

/** A test's query: the HTTP body's properties, and settings for its agent. */
export interface TestQuery<Role extends string = string> {
  query: string;
  role?: Role | undefined;
  context?: JsonObject | undefined;
  /** Continues an earlier thread. Queries in one thread run one after another. */
  threadId?: string;
  sessionId?: string;
  analysisMode?: boolean;
  /** JSON Schema for the answer, which then has `structured`. */
  responseSchema?: JsonObject;
  /** Decides on the calls that wait for an approval. Without it, they wait for the test server's `approve` or `reject`. */
  approver?: Approver;
  /** Model settings. Whatever provider it names, the test's model answers. */
  llmConfig?: LlmConfig;
  /** Changes the agent's settings before the query. They also apply to later queries; `null` clears one. */
  settings?: AgentSettingsChange;
}

/** One call that the model asked for, run or refused. */
export interface FinishedCall {
  functionName: string;
  /** The handler's arguments; if none ran, the model's, as raw text unless they are JSON. */
  input: JsonValue;
  outcome: CallOutcome;
  /** The rule that refused the call: `roles`, `unknown`, `context`, `input`, `authorize` or `approval`. */
  rule?: string;
}

/** A query after its end: its answer, and every other place that contains its data. */
export interface FinishedQuery {
  answer: QueryResponse;
  /** The stream's events, including the last one. */
  events: RunEvent[];
  /** The requests to the model, turn by turn. */
  requests: ModelRequest[];
  /** Names of the functions that the model was offered. */
  visibleFunctions: string[];
  /** In the order in which the model asked for them. */
  calls: FinishedCall[];
  /** The thread as its client reads it. */
  history: ThreadDetail;
  /** Log lines that the control plane and the runtime wrote while the query ran, without those about other queries. */
  log: LogLine[];
  /** The control plane's metrics after the query. */
  metrics: string;
}

/** Thrown when the control plane rejects a query: the response's status and code, and every fault in the request. */
export class QueryRefused extends Error {
  override readonly name = "QueryRefused";
  readonly status: number;
  readonly code: string;
  readonly details: readonly Fault[];

  constructor(status: number, body: { errorMessage: string; code: string; details?: readonly Fault[] }) {
    const { errorMessage, code, details = [] } = body;
    super(`${status} ${errorMessage}${details.map(({ path, message }) => `; ${path}: ${message}`).join("")}`);
    this.status = status;
    this.code = code;
    this.details = details;
  }
}

/** One log line from the control plane or the runtime. */
export interface LogLine {
  from: "control-plane" | "runtime";
  level: LogLevel;
  message: string;
  fields: LogFields;
}

/** A log that appends its lines to a list. */
export const keepLines = (lines: LogLine[], from: LogLine["from"]): Log =>
  logTo((level, message, fields) => lines.push({ from, level, message, fields }));
