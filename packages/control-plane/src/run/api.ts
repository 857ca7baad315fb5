import type { CancelResponse, JsonObject, LlmConfig, QueryResponse, RunDetail, RunStatus } from "@patchbay/protocol";
import type { TrialCall } from "../ports/records.ts";

/** Who asks: taken from the key or token, never from the body. */
export interface Caller {
  keyId: string;
  agentId: string;
  orgId: string;
  tier: string;
  /** Roles the key is pinned to; undefined means any. */
  roles?: readonly string[];
}

/** A query as both endpoints put it, after parsing. */
export interface Query {
  query: string;
  threadId?: string;
  sessionId?: string;
  role?: string;
  context?: JsonObject;
  analysisMode: boolean;
  /** Default: that of the agent, or `defaultMaxTokens`. */
  maxTokens?: number;
  /** What the endpoint takes where neither the query nor the agent says it. Default `LIMITS.defaultMaxTokens`. */
  defaultMaxTokens?: number;
  /** A JSON Schema that the answer meets. */
  responseSchema?: JsonObject;
  llm?: LlmConfig;
  /** Ask for exactly this call instead of asking a model. No query endpoint sets it. */
  trial?: TrialCall;
  idempotency?: { key: string; bodyHash: string };
  /** Id of the request that asks. */
  requestId?: string;
}

/** Ids of a run that was accepted or joined. */
export interface RunHandle {
  runId: string;
  threadId: string;
  agentId: string;
}

/** One item of a followed run: a stored event has an `id`, a live one has none. `body` is the event's JSON in endpoint 2's form. */
export interface Followed {
  id?: number;
  body: string;
}

/** The core: everything that can be done with runs. Layers above know only this. */
export interface Runs {
  /**
   * Accepts a query, or joins the run its Idempotency-Key began. Throws `ServiceError` for what is the caller's fault (unknown
   * thread, role not allowed for the key, context refused, key reused with another body); everything later ends the run instead.
   */
  start(caller: Caller, query: Query): Promise<RunHandle>;

  /** The run of a known Idempotency-Key, before anything else of the request is looked at. Throws `ServiceError` as `start` does. */
  join(caller: Caller, key: string, bodyHash: string): Promise<RunHandle | undefined>;

  /**
   * The run's log after event `after` (0 for all) and then live, ending after the terminal event. Live events come only with
   * `deltas`. Ends early, after a complete event, when the process drains. Leaving the iteration stops it; the run goes on.
   */
  follow(run: RunHandle, options: { after: number; deltas: boolean; signal: AbortSignal }): AsyncIterable<Followed>;

  /** Waits for the end of the run. Undefined when the process drains first: the run goes on elsewhere. */
  result(run: RunHandle, options: { signal: AbortSignal }): Promise<QueryResponse | undefined>;

  /** As `result`, in the JSON text of endpoint 1. */
  resultText(run: RunHandle, options: { signal: AbortSignal }): Promise<string | undefined>;

  /** Counts a reader of the run until disposed; when `cancelWhenGone`, the run is cancelled 5 s after its last reader left. */
  attach(run: RunHandle, options: { cancelWhenGone: boolean }): Disposable;

  /** Undefined when the caller may not see such a run. */
  find(
    caller: Caller,
    runId: string,
  ): Promise<(RunHandle & { status: RunStatus; lastEventId: number; finishedAgoMs?: number }) | undefined>;
  detail(caller: Caller, runId: string): Promise<RunDetail | undefined>;
  cancel(caller: Caller, runId: string): Promise<CancelResponse | undefined>;

  /**
   * Cancels what runs on the thread, then erases it. False when the caller may not see such a thread. A pinned key erases
   * nothing that it could not have read: throws `role_not_allowed` for a thread with turns of other roles.
   */
  eraseThread(caller: Caller, threadId: string): Promise<boolean>;

  /** Starts recovering runs nobody works on. */
  open(): Promise<void>;
  /**
   * Hands its runs over: gives them `graceMs` to end, then ends their leases. Those who follow runs are served for up to
   * `followMs` more (default 0), while others go on with them.
   */
  drain(graceMs: number, followMs?: number): Promise<void>;
}
