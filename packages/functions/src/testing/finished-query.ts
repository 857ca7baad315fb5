import type { ModelRequest } from "@patchbay/control-plane";
import {
  type AgentSettingsChange,
  type CallOutcome,
  type Fault,
  type JsonObject,
  type JsonValue,
  type LlmConfig,
  type Log,
  type LogFields,
  type LogLevel,
  logTo,
  type QueryResponse,
  type RunEvent,
  type ThreadDetail,
} from "@patchbay/protocol";
import type { Approver } from "./approver.ts";

/** A query of a test: the properties of the HTTP body, and settings of its agent. */
export interface TestQuery {
  query: string;
  role?: string | undefined;
  context?: JsonObject | undefined;
  /** Continues an earlier thread. Queries of one thread run one after another. */
  threadId?: string;
  sessionId?: string;
  analysisMode?: boolean;
  /** JSON Schema of the answer, which then has `structured`. */
  responseSchema?: JsonObject;
  /** Decides on the calls that wait for an approval. Without it, they wait for `approve` or `reject` of the test server. */
  approver?: Approver;
  /** Settings of the model. Whatever provider it names, the test's model answers. */
  llmConfig?: LlmConfig;
  /** Changes settings of the agent before the query. They also apply to later queries; `null` clears one. */
  settings?: AgentSettingsChange;
}

/** One call that the model asked for, run or refused. */
export interface FinishedCall {
  functionName: string;
  /** The arguments that the handler received; if none ran, those that the model wrote, as raw text if that is not JSON. */
  input: JsonValue;
  outcome: CallOutcome;
  /** The rule that refused the call: `roles`, `unknown`, `context`, `input`, `authorize` or `approval`. */
  rule?: string;
}

/** A query after its end: its answer, and every other place that contains data of it. */
export interface FinishedQuery {
  answer: QueryResponse;
  /** The events of the stream, including the last one. */
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

/** Thrown when the control plane rejects a query: status and code of the response, and every fault of the request. */
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

/** One log line of the control plane or the runtime. */
export interface LogLine {
  from: "control-plane" | "runtime";
  level: LogLevel;
  message: string;
  fields: LogFields;
}

/** A log that appends its lines to a list. */
export const keepLines = (lines: LogLine[], from: LogLine["from"]): Log =>
  logTo((level, message, fields) => lines.push({ from, level, message, fields }));
