import type {
  Approval,
  ApprovalDecision,
  ApprovalPage,
  ApprovalStatus,
  CancelResponse,
  CheckRequest,
  CheckResponse,
  Feedback,
  FunctionManifest,
  Inclusions,
  LlmConfig,
  Manifest,
  QueryResponse,
  RunDetail,
  RunPage,
  RunStatus,
  TraceContext,
  Reasoning,
} from "@patchbay/protocol";
import type { JsonObject } from "@patchbay/kit";
import type { ClientToken } from "../ports/store/client-tokens.ts";
import type { ProvenCaller } from "../ports/callers.ts";
import type { PageAsked, RunsAsked } from "../ports/store/page.ts";
import type { Credential, CredentialRight } from "../ports/store/stores.ts";
import type { QuotedText, RunRecord, TestCall, ThreadKey } from "../ports/records.ts";

export { promptParts } from "./loop/compact.ts";
export { type SentRequest, sentRequests } from "./loop/rebuild.ts";
export { CUT_ANSWER, outcomeFields, parametersOf } from "./answer.ts";
export { historyScope, shownFunctions } from "./state.ts";
export { directCall } from "./start/direct-call.ts";
export { statable, visibleFunctions } from "./role-check.ts";
export { asClaimed, narrowed } from "./start/claimed.ts";
export { visibleTo } from "./visibility.ts";
export type { Observer, QueryLine } from "./run-context.ts";

/** The authenticated sender of a request, identified by its key or token. */
export interface Principal extends Pick<Credential, "taskModel"> {
  keyId: string;
  /** The key's label. */
  keyLabel?: string;
  agentId: string;
  orgId: string;
  tier: string;
  /** Roles that the key is pinned to; undefined means any. */
  roles?: readonly string[];
  /** The roles that the key is pinned to, where a caller's token narrows `roles`. */
  pinned?: readonly string[] | undefined;
  /** What these roles include. */
  inclusions?: Inclusions | undefined;
  /** Rights besides sending queries. */
  can?: readonly CredentialRight[];
  /** The request's client token: it fixes role and context, whatever a query states. */
  fixed?: ClientToken;
  /** Claims of the caller's token that the owner's code receives. */
  callerClaims?: readonly string[];
  /** What the caller's token proved; it narrows `roles`. */
  proven?: ProvenCaller;
}

/** A parsed query, the same for every endpoint. */
export interface Query {
  query: string;
  /** Texts that the client sent with the query: data for the model. `beforeQuery` hooks check them with the query. */
  quoted?: readonly QuotedText[];
  threadId?: string;
  /** Instead of `threadId`: the thread with this key, created if it does not exist. */
  externalThread?: ThreadKey;
  sessionId?: string;
  role?: string;
  /** The endpoint's default, where neither the query nor the caller's token states a role. */
  defaultRole?: string;
  context?: JsonObject;
  analysisMode: boolean;
  /** Default: the agent's setting, else `defaultMaxTokens`. */
  maxTokens?: number;
  /** The endpoint's default. Default `LIMITS.defaultMaxTokens`. */
  defaultMaxTokens?: number;
  /** Default: `llm.temperature`, else the agent's setting. */
  temperature?: number;
  /** Default: `llm.reasoning`, else the agent's setting. */
  reasoning?: Reasoning;
  /** A JSON Schema that the answer must meet. */
  responseSchema?: JsonObject;
  llm?: LlmConfig;
  /** Replaces the agent's instructions. Only the console sets it. */
  instructions?: string;
  /** Makes this call instead of asking a model: a direct call, which is not in any thread list. */
  testCall?: TestCall;
  /** Refuses a direct call without credit, as for a query from the same client. Members' test calls need none. */
  needsCredit?: boolean;
  /** A chat client's background task, such as a title: runs no function, and ignores the agent's answer schema. */
  task?: boolean;
  /** The client does not wait: the run's end is reported to its agent's webhook. */
  respondAsync?: boolean;
  /** Cancels a run in the thread that waits for an approval or a detached function. */
  supersede?: boolean;
  /** Stores the request to cancel for other processes: one that resumes the stream or takes over the run. */
  cancelWhenGone?: boolean;
  /** The client can resume its stream: its request to cancel outlasts a wait and its process's shutdown. */
  resumable?: boolean;
  /** Repeats this run, with its model and settings instead of the agent's. Only the console sets it. */
  repeats?: Pick<RunRecord, "runId" | "threadId" | "callerId" | "request">;
  idempotency?: { key: string; bodyHash: string };
  /** The HTTP request's id. */
  requestId?: string;
  /** The path of the route that received the query, for the audit log. */
  adapter?: string;
  /** The answer's first warnings: what the endpoint ignored. */
  warnings?: readonly string[];
  /** The client's span. */
  trace?: TraceContext;
}

