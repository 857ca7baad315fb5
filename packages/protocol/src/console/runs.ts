import { z } from "zod";

export { Feedback } from "../feedback.ts";
import { Effect } from "../manifest.ts";
import { ErrorReport } from "../outcome.ts";
import { RunStatus, ThreadDetail } from "../response.ts";
import { indexedTo, pageOf, time } from "./route.ts";

/**
 * A run's origin: a query with an API key, an access token or from the playground; a call without a model by a client
 * (`direct_call`) or a member (`test_call`).
 */
export const RunSource = z.enum(["api", "local", "direct_call", "playground", "test_call"]);
export type RunSource = z.infer<typeof RunSource>;

/** Query sources that figures count; `production` is `api`, `local` and `direct_call`. */
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
  /** The detached functions that it waits for. Empty while it waits for a person, or does not wait. */
  waitsFor: z.array(z.object({ functionName: z.string(), since: time })),
  /** Why it failed. */
  code: z.string().nullable(),
  role: z.string().nullable(),
  /** At most its first 200 characters. */
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
/** One run list page. */
export const RunPage = pageOf(RunSummary).extend({ indexedTo });

/**
 * One bar in the waterfall. `queue` is the wait for the thread or for a replica, `turn` a model request with its
 * answer, `call` a function call. A turn or call with several attempts has one `attempt` child for each. Times are
 * relative to the run's start.
 */
export const Span = z.object({
  id: z.string(),
  parentId: z.string().nullable(),
  kind: z.enum(["query", "queue", "turn", "call", "attempt"]),
  name: z.string(),
  startMs: z.number(),
  /** Null while it is open. */
  endMs: z.number().nullable(),
  /** Waiting time at its start: until a call was first sent, and an attempt sent or its back-off over. Null when unknown. */
  waitMs: z.number().nullable(),
  state: z.enum(["running", "ok", "failed", "denied", "cancelled", "unknown"]),
  /** The check that denied it, and the reason as a sentence. */
  rule: z.string().nullable(),
  why: z.string().nullable(),
  code: z.string().nullable(),
  errorMessage: z.string().nullable(),
  /** The error in the owner's code, if its runtime reports errors. Absent for viewers. */
  error: ErrorReport.optional(),
  input: z.unknown().optional(),
  output: z.unknown().optional(),
  /** What a detached call that runs reported last. */
  progress: z.unknown().optional(),
  /** Further values: tokens, cost, model, runtime, attempt, removed fields. */
  attributes: z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.array(z.string())])),
});
export type Span = z.infer<typeof Span>;

/** A run's model settings besides `provider` and `model`, from its query, its agent and the service's defaults at its start. */
export const RunSettings = z.object({
  /** Null: the provider's default. */
  temperature: z.number().nullable(),
  reasoning: z.string().optional(),
  maxTokens: z.number(),
  steps: z.number(),
  /** `provider/model`, in fallback order. */
  fallback: z.array(z.string()),
  /** Null: half of the model's context window. */
  historyTokens: z.number().nullable(),
  /** Null: no limit. */
  maxCostUsd: z.number().nullable(),
  /** The answer's JSON Schema; null if the answer is a text. */
  responseSchema: z.record(z.string(), z.unknown()).nullable(),
});
export type RunSettings = z.infer<typeof RunSettings>;

/** Feedback on a run from a key or a member. */
export const RunFeedback = z.object({
  keyId: z.string(),
  /** The member's name, or the key's label or hint; null for one that no longer exists. */
  name: z.string().nullable(),
  score: z.number().nullable(),
  tags: z.array(z.string()),
  comment: z.string().nullable(),
  at: time,
});
export type RunFeedback = z.infer<typeof RunFeedback>;

/** A run with its waterfall. */
export const RunTrace = RunSummary.extend({
  /** The whole text. */
  fullQuery: z.string(),
  response: z.string().nullable(),
  errorMessage: z.string().nullable(),
  warnings: z.array(z.string()),
  context: z.record(z.string(), z.unknown()),
  analysisMode: z.boolean(),
  /** Name or label of the member or key that sent the query; null without one. */
  sender: z.string().nullable(),
  /** The id in the log of the request that started it; null for earlier versions. */
  requestId: z.string().nullable(),
  /** A member's text in place of the agent's instructions; null if the agent's apply. */
  instructions: z.string().nullable(),
  settings: RunSettings,
  manifestHash: z.string().nullable(),
  deadlineAt: time,
  /** Parents before children. */
  spans: z.array(Span),
  /** The run that it repeats, and the newest runs that repeat it. */
  rerunOf: z.string().nullable(),
  reruns: z.array(z.string()),
  /** The failed runs that it continues, oldest first, and the newest retry of this run. */
  continues: z.array(z.string()),
  retriedBy: z.string().nullable(),
  /** Newest first. */
  feedback: z.array(RunFeedback),
  /** Functions that the role may see, and the others. */
  visible: z.array(z.string()),
  hidden: z.array(z.string()),
});
export type RunTrace = z.infer<typeof RunTrace>;

