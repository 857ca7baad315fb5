import { ApprovalStatus, RUN_ERROR_CODES, RunStatus } from "@patchbay/protocol";
import {
  acceptedRun,
  ADAPTER_CALLER,
  chunks,
  drained,
  events,
  EXPOSE,
  IDEMPOTENCY,
  inQuery,
  json,
  LAST_EVENT_ID,
  localEvents,
  messagePage,
  object,
  ON_DISCONNECT,
  pageOf,
  PREFER,
  PREFER_WAIT,
  ref,
  route,
  type RouteEntry,
  THREAD,
  withDeltas,
} from "./route-entry.ts";

/** Every route, described for the OpenAPI document and in its order. */
const TABLE = {
  query: route(
    "POST /agents/:agent_id/query",
    "api",
    "Send a query and wait for the whole answer",
    {
      "200": json("The run ended, or waits for an approval; see `code`", "QueryResponse"),
      "202": { description: "The run is stored. With `Prefer: respond-async` only", json: acceptedRun },
    },
    { body: "QueryRequest", parameters: [IDEMPOTENCY, ON_DISCONNECT, PREFER] },
  ),
  queryStream: route(
    "POST /agents/:agent_id/query-stream",
    "api",
    "Send a query and follow it as server-sent events",
    { "200": events },
    { body: "QueryRequest", streams: true, parameters: [IDEMPOTENCY, ON_DISCONNECT] },
  ),
  localQueryStream: route(
    "POST /agent/query-stream",
    "access",
    "Local development variant of the stream",
    { "200": localEvents },
    { body: "LocalQueryRequest", streams: true, local: true },
  ),
  runEvents: route(
    "GET /agents/:agent_id/runs/:run_id/events",
    "api",
    "Resume the stream of a run after Last-Event-ID",
    { "200": events, "204": drained },
    { streams: true, parameters: [LAST_EVENT_ID, withDeltas("includeDeltas")] },
  ),
  localRunEvents: route(
    "GET /agent/runs/:run_id/events",
    "access",
    "Resume a stream of the local development variant",
    { "200": localEvents, "204": drained },
    { streams: true, local: true, parameters: [LAST_EVENT_ID, withDeltas("include_deltas")] },
  ),
  cancelRun: route("POST /agents/:agent_id/runs/:run_id/cancel", "api", "Cancel a run", {
    "200": json("The run had ended", "CancelResponse"),
    "202": json("The run is being cancelled", "CancelResponse"),
  }),
  sendFeedback: route(
    "POST /agents/:agent_id/runs/:run_id/feedback",
    "api",
    "Say how good a run was; replaces what the key said before",
    { "204": { description: "The feedback is stored" } },
    { body: "Feedback" },
  ),
  deleteFeedback: route(
    "DELETE /agents/:agent_id/runs/:run_id/feedback",
    "api",
    "Remove what the key said about a run",
    { "204": { description: "The key has no feedback on the run" } },
  ),
  getRun: route("GET /agents/:agent_id/runs/:run_id", "api", "Read a run and, once it ended, its result", {
    "200": json("State, usage so far, and after the end the result", "RunDetail"),
  }),
  listRuns: route(
    "GET /agents/:agent_id/runs",
    "api",
    "List the agent's runs, newest first",
    { "200": json("One page of the runs that the key may read", "RunPage") },
    {
      parameters: [
        inQuery("status", "Lists only runs in this state", { type: "string", enum: RunStatus.options }),
        inQuery("code", "Lists only runs that this failure ended", { type: "string", enum: [...RUN_ERROR_CODES] }),
        inQuery(
          "endedAfterWrites",
          "True lists only runs that ended without an answer after a write, false the others",
          { type: "boolean" },
        ),
        inQuery("sessionId", "Lists only runs of queries with this value"),
        inQuery("threadId", "Lists only runs of this thread"),
        ...pageOf(50),
      ],
    },
  ),
  retryRun: route(
    "POST /agents/:agent_id/runs/:run_id/retry",
    "api",
    "Retry a failed run from its last stored step",
    {
      "200": json("The new run ended within `Prefer: wait=N`", "QueryResponse"),
      "202": json("The new run is stored", "RetryResponse"),
    },
    { parameters: [IDEMPOTENCY, ON_DISCONNECT, PREFER_WAIT], fails: ["409", "429"] },
  ),
  listThreads: route(
    "GET /agents/:agent_id/threads",
    "api",
    "List the agent's threads, newest first",
    { "200": json("One page of threads, latest change first", "ThreadPage") },
    { parameters: [...pageOf(50), inQuery("sessionId", "Lists only threads whose first query had this value")] },
  ),
  getThread: route(
    "GET /agents/:agent_id/threads/:thread_id",
    "api",
    "Read a thread with its messages",
    { "200": json("The thread with one page of its messages", "ThreadDetail") },
    { parameters: pageOf(100) },
  ),
  deleteThread: route(
    "DELETE /agents/:agent_id/threads/:thread_id",
    "api",
    "Erase a thread with its messages, events and calls",
    { "204": { description: "Messages, events and calls of the thread are erased" } },
  ),
  listApprovals: route(
    "GET /agents/:agent_id/approvals",
    "api",
    "List approvals, newest first, with a key that may decide them",
    { "200": json("One page of approvals", "ApprovalPage") },
    {
      parameters: [
        inQuery("status", "Lists only approvals in this state", { type: "string", enum: ApprovalStatus.options }),
        inQuery("runId", "Lists only approvals of this run"),
        ...pageOf(50),
      ],
    },
  ),
  getApproval: route(
    "GET /agents/:agent_id/approvals/:approval_id",
    "api",
    "Read an approval, with a key that may decide it",
    { "200": json("The approval in its present state", "Approval") },
  ),
  decideApproval: route(
    "POST /agents/:agent_id/approvals/:approval_id/decision",
    "api",
    "Approve or reject a call, with a key that may decide",
    { "200": json("The approval with its decision", "Approval") },
    { body: "ApprovalDecision", fails: ["409"] },
  ),
  mcp: route(
    "POST /agents/:agent_id/mcp",
    "adapter",
    "Call functions as tools, by the Model Context Protocol",
    {
      "200": object("A JSON-RPC response, as JSON or as server-sent events"),
      "202": { description: "A notification was accepted" },
    },
    { body: "McpMessage", streams: true, parameters: [...ADAPTER_CALLER, EXPOSE] },
  ),
  listModels: route(
    "GET /agents/:agent_id/v1/models",
    "adapter",
    "List the agent's roles as models, for clients of OpenAI's API",
    { "200": json("`AGENT`, `AGENT:ROLE` for each role, and `AGENT:titles`", "ModelList") },
    { failure: "OpenAiError" },
  ),
  createChatCompletion: route(
    "POST /agents/:agent_id/v1/chat/completions",
    "adapter",
    "Send a query in the form of OpenAI's chat completions",
    {
      "200": {
        ...json(
          "The answer, or with `stream` its parts as server-sent events, and `[DONE]` as the last one",
          "ChatCompletion",
        ),
        stream: ref("ChatCompletionChunk"),
      },
    },
    {
      body: "ChatCompletionRequest",
      parameters: [IDEMPOTENCY, THREAD, ...ADAPTER_CALLER],
      failure: "OpenAiError",
      fails: ["404", "409", "502", "504"],
    },
  ),
  uiStream: route(
    "POST /agents/:agent_id/ui-stream",
    "adapter",
    "Send a message of a chat of the AI SDK, or decide on its approvals, and stream the answer",
    { "200": chunks },
    {
      body: "UiStreamRequest",
      streams: true,
      parameters: [
        inQuery("reasoning", "`1` asks the model for its reasoning, which the message then has in parts of its own", {
          type: "string",
          enum: ["1"],
        }),
        ...ADAPTER_CALLER,
      ],
      fails: ["404"],
    },
  ),
  resumeUiStream: route(
    "GET /agents/:agent_id/ui-stream/:chat_id/stream",
    "adapter",
    "Stream the message in progress of a chat again, from its beginning",
    { "200": chunks, "204": { description: "No message of the chat is in progress, or the chat is unknown" } },
    { streams: true, parameters: ADAPTER_CALLER },
  ),
  stopUiStream: route(
    "POST /agents/:agent_id/ui-stream/:chat_id/stop",
    "adapter",
    "Cancel the runs of a chat",
    {
      "202": json("The newest run is being cancelled", "CancelResponse"),
      "204": { description: "No run of the chat is in progress, or the chat is unknown" },
    },
    { parameters: ADAPTER_CALLER },
  ),
  uiMessages: route(
    "GET /agents/:agent_id/ui-stream/:chat_id/messages",
    "adapter",
    "Read the messages of a chat, oldest first, as the AI SDK has them",
    {
      "200": {
        description: "One page of messages, without the one in progress; empty for an unknown chat",
        json: messagePage,
      },
    },
    { parameters: [...pageOf(50), ...ADAPTER_CALLER] },
  ),
  createClientToken: route(
    "POST /agents/:agent_id/client-tokens",
    "api",
    "Make a token for a page, with which it queries under one role and context",
    { "201": json("The token, which is not shown again", "ClientToken") },
    { body: "ClientTokenRequest" },
  ),
  connect: route(
    "GET /functions/connect",
    "runtime",
    "Connect a functions runtime (WebSocket)",
    { "101": { description: "The connection is open" } },
    { fails: ["400", "401", "403", "429", "503"] },
  ),
  healthz: route(
    "GET /healthz",
    "open",
    "The process is alive",
    { "200": object("The process accepts requests") },
    { probe: true },
  ),
  readyz: route(
    "GET /readyz",
    "open",
    "Store, bus and migrations are ready",
    { "200": object("The store and the bus are available, so the service can work on queries") },
    { probe: true, fails: ["503"] },
  ),
  metrics: route(
    "GET /metrics",
    "open",
    "Figures in Prometheus's form",
    {
      "200": { description: "Counters, gauges and histograms in Prometheus's text format", mediaType: "text/plain" },
    },
    { probe: true, fails: ["401"] },
  ),
  openapi: route("GET /openapi.json", "open", "This document", {
    "200": object("An OpenAPI 3.1 document with the limits of this service in `x-limits`"),
  }),
};

export type RouteId = keyof typeof TABLE;

/** One query API route. The responses to unknown paths and methods, the OpenAPI document and tests derive from it. */
export type RouteSpec = RouteEntry & { id: RouteId };

export const ROUTES: readonly RouteSpec[] = Object.entries(TABLE).map(([id, entry]) => ({
  id: id as RouteId,
  ...entry,
}));