/** Options for a retry. */
export interface RetryOptions extends Pick<Query, "adapter" | "idempotency" | "requestId" | "trace"> {
  /** Reports the run's end to its agent's webhook, if there is one. */
  reported?: boolean;
  /** A person asks, who may also retry a run that crashed its process repeatedly. */
  byMember?: boolean;
}

/** Ids of an accepted or joined run. */
export interface RunHandle {
  runId: string;
  threadId: string;
  agentId: string;
  /** The run's role. */
  role?: string;
  /** The id of the trace that it began or joined; absent unless the trace is sampled. */
  traceId?: string;
}

/** A reader of a run, until disposed. */
export interface Reader extends Disposable {
  /** The reader got its answer: when it disconnects, the run is not cancelled. */
  answered(): void;
}

/** What a client may know about an agent. */
export interface AgentFacts {
  name: string;
  /** The roles that a service or a function names; undefined while no service is connected. */
  roles: ReadonlySet<string> | undefined;
}

/** The functions that exist for a role. */
export interface RoleFunctions {
  /** The stated role, or the service's default. */
  role?: string;
  /** What a new run would get. */
  manifest: Manifest;
  functions: readonly FunctionManifest[];
}

/** How long to wait for a run. */
export interface ResultOptions {
  signal: AbortSignal;
  /** Waits this long for a run's end while the run waits. Default 0. */
  waitMs?: number;
  /** `approval`: waits also while a run waits for detached functions only. Default `any`. */
  pauses?: "any" | "approval";
}

/** One event in a followed run: a stored event has an `id`, a live one does not. `body` is the event's JSON. */
export interface Followed {
  id?: number;
  body: string;
}

/** A followed run's events, each by itself. */
export async function* eachOf(followed: AsyncIterable<readonly Followed[]>): AsyncGenerator<Followed> {
  for await (const events of followed) yield* events;
}

/**
 * The run layer: it accepts queries, runs them to their last event, and reads runs afterwards. The HTTP API and the
 * console import only this file.
 */
export interface Runs {
  /**
   * Accepts a query, or joins the run that its Idempotency-Key began. Throws `ServiceError` for an invalid query: an
   * unknown thread, a role that the key may not state, an unfit context, a key used with another body. Later failures
   * end the run.
   */
  start(principal: Principal, query: Query): Promise<RunHandle>;

  /** Throws `role_not_allowed`, which is audited, for a role that the principal may not state. */
  requireRole(principal: Principal, role: string | undefined): Promise<void>;

  /** What the roles of an agent's services include. Undefined without inclusions. */
  inclusions(agentId: string): Promise<Inclusions | undefined>;
  /** The principal's agent, without waiting for a service. */
  agentFacts(principal: Principal): Promise<AgentFacts>;
  /** Undefined when no service is connected. */
  functionsFor(principal: Principal, role: string | undefined): Promise<RoleFunctions | undefined>;
  /** What the owner's checks decide on a call that is not made. Undefined as for `functionsFor`. */
  check(principal: Principal, call: CheckRequest): Promise<CheckResponse | undefined>;
  /** Calls `changed` until disposed when `agentFacts` or `functionsFor` may return something else. A change may go unreported. */
  onAgentChange(principal: Principal, changed: () => void): Disposable;