/** A repeating run's ids. */
export const Rerun = z.object({ runId: z.string(), threadId: z.string() });

/** Calls in runs whose functions write or destroy. Running these runs again may make the calls again. */
export const RunEffects = z.object({
  /** At most 50, by run and in their order. */
  calls: z.array(
    z.object({
      runId: z.string(),
      callId: z.string(),
      functionName: z.string(),
      /** Null if the run's function set was deleted: the function may write. */
      effect: Effect.exclude(["read"]).nullable(),
      /** At most about the first 512 bytes. */
      arguments: z.unknown(),
      state: z.enum(["running", "waiting", "ok", "failed", "denied", "cancelled", "unknown"]),
    }),
  ),
  /** Number of further calls. */
  omitted: z.number(),
});
export type RunEffects = z.infer<typeof RunEffects>;

/** A message in a model request. `preface` is data in addition to the user's text: role and context. */
export const ModelMessage = z.discriminatedUnion("role", [
  z.object({ role: z.literal("user"), text: z.string(), preface: z.string().optional() }),
  z.object({
    role: z.literal("assistant"),
    text: z.string(),
    calls: z.array(z.object({ id: z.string(), name: z.string(), arguments: z.string() })),
    /** The provider's own blocks from that turn, such as its reasoning, in place of text and calls. */
    echo: z.object({ provider: z.string(), model: z.string(), blocks: z.unknown() }).optional(),
  }),
  z.object({
    role: z.literal("results"),
    results: z.array(z.object({ callId: z.string(), name: z.string(), content: z.string(), isError: z.boolean() })),
  }),
]);
export type ModelMessage = z.infer<typeof ModelMessage>;

/** Model request parameters. */
export const ModelParameters = z.object({
  provider: z.string(),
  model: z.string(),
  maxTokens: z.number(),
  /** Null: the provider's default. */
  temperature: z.number().nullable(),
  reasoning: z.string().optional(),
  /** `none`: text only. `respond`: the model must call `answerFunction`. */
  toolChoice: z.enum(["auto", "none", "respond"]),
  /** The function whose call is the answer; null when the answer is a text. */
  answerFunction: z.string().nullable(),
  cacheKey: z.string(),
});
export type ModelParameters = z.infer<typeof ModelParameters>;

/** What the model received for one turn, rebuilt from stored data by the function that built the request. */
export const SentTurn = z.object({
  step: z.number(),
  system: z.string(),
  /** As the role sees them. */
  functions: z.array(
    z.object({ name: z.string(), description: z.string(), inputSchema: z.record(z.string(), z.unknown()) }),
  ),
  messages: z.array(ModelMessage),
  /** The number of leading messages from earlier queries in the thread. */
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
  /** From the previous turn; null for the first one. All turns in a run have the same system text and functions. */
  difference: z
    .object({
      /** Positions of messages that the previous turn did not send. */
      added: z.array(z.number()),
      /** Messages from the previous turn that are omitted. */
      removed: z.array(ModelMessage),
      /** The previous parameter values. */
      parameters: ModelParameters.partial(),
    })
    .nullable(),
  /** True when earlier queries in the thread were deleted; the model may have received them. */
  historyDeleted: z.boolean(),
});
export type SentTurn = z.infer<typeof SentTurn>;

/** A run's stored event, as it was sent. */
export const LogEvent = z.object({
  seq: z.number(),
  at: time,
  /** Milliseconds after the query was accepted. */
  afterMs: z.number(),
  body: z.string(),
});
/** One page with a run's events. */
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
/** One thread list page. */
export const ConsoleThreadPage = pageOf(ConsoleThread);

/**
 * A thread page, the newest queries first. Messages and runs are in the thread's order; `nextCursor` continues with
 * earlier ones.
 */
export const ConsoleThreadDetail = ThreadDetail.extend({
  runs: z.array(RunSummary),
  /** Sums over all queries in the thread. */
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
/** One session list page. */
export const ConsoleSessionPage = pageOf(ConsoleSession);
