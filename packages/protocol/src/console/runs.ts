import { z } from "zod";
import { RunStatus, ThreadDetail } from "../response.ts";
import { pageOf, time } from "./paging.ts";

/** Where a query came from: an API key, an access token, the console's playground, or a function tried by hand. */
export const RunSource = z.enum(["api", "local", "playground", "trial"]);
export type RunSource = z.infer<typeof RunSource>;

export const RunSummary = z.object({
  runId: z.string(),
  agentId: z.string(),
  threadId: z.string(),
  sessionId: z.string().nullable(),
  source: RunSource,
  /** The key, token or member that asked. */
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
  /** From its acceptance to its end, or to now. */
  durationMs: z.number(),
  calls: z.number(),
  failedCalls: z.number(),
  deniedCalls: z.number(),
  inputTokens: z.number(),
  outputTokens: z.number(),
  costUsd: z.number(),
});
export type RunSummary = z.infer<typeof RunSummary>;
export const RunPage = pageOf(RunSummary);

/** What is narrowed by in a list of runs. `q` is searched for in the query's text, or is an id's beginning. */
export const runFilter = {
  status: RunStatus.optional(),
  role: z.string().max(200).optional(),
  /** Runs that called this function. */
  functionName: z.string().max(64).optional(),
  /** Runs with a call that was denied, or that failed. */
  trouble: z.enum(["denied", "failed"]).optional(),
  source: RunSource.optional(),
  keyId: z.string().max(128).optional(),
  sessionId: z.string().max(200).optional(),
  threadId: z.string().max(128).optional(),
  from: time.optional(),
  to: time.optional(),
  q: z.string().max(200).optional(),
};

/**
 * One bar of the waterfall. `queue` waits for its thread or to be taken up, `turn` is a model's answer, `call` a function call;
 * where either took several, each `attempt` stands under it. Times count from the run's acceptance.
 */
export const Span = z.object({
  id: z.string(),
  parentId: z.string().nullable(),
  kind: z.enum(["query", "queue", "turn", "call", "attempt"]),
  name: z.string(),
  startMs: z.number(),
  /** Null while it goes on. */
  endMs: z.number().nullable(),
  /**
   * How much of its beginning was waiting: of a call until it was first sent to a runtime, of an attempt until it was sent or
   * the pause before it was over. Null where that is not known, or not known yet.
   */
  waitMs: z.number().nullable(),
  state: z.enum(["running", "ok", "failed", "denied", "cancelled", "unknown"]),
  /** What refused it, in words as well. */
  rule: z.string().nullable(),
  why: z.string().nullable(),
  code: z.string().nullable(),
  errorMessage: z.string().nullable(),
  input: z.unknown().optional(),
  output: z.unknown().optional(),
  /** What else is known: tokens, cost, model, runtime, attempt, members withheld. */
  attributes: z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.array(z.string())])),
});
export type Span = z.infer<typeof Span>;

/** How a run asks its model, beside `provider` and `model`: as its query, its agent and the service's defaults said when it began. */
export const RunSettings = z.object({
  /** Null: that of the provider. */
  temperature: z.number().nullable(),
  maxTokens: z.number(),
  steps: z.number(),
  /** In the order in which they are tried, as `provider/model`. */
  fallback: z.array(z.string()),
  /** Null: half of the model's context window. */
  historyTokens: z.number().nullable(),
  /** Null: no limit. */
  maxCostUsd: z.number().nullable(),
  hasResponseSchema: z.boolean(),
});
export type RunSettings = z.infer<typeof RunSettings>;

export const RunTrace = RunSummary.extend({
  /** The whole text. */
  fullQuery: z.string(),
  response: z.string().nullable(),
  errorMessage: z.string().nullable(),
  warnings: z.array(z.string()),
  context: z.record(z.string(), z.unknown()),
  analysisMode: z.boolean(),
  settings: RunSettings,
  manifestHash: z.string().nullable(),
  deadlineAt: time,
  /** Parents before children. */
  spans: z.array(Span),
  /** Functions that its role was shown, and those kept from it. */
  visible: z.array(z.string()),
  hidden: z.array(z.string()),
});
export type RunTrace = z.infer<typeof RunTrace>;

/** Stored events of a run, each as it was sent. */
export const LogEvent = z.object({ seq: z.number(), at: time, body: z.string() });
export const LogPage = pageOf(LogEvent);
export type LogEvent = z.infer<typeof LogEvent>;

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
export const ConsoleThreadPage = pageOf(ConsoleThread);

/** Part of a thread, its newest queries first: messages and runs are in the thread's order, and `nextCursor` leads to earlier ones. */
export const ConsoleThreadDetail = ThreadDetail.extend({
  runs: z.array(RunSummary),
  /** Of all its queries. */
  figures: z.object({
    queries: z.number(),
    inputTokens: z.number(),
    outputTokens: z.number(),
    costUsd: z.number(),
  }),
});
export type ConsoleThreadDetail = z.infer<typeof ConsoleThreadDetail>;

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
export const ConsoleSessionPage = pageOf(ConsoleSession);
