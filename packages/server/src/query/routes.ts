import { ApprovalStatus, RUN_ERROR_CODES, RunStatus } from "@patchbay/protocol";
import {
  acceptedRun,
  ADAPTER_CALLER,
  adapterRoute,
  apiRoute,
  chunks,
  drained,
  events,
  EXPOSE,
  IDEMPOTENCY,
  inQuery,
  json,
  LAST_EVENT_ID,
  localEvents,
  localRoute,
  messagePage,
  object,
  ON_DISCONNECT,
  openRoute,
  pageOf,
  PREFER,
  PREFER_WAIT,
  ref,
  type RouteEntry,
  runtimeRoute,
  THREAD,
  withDeltas,
} from "./route-entry.ts";

/** Every route, described for the OpenAPI document and in its order. */
const TABLE = {
  query: apiRoute(
    "POST /agents/:agent_id/query",
    "Send a query and wait for the whole answer",
    {
      "200": json("The run ended, or waits for an approval; see `code`", "QueryResponse"),
      "202": { description: "The run is stored. With `Prefer: respond-async` only", json: acceptedRun },
    },
    { body: "QueryRequest", parameters: [IDEMPOTENCY, ON_DISCONNECT, PREFER] },
  ),
  queryStream: apiRoute(
    "POST /agents/:agent_id/query-stream",
    "Send a query and follow it as server-sent events",
    { "200": events },
    { body: "QueryRequest", streams: true, parameters: [IDEMPOTENCY, ON_DISCONNECT] },
  ),
  localQueryStream: localRoute(
    "POST /agent/query-stream",
    "Local development variant of the stream",
    { "200": localEvents },
    { body: "LocalQueryRequest", streams: true },
  ),
  runEvents: apiRoute(
    "GET /agents/:agent_id/runs/:run_id/events",
    "Resume the stream of a run after Last-Event-ID",
    { "200": events, "204": drained },
    { streams: true, parameters: [LAST_EVENT_ID, withDeltas("includeDeltas")] },
  ),
  localRunEvents: localRoute(
    "GET /agent/runs/:run_id/events",
    "Resume a stream of the local development variant",
    { "200": localEvents, "204": drained },
    { streams: true, parameters: [LAST_EVENT_ID, withDeltas("include_deltas")] },
  ),
  cancelRun: apiRoute("POST /agents/:agent_id/runs/:run_id/cancel", "Cancel a run", {
    "200": json("The run had ended", "CancelResponse"),
    "202": json("The run is being cancelled", "CancelResponse"),
  }),
  sendFeedback: apiRoute(
    "POST /agents/:agent_id/runs/:run_id/feedback",
    "Say how good a run was; replaces what the key said before",
    { "204": { description: "The feedback is stored" } },
    { body: "Feedback" },
  ),
  deleteFeedback: apiRoute("DELETE /agents/:agent_id/runs/:run_id/feedback", "Remove what the key said about a run", {
    "204": { description: "The key has no feedback on the run" },
  }),
  getRun: apiRoute("GET /agents/:agent_id/runs/:run_id", "Read a run and, once it ended, its result", {
    "200": json("State, usage so far, and after the end the result", "RunDetail"),
  }),
  listRuns: apiRoute(
    "GET /agents/:agent_id/runs",
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
  retryRun: apiRoute(
    "POST /agents/:agent_id/runs/:run_id/retry",
    "Retry a failed run from its last stored step",
    {
      "200": json("The new run ended within `Prefer: wait=N`", "QueryResponse"),
      "202": json("The new run is stored", "RetryResponse"),
    },
    { parameters: [IDEMPOTENCY, ON_DISCONNECT, PREFER_WAIT], fails: ["409", "429"] },
  ),
  listThreads: apiRoute(
    "GET /agents/:agent_id/threads",
    "List the agent's threads, newest first",
    { "200": json("One page of threads, latest change first", "ThreadPage") },
    { parameters: [...pageOf(50), inQuery("sessionId", "Lists only threads whose first query had this value")] },
  ),
  getThread: apiRoute(
    "GET /agents/:agent_id/threads/:thread_id",
    "Read a thread with its messages",
    { "200": json("The thread with one page of its messages", "ThreadDetail") },
    { parameters: pageOf(100) },
  ),
  deleteThread: apiRoute(
    "DELETE /agents/:agent_id/threads/:thread_id",
    "Erase a thread with its messages, events and calls",
    { "204": { description: "Messages, events and calls of the thread are erased" } },
  ),
  listApprovals: apiRoute(
    "GET /agents/:agent_id/approvals",
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
  getApproval: apiRoute(
    "GET /agents/:agent_id/approvals/:approval_id",
    "Read an approval, with a key that may decide it",
    { "200": json("The approval in its present state", "Approval") },
  ),
  decideApproval: apiRoute(
    "POST /agents/:agent_id/approvals/:approval_id/decision",
    "Approve or reject a call, with a key that may decide",
    { "200": json("The approval with its decision", "Approval") },
    { body: "ApprovalDecision", fails: ["409"] },
  ),
  mcp: adapterRoute(
    "POST /agents/:agent_id/mcp",
    "Call functions as tools, by the Model Context Protocol",
    {
      "200": object("A JSON-RPC response, as JSON or as server-sent events"),
      "202": { description: "A notification was accepted" },
    },
    { body: "McpMessage", streams: true, parameters: [...ADAPTER_CALLER, EXPOSE] },
  ),
  listModels: adapterRoute(
    "GET /agents/:agent_id/v1/models",
    "List the agent's roles as models, for clients of OpenAI's API",
    { "200": json("`AGENT`, `AGENT:ROLE` for each role, and `AGENT:titles`", "ModelList") },
    { failure: "OpenAiError" },
  ),
  createChatCompletion: adapterRoute(
    "POST /agents/:agent_id/v1/chat/completions",
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
  uiStream: adapterRoute(
    "POST /agents/:agent_id/ui-stream",
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
  resumeUiStream: adapterRoute(
    "GET /agents/:agent_id/ui-stream/:chat_id/stream",
    "Stream the message in progress of a chat again, from its beginning",
    { "200": chunks, "204": { description: "No message of the chat is in progress, or the chat is unknown" } },
    { streams: true, parameters: ADAPTER_CALLER },
  ),
  stopUiStream: adapterRoute(
    "POST /agents/:agent_id/ui-stream/:chat_id/stop",
    "Cancel the runs of a chat",
    {
      "202": json("The newest run is being cancelled", "CancelResponse"),
      "204": { description: "No run of the chat is in progress, or the chat is unknown" },
    },
    { parameters: ADAPTER_CALLER },
  ),
  uiMessages: adapterRoute(
    "GET /agents/:agent_id/ui-stream/:chat_id/messages",
    "Read the messages of a chat, oldest first, as the AI SDK has them",
    {
      "200": {
        description: "One page of messages, without the one in progress; empty for an unknown chat",
        json: messagePage,
      },
    },
    { parameters: [...pageOf(50), ...ADAPTER_CALLER] },
  ),
  createClientToken: apiRoute(
    "POST /agents/:agent_id/client-tokens",
    "Make a token for a page, with which it queries under one role and context",
    { "201": json("The token, which is not shown again", "ClientToken") },
    { body: "ClientTokenRequest" },
  ),
  connect: runtimeRoute(
    "GET /functions/connect",
    "Connect a functions runtime (WebSocket)",
    { "101": { description: "The connection is open" } },
    { fails: ["400", "401", "403", "429", "503"] },
  ),
  healthz: openRoute(
    "GET /healthz",
    "The process is alive",
    { "200": object("The process accepts requests") },
    { probe: true },
  ),
  readyz: openRoute(
    "GET /readyz",
    "Store, bus and migrations are ready",
    { "200": object("The store and the bus are available, so the service can work on queries") },
    { probe: true, fails: ["503"] },
  ),
  metrics: openRoute(
    "GET /metrics",
    "Figures in Prometheus's form",
    {
      "200": { description: "Counters, gauges and histograms in Prometheus's text format", mediaType: "text/plain" },
    },
    { probe: true, fails: ["401"] },
  ),
  openapi: openRoute("GET /openapi.json", "This document", {
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
