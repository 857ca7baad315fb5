import type {
  Approval,
  ApprovalDecision,
  ApprovalPage,
  ApprovalStatus,
  CancelResponse,
  CheckRequest,
  CheckResponse,
  ClientToken,
  ClientTokenRequest,
  Feedback,
  FunctionList,
  LlmConfig,
  QueryResponse,
  RetryResponse,
  RunDetail,
  RunPage,
  ThreadDetail,
  ThreadPage,
} from "@patchbay/protocol";
import type { JsonObject } from "@patchbay/kit";
import { followEvents, type StreamedEvent } from "./follow-events.ts";
import { PatchbayError } from "./patchbay-error.ts";
import { withRetries } from "./retries.ts";
import { type AgentRequest, createSend } from "./send.ts";

export interface ClientOptions {
  /** Service address, such as `https://patchbay.example.com`. */
  baseUrl: string;
  agentId: string;
  /**
   * The agent's API key. Leave it out only with a `token`, or where your proxy adds it: the key holder states the role.
   */
  apiKey?: string | undefined;
  /**
   * Your identity provider's token as the whole credential, for agents whose callers need no key. A function is called for
   * each request, so that it can replace a token before it expires. Not with `apiKey` or `callerToken`.
   */
  token?: string | (() => string | Promise<string>) | undefined;
  /**
   * Returns your identity provider's token that proves the caller. Called for each request, so that it can replace a
   * token before it expires. Default: none.
   */
  callerToken?: (() => string | Promise<string>) | undefined;
  /** Retries after a temporary failure. Default: 4, and 8 for a stream that breaks. 0 turns retries off. */
  maxRetries?: number | undefined;
  /** Default: the global `fetch`. */
  fetch?: typeof fetch | undefined;
}

/** Query body. */
export interface Query {
  /** 1 to 100,000 UTF-16 code units. */
  query: string;
  /** Role under which the functions are called. */
  role?: string | undefined;
  /** Context for the functions: a JSON object as text. */
  contextJson?: string | undefined;
  /** Thread to continue. */
  threadId?: string | undefined;
  /** Your name for the session that the query belongs to. */
  sessionId?: string | undefined;
  analysisMode?: boolean | undefined;
  llmConfig?: LlmConfig | undefined;
  /** JSON Schema for the answer, which then also comes as a value in `structured`. */
  responseSchema?: JsonObject | undefined;
  /** Streams tokens and progress as live events. */
  includeDeltas?: boolean | undefined;
  /** Cancels a run in the thread that waits for an approval. */
  supersede?: boolean | undefined;
}

export interface RequestOptions {
  /** Ends the request. A run that began continues on the service; `cancelRun` ends it. */
  signal?: AbortSignal | undefined;
}

export interface QueryOptions extends RequestOptions {
  /** Joins the run of an earlier query with the same key and body. Default: a new key, so that retries join their run. */
  idempotencyKey?: string | undefined;
  /** Cancels the run when its last reader has been gone for 5 s. */
  cancelOnDisconnect?: boolean | undefined;
  /** Seconds, at most 240, that `query` waits for the end when its run waits for an approval. Default: 0. */
  waitSeconds?: number | undefined;
}

export interface QueryStreamOptions extends QueryOptions {
  /** Called before the first event. */
  onStart?: ((run: { runId: string; threadId: string | undefined }) => void) | undefined;
}

export interface FollowRunOptions extends RequestOptions {
  /** Id of the last event already seen. Default: all events. */
  after?: number | undefined;
}

export interface PageOptions extends RequestOptions {
  /** 1 to 100. */
  limit?: number | undefined;
  /** `nextCursor` from the previous page. */
  cursor?: string | undefined;
}

/** Filters for a run list. */
export interface RunsOptions extends PageOptions {
  status?: RunDetail["status"] | undefined;
  code?: QueryResponse["code"];
  /** True for runs that ended without an answer after a write. */
  endedAfterWrites?: boolean | undefined;
  sessionId?: string | undefined;
  threadId?: string | undefined;
}

export interface RetryOptions extends RequestOptions {
  /** Joins the run of an earlier retry with the same key. Default: a new key, so that repeated requests join their run. */
  idempotencyKey?: string | undefined;
}

/** `contextJson`: the context as text. */
export type CallToCheck = Omit<CheckRequest, "contextJson"> & Pick<Query, "contextJson">;

