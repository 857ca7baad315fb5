import type {
  Approval,
  ApprovalDecision,
  ApprovalPage,
  ApprovalStatus,
  CancelResponse,
  Feedback,
  FunctionManifest,
  JsonObject,
  LlmConfig,
  Manifest,
  QueryResponse,
  RunDetail,
  RunStatus,
  TraceContext,
} from "@patchbay/protocol";
import type { ClientToken } from "../ports/client-tokens.ts";
import type { ProvenCaller } from "../ports/callers.ts";
import type { CredentialRight } from "../ports/stores.ts";
import type { QuotedText, RunRecord, TestCall, ThreadKey } from "../ports/records.ts";

export { promptParts } from "./loop/compact.ts";
export { type SentRequest, sentRequests } from "./loop/rebuild.ts";
export { CUT_ANSWER, outcomeFields, parametersOf } from "./answer.ts";
export { historyScope, shownFunctions } from "./state.ts";
export { directCall } from "./start/direct-call.ts";
export { visibleFunctions } from "./role-check.ts";
export { asStated, narrowed } from "./start/stated.ts";
export type { Observer, QueryLine } from "./run-context.ts";

/** The authenticated sender of a request, taken from its key or token. */
export interface Principal {
  keyId: string;
  /** The name that people gave the key. */
  keyLabel?: string;
  agentId: string;
  orgId: string;
  tier: string;
  /** Roles that the key is pinned to; undefined means any. */
  roles?: readonly string[];
  /** Rights besides sending queries. */
  can?: readonly CredentialRight[];
  /** The client token of the request: role and context are those of the token, whatever a query states. */
  fixed?: ClientToken;
  /** What the token of its caller proved; `roles` are narrowed to it. */
  proven?: ProvenCaller;
}

/** A parsed query, the same for every endpoint. */
export interface Query {
  query: string;
  /** Texts that the client sent next to the query: data for the model. `beforeQuery` hooks check them with the query. */
  quoted?: readonly QuotedText[];
  threadId?: string;
  /** In place of `threadId`: the thread with this key. It is made if it does not exist. */
  externalThread?: ThreadKey;
  sessionId?: string;
  role?: string;
  /** The endpoint's default, where neither the query nor the token of its caller states a role. */
  defaultRole?: string;
  context?: JsonObject;
  analysisMode: boolean;
  /** Default: the agent's setting, else `defaultMaxTokens`. */
  maxTokens?: number;
  /** The endpoint's default. Default `LIMITS.defaultMaxTokens`. */
  defaultMaxTokens?: number;
  /** Default: that of `llm`, else the agent's setting. */
  temperature?: number;
  /** A JSON Schema that the answer must meet. */
  responseSchema?: JsonObject;
  llm?: LlmConfig;
  /** Replaces the agent's instructions. Only the console sets it. */
  instructions?: string;
  /** Makes this call instead of asking a model: a direct call, which is in no list of threads. */
  testCall?: TestCall;
  /** Refuses a direct call without credit, which a query of its client would need. Test calls of members need none. */
  needsCredit?: boolean;
  /** A background task of a chat client, such as a title: no function runs, and the agent's answer schema does not apply. */
  task?: boolean;
  /** The client does not wait: the end of the run is reported to the webhook of its agent. */
  respondAsync?: boolean;
  /** Cancels a run of the thread that waits for an approval. */
  supersede?: boolean;
  /** Keeps the wish of a stream's client, so that a stream that is resumed at another process has it too. */
  cancelWhenGone?: boolean;
  /** Repeats this run, with its model and settings in place of the agent's. Only the console sets it. */
  repeats?: Pick<RunRecord, "runId" | "threadId" | "request">;
  idempotency?: { key: string; bodyHash: string };
  /** Id of the HTTP request. */
  requestId?: string;
  /** The first warnings of the answer: what the endpoint ignored. */
  warnings?: readonly string[];
  /** The client's span. */
  trace?: TraceContext;
}

/** Ids of a run that was accepted or joined. */
export interface RunHandle {
  runId: string;
  threadId: string;
  agentId: string;
  /** The role that it acts in. */
  role?: string;
  /** Id of the trace that it began or joined; absent unless the trace is sampled. */
  traceId?: string;
}

/** A reader of a run, until disposed. */
export interface Reader extends Disposable {
  /** The reader got its answer: that it leaves does not cancel the run. */
  answered(): void;
}

/** What a client may know of an agent. */
export interface AgentFacts {
  name: string;
  /** The roles that a service or a function names; undefined while no service is connected. */
  roles: ReadonlySet<string> | undefined;
}

/** The functions that exist for a role. */
export interface RoleFunctions {
  /** The role that was stated, or the default of the service. */
  role?: string;
  /** What a new run would get. */
  manifest: Manifest;
  functions: readonly FunctionManifest[];
}

/** How long to wait for a run. */
export interface ResultOptions {
  signal: AbortSignal;
  /** Waits so long for the end of a run that waits for an approval. Default 0. */
  waitMs?: number;
}

/** One event of a followed run: a stored event has an `id`, a live one does not. `body` is the event's JSON. */
export interface Followed {
  id?: number;
  body: string;
}

/** The events of a followed run, each by itself. */
export async function* eachOf(followed: AsyncIterable<readonly Followed[]>): AsyncGenerator<Followed> {
  for await (const events of followed) yield* events;
}

/**
 * The run layer: from the acceptance of a query to its last event, and what can be asked about runs afterwards. The HTTP
 * API and the console import only this file.
 */
