import { z } from "zod";

export { Feedback } from "../feedback.ts";
import { ErrorReport } from "../outcome.ts";
import { RunStatus, ThreadDetail } from "../response.ts";
import { pageOf, time } from "./route.ts";

/**
 * The origin of a run: a query of an API key, an access token or the playground; a call without a model that a client (`direct_call`)
 * or a member (`test_call`) makes.
 */
export const RunSource = z.enum(["api", "local", "direct_call", "playground", "test_call"]);
export type RunSource = z.infer<typeof RunSource>;

/** Sources of the queries that figures count; `production` is `api`, `local` and `direct_call`. */
export const FigureSource = z.enum(["production", ...RunSource.options]);
export type FigureSource = z.infer<typeof FigureSource>;

/** A run in a list. */
export const RunSummary = z.object({
  runId: z.string(),
  agentId: z.string(),
  threadId: z.string(),
  sessionId: z.string().nullable(),
  source: RunSource,
  /** The key, token or member that sent the query. */
  keyId: z.string(),
  status: RunStatus,
  /** Why it failed. */
  code: z.string().nullable(),
  role: z.string().nullable(),
  /** At most 200 characters of it. */
  query: z.string(),
  provider: z.string(),
  model: z.string(),
  createdAt: time,
  startedAt: time.nullable(),
  finishedAt: time.nullable(),
  /** From its start to its end, or to now. */
  durationMs: z.number(),
  calls: z.number(),
  failedCalls: z.number(),
  deniedCalls: z.number(),
  inputTokens: z.number(),
  outputTokens: z.number(),
  costUsd: z.number(),
});
export type RunSummary = z.infer<typeof RunSummary>;
/** One page of runs. */
export const RunPage = pageOf(RunSummary);

/**
 * One bar of the waterfall. `queue` is the wait for the thread or for a replica, `turn` a model request with its answer, `call` a
 * function call. A turn or call of several attempts has one `attempt` child for each. Times are relative to the start of the run.
 */
export const Span = z.object({
  id: z.string(),
  parentId: z.string().nullable(),
  kind: z.enum(["query", "queue", "turn", "call", "attempt"]),
  name: z.string(),
  startMs: z.number(),
  /** Null while it is open. */
  endMs: z.number().nullable(),
  /**
   * Waiting time at its start: for a call until it was first sent to a runtime, for an attempt until it was sent or its back-off
   * ended. Null when unknown.
   */
  waitMs: z.number().nullable(),
  state: z.enum(["running", "ok", "failed", "denied", "cancelled", "unknown"]),
  /** The check that denied it, and the reason as a sentence. */
  rule: z.string().nullable(),
  why: z.string().nullable(),
  code: z.string().nullable(),
  errorMessage: z.string().nullable(),
  /** What the owner's code threw, if its runtime reports errors. */
  error: ErrorReport.optional(),
  input: z.unknown().optional(),
  output: z.unknown().optional(),
  /** Further values: tokens, cost, model, runtime, attempt, removed fields. */
  attributes: z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.array(z.string())])),
});
export type Span = z.infer<typeof Span>;

/** Model settings of a run besides `provider` and `model`, from its query, its agent and the service's defaults at its start. */
export const RunSettings = z.object({
  /** Null: the provider's default. */
  temperature: z.number().nullable(),
  maxTokens: z.number(),
  steps: z.number(),
  /** `provider/model`, in the order of use. */
  fallback: z.array(z.string()),
  /** Null: half of the model's context window. */
  historyTokens: z.number().nullable(),
  /** Null: no limit. */
  maxCostUsd: z.number().nullable(),
  /** The JSON Schema of the answer; null if the answer is a text. */
  responseSchema: z.record(z.string(), z.unknown()).nullable(),
});
export type RunSettings = z.infer<typeof RunSettings>;

/** A run with its waterfall. */
/** What a key or a member said about a run. */
export const RunFeedback = z.object({
  keyId: z.string(),
  /** Name of the member, or label or hint of the key; null for one that no longer exists. */
  name: z.string().nullable(),
  score: z.number().nullable(),
  tags: z.array(z.string()),
  comment: z.string().nullable(),
  at: time,
});
export type RunFeedback = z.infer<typeof RunFeedback>;

export const RunTrace = RunSummary.extend({
  /** The whole text. */
  fullQuery: z.string(),
  response: z.string().nullable(),
  errorMessage: z.string().nullable(),
  warnings: z.array(z.string()),
  context: z.record(z.string(), z.unknown()),
  analysisMode: z.boolean(),
  /** Name of the member or label of the key that sent the query; null without one. */
  sender: z.string().nullable(),
  /** Id of the request that started it, as the log has it; null for runs of earlier versions. */
  requestId: z.string().nullable(),
  /** What a member sent in place of the agent's instructions; null if the agent's apply. */
  instructions: z.string().nullable(),
  settings: RunSettings,
  manifestHash: z.string().nullable(),
  deadlineAt: time,
  /** Parents before children. */
  spans: z.array(Span),
  /** The run that it repeats, and the newest runs that repeat it. */
  rerunOf: z.string().nullable(),
  reruns: z.array(z.string()),
  /** Newest first. */
  feedback: z.array(RunFeedback),
  /** Functions that the role may see, and the others. */
  visible: z.array(z.string()),
  hidden: z.array(z.string()),
});
export type RunTrace = z.infer<typeof RunTrace>;