/** One agent's query API. Every method throws `PatchbayError`, or `signal.reason` on abort. */
export interface AgentClient {
  /** Sends a query and waits for its answer. A run that ends without one resolves with `success: false` and a `code`. */
  query(query: Query, options?: QueryOptions): Promise<QueryResponse>;
  /**
   * Sends a query when iteration begins and yields its run's events up to the last one, `finalResponse` or `error`. A
   * stream that breaks is resumed. Leaving the loop early ends the stream; the run continues.
   */
  queryStream(query: Query, options?: QueryStreamOptions): AsyncGenerator<StreamedEvent, void, undefined>;
  /** Yields a run's events, stored and live; any client may have started the run. Ends without an event when none are left. */
  followRun(runId: string, options?: FollowRunOptions): AsyncGenerator<StreamedEvent, void, undefined>;
  /** Asks the service to cancel a run. Resolves with its status, which is final when the run had already ended. */
  cancelRun(runId: string, options?: RequestOptions): Promise<CancelResponse>;
  getRun(runId: string, options?: RequestOptions): Promise<RunDetail>;
  /** Lists runs, newest first. */
  listRuns(options?: RunsOptions): Promise<RunPage>;
  /**
   * Continues a failed run from its last stored step, as a new run: `followRun` and `getRun` read it. Throws `conflict` for a run that
   * cannot be retried.
   */
  retryRun(runId: string, options?: RetryOptions): Promise<RetryResponse>;
  /** Stores a rating for a run, in place of the key's earlier one. */
  sendFeedback(runId: string, feedback: Feedback, options?: RequestOptions): Promise<void>;
  /** Deletes the key's feedback on a run, if any. */
  deleteFeedback(runId: string, options?: RequestOptions): Promise<void>;
  /** Lists threads, latest change first. */
  listThreads(options?: PageOptions & { sessionId?: string | undefined }): Promise<ThreadPage>;
  /** Reads a thread with one page of its messages, oldest first. */
  getThread(threadId: string, options?: PageOptions): Promise<ThreadDetail>;
  /** Deletes a thread with its messages, events and calls. */
  deleteThread(threadId: string, options?: RequestOptions): Promise<void>;
  /** Lists approvals, newest first. This and the next methods need a key with the right to decide. */
  listApprovals(
    options?: PageOptions & { status?: ApprovalStatus | undefined; runId?: string | undefined },
  ): Promise<ApprovalPage>;
  getApproval(approvalId: string, options?: RequestOptions): Promise<Approval>;
  /** Approves or rejects a call. Throws `conflict` if the approval is not pending. */
  decideApproval(approvalId: string, decision: ApprovalDecision, options?: RequestOptions): Promise<Approval>;
  /** Lists the functions that a query with this role could call. This and the next method need a key with the right to check. */
  listFunctions(options?: RequestOptions & { role?: string | undefined }): Promise<FunctionList>;
  /** Asks what the owner's checks decide on a call, without making it. */
  checkCall(call: CallToCheck, options?: RequestOptions): Promise<CheckResponse>;
  /** Creates a token with which your page may use the agent as this role only. It ends with the client's key. */
  createClientToken(token: ClientTokenRequest, options?: RequestOptions): Promise<ClientToken>;
}

/**
 * Creates a client for one agent.
 *
 * Requests with a temporary failure (no response, status 502 to 504) are retried, after `Retry-After` where the service
 * sends it. Queries carry an `Idempotency-Key`, so a retry joins the run that the first attempt began.
 */