export interface Runs {
  /**
   * Accepts a query, or joins the run that its Idempotency-Key began. Throws `ServiceError` for an invalid query: an unknown thread,
   * a role that the key may not state, a context that does not fit, a key that was used with another body. Later failures end the run.
   */
  start(principal: Principal, query: Query): Promise<RunHandle>;

  /** Throws `role_not_allowed`, which is audited, for a role that the principal may not state. */
  requireRole(principal: Principal, role: string | undefined): Promise<void>;

  /** The agent of the principal, without waiting for a service. */
  agentFacts(principal: Principal): Promise<AgentFacts>;
  /** Undefined when no service is connected. */
  functionsFor(principal: Principal, role: string | undefined): Promise<RoleFunctions | undefined>;
  /** Calls `changed` until disposed when `agentFacts` or `functionsFor` may return something else. A change may go unreported. */
  onAgentChange(principal: Principal, changed: () => void): Disposable;

  /** The run of a known Idempotency-Key, without checking the rest of the request. Throws `ServiceError` as `start` does. */
  join(principal: Principal, key: string, bodyHash: string): Promise<RunHandle | undefined>;

  /** Leaves the run to a later request of its client, which takes it by the same name: its outcome was not returned yet. */
  leave(run: RunHandle, name: string): Promise<void>;
  /**
   * Takes a run that was left under the name, once: the oldest one that does not wait for an approval, else the oldest. Undefined 24 h
   * after its end, and for a run that was cancelled.
   */
  takeLeft(principal: Principal, name: string): Promise<RunHandle | undefined>;

  /**
   * The run's log after event `after` (0 for all), then live, up to the last event. Live events come only with `deltas`. Events that
   * arrive together are one item, which costs less than an item for each. Ends early, after a complete event, when the process
   * drains. Leaving the iteration ends only the iteration, not the run.
   */
  follow(
    run: RunHandle,
    options: { after: number; deltas: boolean; signal: AbortSignal },
  ): AsyncIterable<readonly Followed[]>;

  /**
   * Waits until the run ends or waits for an approval. Undefined when the process drains first; the run continues at another
   * replica.
   */
  result(run: RunHandle, options: ResultOptions): Promise<QueryResponse | undefined>;

  /** Like `result`, as the JSON text of the query endpoint's body. */
  resultText(run: RunHandle, options: ResultOptions): Promise<string | undefined>;

  /** Counts a reader of the run until disposed. With `cancelWhenGone`, the run is cancelled 5 s after its last reader has left. */
  attach(run: RunHandle, options: { cancelWhenGone: boolean }): Reader;
  /** True if the query of the run asked to cancel it when its last reader has left. */
  cancelsWhenGone(run: RunHandle): Promise<boolean>;

  /** Runs of the thread that have not ended and that the principal may see, oldest first. */
  unended(principal: Principal, threadId: string): Promise<(RunHandle & { lastEventId: number })[]>;
  /** The run's log as it is now, a few events at a time. */
  log(run: RunHandle): AsyncIterable<Followed>;

  /** Undefined when the principal may not see such a run. */
  find(
    principal: Principal,
    runId: string,
  ): Promise<(RunHandle & { status: RunStatus; lastEventId: number; finishedAgoMs?: number }) | undefined>;
  /** Undefined when the principal may not see such a run. */
  detail(principal: Principal, runId: string): Promise<RunDetail | undefined>;
  /** Stores the principal's feedback. False when it may not see such a run. */
  recordFeedback(principal: Principal, runId: string, feedback: Feedback): Promise<boolean>;
  /** Deletes the principal's feedback, if any. False when it may not see such a run. */
  deleteFeedback(principal: Principal, runId: string): Promise<boolean>;
  /** Undefined when the principal may not see such a run. */
  cancel(principal: Principal, runId: string): Promise<CancelResponse | undefined>;

  /**
   * Cancels the runs of the thread, then erases it. False when the principal may not see such a thread. A pinned key may erase only
   * what it may read: throws `role_not_allowed` for a thread with runs of other roles.
   */
  eraseThread(principal: Principal, threadId: string): Promise<boolean>;

  /** Starts to recover runs that no process works on. */
  open(): Promise<void>;
  /**
   * Gives runs `graceMs` to end, then hands them over. Followers are served for up to `followMs` more (default 0) while other
   * replicas continue the runs.
   */
  drain(graceMs: number, followMs?: number): Promise<void>;
}

/** A filter of approvals. All given properties must match. */
export interface ApprovalsAsked {
  status?: ApprovalStatus;
  runId?: string;
  limit: number;
  cursor?: string;
}

/**
 * Approvals as people and keys read and decide them. Every decision, from whichever surface, is made by `decide`. Methods throw
 * `role_not_allowed` for a principal without the right to decide.
 */
export interface Approvals {
  /** Throws if the principal has no right to read and decide approvals. */
  requireRight(principal: Principal): void;
  list(principal: Principal, asked: ApprovalsAsked): Promise<ApprovalPage>;
  /** Throws `not_found` for an unknown approval, and for one of a run that the principal may not read. */
  get(principal: Principal, approvalId: string): Promise<Approval>;
  /** As `get`. Throws also `role_not_allowed` if the principal, whose only role is known, may not decide; decided ones are returned. */
  decidable(principal: Principal, approvalId: string): Promise<Approval>;
  /**
   * Throws also `role_not_allowed` if the principal may not decide under `as`, `conflict` with the status if the approval is no
   * longer pending, and `invalid_request` for changed arguments that may not be changed. Then nothing is decided.
   */
  decide(principal: Principal, approvalId: string, decision: ApprovalDecision): Promise<Approval>;
}
