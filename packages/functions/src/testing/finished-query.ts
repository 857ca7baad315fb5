import type { ModelRequest } from "@patchbay/control-plane";
import type {
  AgentSettingsChange,
  CallOutcome,
  Fault,
  JsonObject,
  JsonValue,
  LlmConfig,
  QueryResponse,
  RunEvent,
  ThreadDetail,
} from "@patchbay/protocol";
import type { LogLine } from "./log-lines.ts";

/** A query as a test asks it: the members of the HTTP body, and what its agent is set to before it. */
export interface TestQuery {
  query: string;
  role?: string;
  context?: JsonObject;
  /** Goes on with an earlier conversation. Queries of one thread run one after another. */
  threadId?: string;
  sessionId?: string;
  analysisMode?: boolean;
  /** JSON Schema of the answer, which then has `structured`. */
  responseSchema?: JsonObject;
  /** Settings of the model; whatever provider it names, the test's model answers. */
  llmConfig?: LlmConfig;
  /** Changes settings of the agent, which then hold for later queries too; `null` clears one. */
  settings?: AgentSettingsChange;
}

/** One call that the model asked for, run or refused. */
export interface FinishedCall {
  functionName: string;
  /** The arguments as the handler got them, or as the model wrote them where none ran; the raw text where that is not JSON. */
  input: JsonValue;
  outcome: CallOutcome;
  /** Which rule refused it: `roles`, `unknown`, `context`, `input` or `authorize`. */
  rule?: string;
}

/** Everything that a query left behind, wherever somebody could read it. */
export interface FinishedQuery {
  answer: QueryResponse;
  /** The stream's events, the last one included. */
  events: RunEvent[];
  /** What the model was sent, turn by turn. */
  requests: ModelRequest[];
  /** Names of the functions the model was shown. */
  visibleFunctions: string[];
  /** In the order in which the model asked. */
  calls: FinishedCall[];
  /** The conversation as its client lists it. */
  history: ThreadDetail;
  /** What the control plane and the runtime wrote while the query ran, but for lines about other queries. */
  log: LogLine[];
  /** The control plane's metrics page after the query. */
  metrics: string;
}

/** The service refused to begin a query: the answer's status and code, and every fault of the request. */
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