export function createClient({ maxRetries, ...options }: ClientOptions): AgentClient {
  const send = createSend(options);

  const readJson = <T>(path: string, request: AgentRequest): Promise<T> =>
    withRetries(async () => parseJson<T>(await send(path, request)), maxRetries, request.signal);

  const openEvents = async (runId: string, lastId: number | undefined, signal?: AbortSignal) => {
    const headers = { Accept: EVENT_STREAM, ...(lastId !== undefined && { "Last-Event-ID": String(lastId) }) };
    const response = await send(`${runPath(runId)}/events`, { headers, signal });
    return response.status === 204 ? undefined : response;
  };

  return {
    query: (body, options = {}) => readJson("/query", { ...queryRequest(body, options), signal: options.signal }),

    async *queryStream(body, { onStart, signal, ...options } = {}) {
      const request = { ...queryRequest(body, options, EVENT_STREAM), signal };
      const first = await withRetries(() => send("/query-stream", request), maxRetries, signal);
      const runId = first.headers.get("x-run-id");
      if (runId === null)
        throw new PatchbayError("invalid_response", "The service answered a query without X-Run-Id.", {
          status: first.status,
        });
      onStart?.({ runId, threadId: first.headers.get("x-thread-id") ?? undefined });
      yield* followEvents(first, { resume: (lastId) => openEvents(runId, lastId, signal), maxRetries, signal });
    },

    async *followRun(runId, { after, signal } = {}) {
      const first = await withRetries(() => openEvents(runId, after, signal), maxRetries, signal);
      yield* followEvents(first, { resume: (lastId) => openEvents(runId, lastId, signal), after, maxRetries, signal });
    },

    cancelRun: (runId, { signal } = {}) => readJson(`${runPath(runId)}/cancel`, { method: "POST", signal }),

    getRun: (runId, { signal } = {}) => readJson(runPath(runId), { signal }),

    listRuns: ({ signal, ...search } = {}) => readJson("/runs", { search, signal }),

    retryRun: (runId, { idempotencyKey = newKey(), signal } = {}) => {
      const headers = { "Idempotency-Key": idempotencyKey };
      return readJson(`${runPath(runId)}/retry`, { method: "POST", headers, signal });
    },

    async sendFeedback(runId, feedback, { signal } = {}) {
      const request = { method: "POST", headers: JSON_BODY, body: feedback, signal } as const;
      await withRetries(() => send(`${runPath(runId)}/feedback`, request), maxRetries, signal);
    },

    async deleteFeedback(runId, { signal } = {}) {
      await withRetries(() => send(`${runPath(runId)}/feedback`, { method: "DELETE", signal }), maxRetries, signal);
    },

    listThreads: ({ signal, ...search } = {}) => readJson("/threads", { search, signal }),

    getThread: (threadId, { signal, ...search } = {}) => readJson(threadPath(threadId), { search, signal }),

    async deleteThread(threadId, { signal } = {}) {
      // Not retried: after a lost response the second attempt would report that the thread does not exist.
      await send(threadPath(threadId), { method: "DELETE", signal });
    },

    listApprovals: ({ signal, ...search } = {}) => readJson("/approvals", { search, signal }),

    getApproval: (approvalId, { signal } = {}) => readJson(approvalPath(approvalId), { signal }),

    async decideApproval(approvalId, decision, { signal } = {}) {
      const path = `${approvalPath(approvalId)}/decision`;
      // Not retried: after a lost response the second attempt would report that the approval is decided.
      return parseJson(await send(path, { method: "POST", headers: JSON_BODY, body: decision, signal }));
    },

    listFunctions: ({ signal, ...search } = {}) => readJson("/functions", { search, signal }),

    checkCall: (call, { signal } = {}) =>
      readJson("/check", { method: "POST", headers: JSON_BODY, body: call, signal }),

    createClientToken: (token, { signal } = {}) =>
      readJson("/client-tokens", { method: "POST", headers: JSON_BODY, body: token, signal }),
  };
}

const EVENT_STREAM = "text/event-stream";
const JSON_BODY = { "Content-Type": "application/json" };
const runPath = (runId: string): string => `/runs/${encodeURIComponent(runId)}`;
const approvalPath = (approvalId: string): string => `/approvals/${encodeURIComponent(approvalId)}`;
const threadPath = (threadId: string): string => `/threads/${encodeURIComponent(threadId)}`;

function queryRequest(body: Query, options: QueryOptions, accept = "application/json") {
  const { idempotencyKey, cancelOnDisconnect, waitSeconds } = options;
  const headers = {
    Accept: accept,
    ...JSON_BODY,
    "Idempotency-Key": idempotencyKey ?? newKey(),
    ...(cancelOnDisconnect && { "X-On-Disconnect": "cancel" }),
    ...(waitSeconds !== undefined && { Prefer: `wait=${Math.floor(waitSeconds)}` }),
  };
  return { method: "POST", headers, body } as const;
}

/** `crypto.randomUUID` is missing on pages that are not served over HTTPS. */
function newKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

async function parseJson<T>(response: Response): Promise<T> {
  const { status, headers } = response;
  const answer = { status, requestId: headers.get("x-request-id") ?? undefined };
  const text = await response.text().catch((cause: unknown) => {
    throw new PatchbayError("unreachable", "The connection broke before the response was complete.", {
      ...answer,
      cause,
    });
  });
  try {
    return JSON.parse(text) as T;
  } catch (cause) {
    throw new PatchbayError("invalid_response", `The service answered ${status} with a body that is not JSON.`, {
      ...answer,
      cause,
    });
  }
}
