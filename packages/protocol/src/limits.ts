import { JSON_DEPTH } from "@patchbay/kit";

/** Limits that both wire sides share. `Bytes` are UTF-8 bytes, `Units` are UTF-16 units. */
export const LIMITS = {
  /** Request body. A larger one is answered with 413. */
  bodyBytes: 1_048_576,
  /** A chat client's request body, which repeats the conversation. A larger one is answered with 413. */
  chatBodyBytes: 4_194_304,
  /** Query text after trimming. A longer one is answered with 400. */
  queryUnits: 100_000,
  /** The text in `contextJson`. A larger one is answered with 400. */
  contextBytes: 65_536,
  /** Context in the header `X-Patchbay-Context`, decoded. A larger one is answered with 400. */
  doorContextBytes: 8_192,
  /** Request body nesting. A deeper one is answered with 400. */
  jsonDepth: JSON_DEPTH,
  /** A role, a session id, a service name. A longer one is answered with 400, or refused at definition. */
  labelUnits: 200,
  /** Tags in a run's feedback. More are answered with 400. */
  feedbackTags: 20,
  /** One tag in a run's feedback. A longer one is answered with 400. */
  feedbackTagUnits: 64,
  /** The comment in a run's feedback. A longer one is answered with 400. */
  feedbackCommentUnits: 10_000,
  /** A deployment name. A longer one is refused at connect. */
  deploymentUnits: 100,
  /** The header `Idempotency-Key`. A longer one is answered with 400. */
  idempotencyKeyUnits: 255,
  /** Highest `maxTokens` that a query or an agent may set. */
  maxTokens: 1_000_000,
  /** Tokens in one model answer, unless the query or the agent sets `maxTokens`. A longer answer is cut. */
  defaultMaxTokens: 8192,
  /** As `defaultMaxTokens`, in the local variant. */
  localDefaultMaxTokens: 8000,
  /** One call result. A call with a larger one fails with `result_too_large`. */
  resultBytes: 262_144,
  /**
   * The part that the model receives from one result; the rest is cut with a note. Also one `progress()`, which is
   * dropped beyond it.
   */
  resultToModelBytes: 32_768,
  /** One frame on a runtime's connection. A larger one closes the connection. */
  frameBytes: 1_048_576,
  /** Functions in a service, and in all an agent's connected services. More are refused at definition, or with 4422. */
  functionsPerService: 200,
  /** Example queries in a service. More are refused at definition, or with 4422. */
  exampleQueriesPerService: 20,
  /** One example query's text. A longer one is refused at definition, or with 4422. */
  exampleQueryUnits: 500,
  /** JSON Schema for one function's input. A larger one is refused at definition. A larger output schema is not sent. */
  schemaBytes: 65_536,
  /** Milliseconds that a handler may take, unless its function sets `timeoutMs`. Then the call ends with `timed_out`. */
  functionTimeoutMs: 60_000,
  /** A function's highest `timeoutMs`. A higher one is refused at definition. The time of its run also limits the handler. */
  functionTimeoutMaxMs: 86_400_000,
  /** As `functionTimeoutMs`, for detached functions. */
  detachedTimeoutMs: 3_600_000,
  /** As `functionTimeoutMaxMs`, for detached functions, which the time of their run does not limit. */
  detachedTimeoutMaxMs: 604_800_000,
  /** Milliseconds: the longest wait before a runtime reconnects, in the first five minutes after its connection was lost. */
  runtimeReturnMs: 2_500,
  /** Milliseconds that one service hook may take. Then the query ends with `internal`. */
  hookTimeoutMs: 10_000,
  /**
   * A text that a hook receives or returns, as JSON; a larger one ends the query with `internal`. Together with its
   * query's context it fits into a message between replicas.
   */
  hookTextBytes: 163_840,
  /** A hook's refusal text. A longer one counts as a hook failure. */
  refusalUnits: 10_000,
  /** An error's message that a runtime reports to members. A longer one is cut. */
  errorMessageUnits: 4_096,
  /** The stack of such an error, with the stacks of its causes. A longer one is cut. */
  errorStackUnits: 16_384,
  /** Milliseconds: an approval's shortest `expiresIn`. A shorter one is refused at definition. */
  approvalMinMs: 60_000,
  /** Milliseconds: an approval's longest `expiresIn`. A longer one is refused at definition. */
  approvalMaxMs: 2_592_000_000,
  /** Milliseconds: an approval's `expiresIn`, unless its function sets another. */
  approvalMs: 86_400_000,
  /** The reason for an approval or a decision. A longer one is answered with 400, or cut if the owner's code gives it. */
  approvalReasonUnits: 2_000,
  /** Input examples for one function. More are refused at definition, or with 4422. */
  inputExamples: 5,
  /** One input example as JSON. A larger one is refused at definition, or with 4422. */
  inputExampleBytes: 4_096,
  /** The cases that a runtime reports, as JSON. Those beyond it are not sent. */
  reportedCasesUnits: 65_536,
  /** The access lock that a runtime reports, as JSON. A larger one is not sent. */
  reportedLockUnits: 262_144,
  /** Tags on one function. More are refused at definition, or with 4422. */
  tagsPerFunction: 20,
  /** A function's highest `concurrency`. A higher one is refused at definition, or with 4422. */
  functionConcurrency: 10_000,
  /** Handler starts for one call that `retries.max` may allow. */
  retriesMax: 10,
  /** Queries that wait on a thread while another one runs. A further one ends with `thread_busy`. */
  threadQueueDepth: 4,
  /** Turns with function calls, unless the agent sets `steps`. Then the model is asked for an answer without functions. */
  steps: 25,
} as const;

/**
 * Matches the model names that a query or the operator may give. Some providers put the name into a URL path, so it has
 * no characters that could change the path or add a query.
 */
export const MODEL_NAME = /^(?!.*(?:\.\.|\/\/))[A-Za-z0-9][A-Za-z0-9._:@/-]{0,199}$/;

/** Query properties that an agent can refuse. `model` includes the provider. */
export const OVERRIDES = ["model", "temperature", "maxTokens", "reasoning", "fallback", "responseSchema"] as const;
/** One of {@link OVERRIDES}. */
export type Override = (typeof OVERRIDES)[number];

/**
 * How an agent handles a function set that widens access: `follow` uses it, `confirm` keeps the previous set until a developer or
 * an owner confirms the new one.
 */
export const ACCESS_CHANGES = ["follow", "confirm"] as const;
/** One of {@link ACCESS_CHANGES}. */
export type AccessChanges = (typeof ACCESS_CHANGES)[number];

/**
 * Whether requests to an agent may come without a proven caller's token (`optional`, the default) or not (`required`).
 * `keyless`: as `optional`, and a caller's token is enough without an API key.
 */
export const CALLERS = ["optional", "required", "keyless"] as const;