  /** The run with a known Idempotency-Key, without other checks. Throws `ServiceError` as `start` does. */
  join(principal: Principal, key: string, bodyHash: string): Promise<RunHandle | undefined>;

  /** Detaches a run with an unreturned outcome; a later request from its client reattaches to it by name. */
  detach(run: RunHandle, name: string): Promise<void>;
  /**
   * Takes a detached run with this name, once: the oldest one that does not wait for an approval, else the oldest.
   * Undefined 24 h after its end, and for a cancelled run.
   */
  reattach(principal: Principal, name: string): Promise<RunHandle | undefined>;

  /**
   * The run's log after event `after` (0 for all), then live, up to the last event. Live events come only with
   * `deltas`; with `statuses`, only those that say why the model delays. Events that arrive together are one item,
   * which costs less. Ends early, after a complete event, when the process drains. Ending the iteration does not end
   * the run.
   */
  follow(
    run: RunHandle,
    options: { after: number; deltas: boolean; statuses?: boolean; signal: AbortSignal },
  ): AsyncIterable<readonly Followed[]>;

  /** Waits until the run ends or waits for calls. Undefined when the process drains first, as another replica continues. */
  result(run: RunHandle, options: ResultOptions): Promise<QueryResponse | undefined>;

  /** Like `result`, as the JSON text of the query endpoint's body. */
  resultText(run: RunHandle, options: ResultOptions): Promise<string | undefined>;

  /**
   * Retries a failed run: a new run with its query, role, context and subject, and the newest functions, that begins
   * with the failed run's steps and repeats none of them. Undefined for a run that the principal may not see; throws
   * `conflict` for one that cannot be retried. Failures after its start end the run.
   */
  retry(principal: Principal, runId: string, options: RetryOptions): Promise<RunHandle | undefined>;

  /** The runs that the principal may see, newest first. A page can be short and still have a next one. */
  list(principal: Principal, asked: RunsAsked): Promise<RunPage>;

  /** Counts a reader until disposed. `cancelWhenGone` cancels the run 5 s after its last reader disconnects. */
  attach(run: RunHandle, options: { cancelWhenGone: boolean }): Reader;
  /** True if the run's query asked to cancel it when its last reader disconnects. */
  cancelsWhenGone(run: RunHandle): Promise<boolean>;

  /** Open runs in the thread that the principal may see, oldest first. */
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
   * Cancels the thread's runs, then erases it. False when the principal may not see such a thread. A pinned key may
   * erase only what it may read: throws `role_not_allowed` for a thread with runs under other roles.
   */
  eraseThread(principal: Principal, threadId: string): Promise<boolean>;

  /** Starts to recover runs without a process. */
  open(): Promise<void>;
  /** Gives runs `graceMs` to end, then hands them over, and serves followers up to `followMs` more (default 0), while others continue them. */
  drain(graceMs: number, followMs?: number): Promise<void>;
}

/** Filters approvals. All given properties must match. */
export interface ApprovalsAsked extends PageAsked {
  status?: ApprovalStatus;
  runId?: string;
}

/**
 * Approvals as people and keys read and decide them. `decide` makes every decision, from any surface. Methods throw
 * `role_not_allowed` for a principal without the right to decide.
 */
export interface Approvals {
  /** Throws if the principal has no right to read and decide approvals. */
  requireRight(principal: Principal): void;
  list(principal: Principal, asked: ApprovalsAsked): Promise<ApprovalPage>;
  /** Throws `not_found` for an unknown approval, and for one whose run the principal may not read. */
  get(principal: Principal, approvalId: string): Promise<Approval>;
  /** As `get`, also for decided ones. Throws also `role_not_allowed` if the principal's only role may not decide. */
  decidable(principal: Principal, approvalId: string): Promise<Approval>;
  /**
   * Throws also `role_not_allowed` if the principal may not decide under `as`, `conflict` with the status if the approval is no
   * longer pending, and `invalid_request` for changed arguments that may not be changed. Then nothing is decided.
   */
  decide(principal: Principal, approvalId: string, decision: ApprovalDecision): Promise<Approval>;
}