/** Ids of a run that repeats another one. */
export const Rerun = z.object({ runId: z.string(), threadId: z.string() });

/** A message of a model request. `preface` is data in addition to the user's text: role and context. */
export const ModelMessage = z.discriminatedUnion("role", [
  z.object({ role: z.literal("user"), text: z.string(), preface: z.string().optional() }),
  z.object({
    role: z.literal("assistant"),
    text: z.string(),
    calls: z.array(z.object({ id: z.string(), name: z.string(), arguments: z.string() })),
    /** The provider's own blocks of that turn, such as its reasoning, in place of text and calls. */
    echo: z.object({ provider: z.string(), model: z.string(), blocks: z.unknown() }).optional(),
  }),
  z.object({
    role: z.literal("results"),
    results: z.array(z.object({ callId: z.string(), name: z.string(), content: z.string(), isError: z.boolean() })),
  }),
]);
export type ModelMessage = z.infer<typeof ModelMessage>;

/** Parameters of a model request. */
export const ModelParameters = z.object({
  provider: z.string(),
  model: z.string(),
  maxTokens: z.number(),
  /** Null: the provider's default. */
  temperature: z.number().nullable(),
  /** `none`: text only. `respond`: the model must call `answerFunction`. */
  toolChoice: z.enum(["auto", "none", "respond"]),
  /** The function whose call is the answer; null when the answer is a text. */
  answerFunction: z.string().nullable(),
  cacheKey: z.string(),
});
export type ModelParameters = z.infer<typeof ModelParameters>;

/** What the model was sent for one turn, built from what is stored by the function that built the request. */
export const SentTurn = z.object({
  step: z.number(),
  system: z.string(),
  /** As the role sees them. */
  functions: z.array(
    z.object({ name: z.string(), description: z.string(), inputSchema: z.record(z.string(), z.unknown()) }),
  ),
  messages: z.array(ModelMessage),
  /** The first messages, which are those of earlier queries of the thread. */
  earlierMessages: z.number(),
  parameters: ModelParameters,
  /** Estimates by size. `input` and `cachedInput` are the provider's, with failed attempts; null before it answered. */
  tokens: z.object({
    system: z.number(),
    functions: z.array(z.number()),
    messages: z.array(z.number()),
    input: z.number().nullable(),
    cachedInput: z.number().nullable(),
  }),
  /** The difference to the turn before; null for the first turn. System text and functions are the same in all turns of a run. */
  difference: z
    .object({
      /** Positions of the messages that the turn before was not sent. */
      added: z.array(z.number()),
      /** Messages of the turn before that are left out. */
      removed: z.array(ModelMessage),
      /** The former values of parameters. */
      parameters: ModelParameters.partial(),
    })
    .nullable(),
  /** True when earlier queries of the thread were deleted, which the model may have been sent. */
  historyDeleted: z.boolean(),
});
export type SentTurn = z.infer<typeof SentTurn>;

/** A stored event of a run, as it was sent. */
export const LogEvent = z.object({
  seq: z.number(),
  at: time,
  /** Milliseconds since the query was accepted. */
  afterMs: z.number(),
  body: z.string(),
});
/** One page of a run's events. */
export const LogPage = pageOf(LogEvent);
export type LogEvent = z.infer<typeof LogEvent>;

/** A thread in a list. */
export const ConsoleThread = z.object({
  threadId: z.string(),
  sessionId: z.string().nullable(),
  title: z.string(),
  runs: z.number(),
  costUsd: z.number(),
  createdAt: time,
  updatedAt: time,
});
export type ConsoleThread = z.infer<typeof ConsoleThread>;
/** One page of threads. */
export const ConsoleThreadPage = pageOf(ConsoleThread);

/** A page of a thread, the newest queries first. Messages and runs are in the thread's order; `nextCursor` continues with earlier ones. */
export const ConsoleThreadDetail = ThreadDetail.extend({
  runs: z.array(RunSummary),
  /** Sums over all queries of the thread. */
  figures: z.object({
    queries: z.number(),
    inputTokens: z.number(),
    outputTokens: z.number(),
    costUsd: z.number(),
  }),
});
export type ConsoleThreadDetail = z.infer<typeof ConsoleThreadDetail>;

/** A session in a list. */
export const ConsoleSession = z.object({
  sessionId: z.string(),
  firstQuery: z.string(),
  queries: z.number(),
  failed: z.number(),
  costUsd: z.number(),
  createdAt: time,
  lastSeenAt: time,
});
export type ConsoleSession = z.infer<typeof ConsoleSession>;
/** One page of sessions. */
export const ConsoleSessionPage = pageOf(ConsoleSession);
