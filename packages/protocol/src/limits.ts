import { z } from "zod";

/** Limits that both sides of a wire share. `Bytes` are bytes of UTF-8, `Units` are UTF-16 units. */
export const LIMITS = {
  /** Body of a request. A larger one is answered with 413. */
  bodyBytes: 1_048_576,
  /** Text of a query after trimming. A longer one is answered with 400. */
  queryUnits: 100_000,
  /** Text of `contextJson`. A larger one is answered with 400. */
  contextBytes: 65_536,
  /** Nesting of a request body. A deeper one is answered with 400. */
  jsonDepth: 64,
  /** A role, a session id, the name of a service. A longer one is answered with 400, or refused at definition. */
  labelUnits: 200,
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

const count = (preset: number, description: string) =>
  z.int().min(1).max(1_000_000_000).default(preset).describe(description);

/**
 * Limits that the operator of a control plane may change with `serve --limits FILE`. Only what exceeds a limit is refused. `Bytes`
 * are bytes of UTF-8.
 */
export const OperatorLimits = z.strictObject({
  callsPerTurn: count(32, "Function calls of one model turn. Calls beyond it are refused with `call_limit`."),
  callsPerRun: count(256, "Function calls of one run. Calls beyond it are refused with `call_limit`."),
  repeatedCalls: count(
    3,
    "Calls of one function with equal arguments in one run, for functions that write. Calls beyond it are refused with `repeated_call`.",
  ),
  repeatedReadCalls: count(
    10,
    'Calls of one function with equal arguments in one run, for functions with `effect: "read"`. Calls beyond it are refused with `repeated_call`.',
  ),
  runResultBytes: count(
    8_388_608,
    "Function results that one run stores and answers. From the first result beyond it, results are refused with `result_too_large`.",
  ),
  rolesPerService: count(
    200,
    "Roles of a service, its own and those of its functions together. Connected services of one agent share it.",
  ),
  rolesPerFunction: count(100, "Roles in the list of one function."),
  manifestBytes: count(
    524_288,
    "Size of the function set that a runtime offers. Connected services of one agent share it. Frames hold at most 1 MiB.",
  ),
  connectionsPerKey: count(
    64,
    "Open connections of one runtime key to one replica. The next one is refused at the handshake.",
  ),
  hellosPerMinute: count(
    200,
    "Connections that the runtimes of one key open to one replica in a minute. The next one is refused at the handshake.",
  ),
  functionSetsPerAgent: count(50, "Stored function sets of an agent. Unreferenced ones are deleted first."),
  framesPerSecond: count(
    200,
    "Frames a second that one runtime connection may send without being asked for them. Frames beyond it are dropped, and after 10 s the connection is closed.",
  ),
  frameBurst: count(
    1_000,
    "Frames that one runtime connection may send at once, unasked, before `framesPerSecond` applies.",
  ),
  streamsPerKey: count(
    1_000,
    "Open event streams of one API key on a replica. Beyond it resumes and followers answer 429, and a query in the sandbox waits for a place.",
  ),
  streamsPerRun: count(
    100,
    "Open event streams of one API key on the same run, on a replica. Further ones answer 429.",
  ),
  streamsPerOrganisation: count(
    5_000,
    "Open event streams of one organisation on a replica. Beyond it resumes and followers answer 429, and a query in the sandbox waits for a place.",
  ),
  runsPerOrganisation: count(
    256,
    "Runs of one organisation that a replica works on at the same time. Further ones wait in order.",
  ),
});
/** A value for each of the operator's limits. */
export type OperatorLimits = z.infer<typeof OperatorLimits>;

/** The operator's limits by default. */
export const DEFAULT_LIMITS: Readonly<OperatorLimits> = OperatorLimits.parse({});
