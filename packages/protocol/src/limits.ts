/** Limits that both sides of a wire share. `Bytes` are bytes of UTF-8, `Units` are UTF-16 units. */
export const LIMITS = {
  /** Body of a request. A larger one is answered with 413. */
  bodyBytes: 1_048_576,
  /** Body of a request of a chat client, which repeats the conversation. A larger one is answered with 413. */
  chatBodyBytes: 4_194_304,
  /** Text of a query after trimming. A longer one is answered with 400. */
  queryUnits: 100_000,
  /** Text of `contextJson`. A larger one is answered with 400. */
  contextBytes: 65_536,
  /** Context in the header `X-Patchbay-Context`, decoded. A larger one is answered with 400. */
  doorContextBytes: 8_192,
  /** Nesting of a request body. A deeper one is answered with 400. */
  jsonDepth: 64,
  /** A role, a session id, the name of a service. A longer one is answered with 400, or refused at definition. */
  labelUnits: 200,
  /** Tags of the feedback on a run. More are answered with 400. */
  feedbackTags: 20,
  /** One tag of the feedback on a run. A longer one is answered with 400. */
  feedbackTagUnits: 64,
  /** The comment of the feedback on a run. A longer one is answered with 400. */
  feedbackCommentUnits: 10_000,
  /** The name of a deployment. A longer one is refused at connect. */
  deploymentUnits: 100,
  /** The header `Idempotency-Key`. A longer one is answered with 400. */
  idempotencyKeyUnits: 255,
  /** Highest `maxTokens` that a query or an agent may set. */
  maxTokens: 1_000_000,
  /** Tokens of one answer of the model, unless the query or the agent sets `maxTokens`. A longer answer is cut. */
  defaultMaxTokens: 8192,
  /** As `defaultMaxTokens`, in the local variant. */
  localDefaultMaxTokens: 8000,
  /** Result of one call. The call of a larger one fails with `result_too_large`. */
  resultBytes: 262_144,
  /** The part of one result that the model receives; the rest is cut with a note. Also one `progress()`, which is dropped beyond it. */
  resultToModelBytes: 32_768,
  /** One frame of a runtime's connection. A larger one closes the connection. */
  frameBytes: 1_048_576,
  /** Functions of a service, and of all connected services of an agent. More are refused at definition, or with 4422. */
  functionsPerService: 200,
  /** Example queries of a service. More are refused at definition, or with 4422. */
  exampleQueriesPerService: 20,
  /** Text of one example query. A longer one is refused at definition, or with 4422. */
  exampleQueryUnits: 500,
  /** JSON Schema of one function's input. A larger one is refused at definition. A larger output schema is not sent. */
  schemaBytes: 65_536,
  /** Milliseconds that a handler may take, unless its function sets `timeoutMs`. Then the call ends with `timed_out`. */
  functionTimeoutMs: 60_000,
  /** Highest `timeoutMs` of a function. A higher one is refused at definition. */
  functionTimeoutMaxMs: 240_000,
  /** Milliseconds: the longest wait before a runtime reconnects, in the first five minutes after its connection was lost. */
  runtimeReturnMs: 2_500,
  /** Milliseconds that one hook of a service may take. Then the query ends with `internal`. */
  hookTimeoutMs: 10_000,
  /**
   * JSON of a text that a hook receives or returns; a larger one ends the query with `internal`. With the context of its query it
   * fits into a message between replicas.
   */
  hookTextBytes: 163_840,
  /** The text of a hook's refusal. A longer one counts as a failure of the hook. */
  refusalUnits: 10_000,
  /** Message of an error that a runtime reports to members. A longer one is cut. */
  errorMessageUnits: 4_096,
  /** Stack of such an error, with those of its causes. A longer one is cut. */
  errorStackUnits: 16_384,
  /** Milliseconds: the shortest `expiresIn` of an approval. A shorter one is refused at definition. */
  approvalMinMs: 60_000,
  /** Milliseconds: the longest `expiresIn` of an approval. A longer one is refused at definition. */
  approvalMaxMs: 2_592_000_000,
  /** Reason of an approval or of a decision. A longer one is answered with 400, or cut if the owner's code gives it. */
  approvalReasonUnits: 2_000,
  /** Examples of input of one function. More are refused at definition, or with 4422. */
  inputExamples: 5,
  /** JSON of one example of input. A larger one is refused at definition, or with 4422. */
  inputExampleBytes: 4_096,
  /** JSON of the cases that a runtime reports. Those beyond it are not sent. */
  reportedCasesUnits: 65_536,
  /** JSON of the access lock that a runtime reports. A larger one is not sent. */
  reportedLockUnits: 262_144,
  /** Tags of one function. More are refused at definition, or with 4422. */
  tagsPerFunction: 20,
  /** Highest `concurrency` of a function. A higher one is refused at definition, or with 4422. */
  functionConcurrency: 10_000,
  /** Handler starts of one call that `retries.max` may allow. */
  retriesMax: 10,
  /** Queries that wait on a thread while another one runs. A further one ends with `thread_busy`. */
  threadQueueDepth: 4,
  /** Turns with function calls, unless the agent sets `steps`. Then the model is asked for an answer without functions. */
  steps: 25,
} as const;

/** The providers that a caller may name. */
export const PROVIDER_NAMES = ["anthropic", "openai", "gemini"] as const;

/**
 * Matches the model names that a query or the operator may give. Some providers put the name into the path of a URL, so it has no
 * characters that could change the path or add a query.
 */
export const MODEL_NAME = /^(?!.*(?:\.\.|\/\/))[A-Za-z0-9][A-Za-z0-9._:@/-]{0,199}$/;

/** Properties of a query that an agent can refuse. `model` includes the provider. */
export const OVERRIDES = ["model", "temperature", "maxTokens", "fallback", "responseSchema"] as const;
/** One of {@link OVERRIDES}. */
export type Override = (typeof OVERRIDES)[number];

/**
 * How an agent handles a function set that widens access: `follow` uses it, `confirm` keeps the previous set until a developer or
 * an owner confirms the new one.
 */
export const ACCESS_CHANGES = ["follow", "confirm"] as const;
/** One of {@link ACCESS_CHANGES}. */
export type AccessChanges = (typeof ACCESS_CHANGES)[number];

/** Whether requests to an agent may come without the token of a proven caller. The default is `optional`. */
export const CALLERS = ["optional", "required"] as const;
