import { ApprovalStatus, RUN_ERROR_CODES, RunStatus } from "@patchbay/protocol";
import * as spec from "./route-entry.ts";

/** Every route, described for the OpenAPI document and in its order. */
const TABLE = {
  query: spec.api(
    "POST /agents/:agent_id/query",
    "Send a query and wait for the whole answer",
    {
      // Without an entry for 202, whose body has other members: the types of generated clients would be a union.
      "200": spec.json(
        "The run ended, or waits for an approval; see `code`. With `Prefer: respond-async` the run is only stored: the status is 202, and the JSON has `runId` and `threadId`",
        "QueryResponse",
      ),
    },
    { body: "QueryRequest", parameters: [spec.IDEMPOTENCY, spec.ON_DISCONNECT, spec.PREFER] },
  ),
  queryStream: spec.api(
    "POST /agents/:agent_id/query-stream",
    "Send a query and follow it as server-sent events",
    { "200": spec.events },
    { body: "QueryRequest", streams: true, parameters: [spec.IDEMPOTENCY, spec.ON_DISCONNECT] },
  ),
  localQueryStream: spec.local(
    "POST /agent/query-stream",
    "Local development variant of the stream",
    { "200": spec.localEvents },
    { body: "LocalQueryRequest", streams: true },
  ),
  runEvents: spec.api(
    "GET /agents/:agent_id/runs/:run_id/events",
    "Resume the stream of a run after Last-Event-ID",
    { "200": spec.events, "204": spec.drained },
    { streams: true, parameters: [spec.LAST_EVENT_ID, spec.withDeltas("includeDeltas")] },
  ),
  localRunEvents: spec.local(
    "GET /agent/runs/:run_id/events",
    "Resume a stream of the local development variant",
    { "200": spec.localEvents, "204": spec.drained },
    { streams: true, parameters: [spec.LAST_EVENT_ID, spec.withDeltas("include_deltas")] },
  ),
  cancelRun: spec.api("POST /agents/:agent_id/runs/:run_id/cancel", "Cancel a run", {
    "200": spec.json("The run had ended", "CancelResponse"),
    "202": spec.json("The run is being cancelled", "CancelResponse"),
  }),
  sendFeedback: spec.api(
    "POST /agents/:agent_id/runs/:run_id/feedback",
    "Say how good a run was; replaces what the key said before",
    { "204": { description: "The feedback is stored" } },
    { body: "Feedback" },
  ),
  deleteFeedback: spec.api("DELETE /agents/:agent_id/runs/:run_id/feedback", "Remove what the key said about a run", {
    "204": { description: "The key has no feedback on the run" },
  }),
  getRun: spec.api("GET /agents/:agent_id/runs/:run_id", "Read a run and, once it ended, its result", {
    "200": spec.json("State, usage so far, and after the end the result", "RunDetail"),
  }),
  listRuns: spec.api(
    "GET /agents/:agent_id/runs",
    "List the agent's runs, newest first",
    { "200": spec.json("One page of the runs that the key may read", "RunPage") },
    {
      parameters: [
        spec.inQuery("status", "Lists only runs in this state", { type: "string", enum: RunStatus.options }),
        spec.inQuery("code", "Lists only runs that this failure ended", { type: "string", enum: [...RUN_ERROR_CODES] }),
        spec.inQuery(
          "endedAfterWrites",
          "True lists only runs that ended without an answer after a write, false the others",
          { type: "boolean" },
        ),
        spec.inQuery("sessionId", "Lists only runs of queries with this value"),
        spec.inQuery("threadId", "Lists only runs of this thread"),
        ...spec.pageOf(50),
      ],
    },
  ),
  retryRun: spec.api(
    "POST /agents/:agent_id/runs/:run_id/retry",
    "Retry a failed run from its last stored step",
    {
      "202": spec.json(
        "The new run is stored. With `Prefer: wait=N`, and if it ends within that time, the status is 200 and the JSON that of a query",
        "RetryResponse",
      ),
    },
    { parameters: [spec.IDEMPOTENCY, spec.ON_DISCONNECT, spec.PREFER_WAIT], fails: ["409", "429"] },
  ),
  listThreads: spec.api(
    "GET /agents/:agent_id/threads",
    "List the agent's threads, newest first",
    { "200": spec.json("One page of threads, latest change first", "ThreadPage") },
    {
      parameters: [
        ...spec.pageOf(50),
        spec.inQuery("sessionId", "Lists only threads whose first query had this value"),
      ],
    },
  ),
  getThread: spec.api(
    "GET /agents/:agent_id/threads/:thread_id",
    "Read a thread with its messages",
    { "200": spec.json("The thread with one page of its messages", "ThreadDetail") },
    { parameters: spec.pageOf(100) },
  ),
  deleteThread: spec.api(
    "DELETE /agents/:agent_id/threads/:thread_id",
    "Erase a thread with its messages, events and calls",
    { "204": { description: "Messages, events and calls of the thread are erased" } },
  ),
  listApprovals: spec.api(
    "GET /agents/:agent_id/approvals",
    "List approvals, newest first, with a key that may decide them",
    { "200": spec.json("One page of approvals", "ApprovalPage") },
    {
      parameters: [
        spec.inQuery("status", "Lists only approvals in this state", { type: "string", enum: ApprovalStatus.options }),
        spec.inQuery("runId", "Lists only approvals of this run"),
        ...spec.pageOf(50),
      ],
    },
  ),
  getApproval: spec.api(
    "GET /agents/:agent_id/approvals/:approval_id",
    "Read an approval, with a key that may decide it",
    { "200": spec.json("The approval in its present state", "Approval") },
  ),
  decideApproval: spec.api(
    "POST /agents/:agent_id/approvals/:approval_id/decision",
    "Approve or reject a call, with a key that may decide",
    { "200": spec.json("The approval with its decision", "Approval") },
    { body: "ApprovalDecision", fails: ["409"] },
  ),
  listFunctions: spec.api(
    "GET /agents/:agent_id/functions",
    "List the functions that exist for a role, with a key that may check calls",
    { "200": spec.json("The role's functions, or `Agent session not found`", "FunctionList") },
    {
      parameters: [spec.inQuery("role", "The role of a query. Default: as for a query without a role")],
      fails: ["429"],
    },
  ),
  checkCall: spec.api(
    "POST /agents/:agent_id/check",
    "Ask what the owner's checks decide on a call, with a key that may check calls. No handler runs",
    { "200": spec.json("The decision, or `Agent session not found`", "CheckResponse") },
    { body: "CheckRequest", fails: ["409"] },
  ),
  mcp: spec.adapter(
    "POST /agents/:agent_id/mcp",
    "Call functions as tools, by the Model Context Protocol",
    {
      "200": spec.object("A JSON-RPC response, as JSON or as server-sent events"),
      "202": { description: "A notification was accepted" },
    },
    { body: "McpMessage", streams: true, parameters: [...spec.ADAPTER_CALLER, spec.EXPOSE] },
  ),
  listModels: spec.adapter(
    "GET /agents/:agent_id/v1/models",
    "List the agent's roles as models, for clients of OpenAI's API",
    { "200": spec.json("`AGENT`, `AGENT:ROLE` for each role, and `AGENT:titles`", "ModelList") },
    { failure: "OpenAiError" },
  ),
  getModel: spec.adapter(
    "GET /agents/:agent_id/v1/models/:model",
    "Read one of the agent's roles as a model",
    { "200": spec.json("The role, in the form of the list of models", "Model") },
    { failure: "OpenAiError", fails: ["404"] },
  ),
  createChatCompletion: spec.adapter(
    "POST /agents/:agent_id/v1/chat/completions",
    "Send a query in the form of OpenAI's chat completions",
    {
      "200": {
        ...spec.json(
          "The answer, or with `stream` its parts as server-sent events, and `[DONE]` as the last one",
          "ChatCompletion",
        ),
        stream: spec.ref("ChatCompletionChunk"),
      },
    },
    {
      body: "ChatCompletionRequest",
      parameters: [spec.IDEMPOTENCY, spec.THREAD, ...spec.ADAPTER_CALLER],
      failure: "OpenAiError",
      fails: ["404", "409", "502", "504"],
    },
  ),
  createResponse: spec.adapter(
    "POST /agents/:agent_id/v1/responses",
    "Send a query in the form of OpenAI's responses",
    {
      "200": {
        ...spec.json("The answer, or with `stream` its events as server-sent events", "ResponseObject"),
        stream: spec.ref("ResponseEvent"),
      },
    },
    {
      body: "ResponsesRequest",
      parameters: [spec.IDEMPOTENCY, spec.THREAD, ...spec.ADAPTER_CALLER],
      failure: "OpenAiError",
      fails: ["404", "409", "502", "504"],
    },
  ),
  uiStream: spec.adapter(
    "POST /agents/:agent_id/ui-stream",
    "Send a message of a chat of the AI SDK, or decide on its approvals, and stream the answer",
    { "200": spec.chunks },
    {
      body: "UiStreamRequest",
      streams: true,
      parameters: [
        spec.inQuery(
          "reasoning",
          "`1` asks the model for its reasoning, which the message then has in parts of its own",
          { type: "string", enum: ["1"] },
        ),
        ...spec.ADAPTER_CALLER,
      ],
      fails: ["404"],
    },
  ),
  resumeUiStream: spec.adapter(
    "GET /agents/:agent_id/ui-stream/:chat_id/stream",
    "Stream the message in progress of a chat again, from its beginning",
    { "200": spec.chunks, "204": { description: "No message of the chat is in progress, or the chat is unknown" } },
    { streams: true, parameters: spec.ADAPTER_CALLER },
  ),
  stopUiStream: spec.adapter(
    "POST /agents/:agent_id/ui-stream/:chat_id/stop",
    "Cancel the runs of a chat",
    {
      "202": spec.json("The newest run is being cancelled", "CancelResponse"),
      "204": { description: "No run of the chat is in progress, or the chat is unknown" },
    },
    { parameters: spec.ADAPTER_CALLER },
  ),
  uiMessages: spec.adapter(
    "GET /agents/:agent_id/ui-stream/:chat_id/messages",
    "Read the messages of a chat, oldest first, as the AI SDK has them",
    {
      "200": {
        description: "One page of messages, without the one in progress; empty for an unknown chat",
        json: spec.messagePage,
      },
    },
    { parameters: [...spec.pageOf(50), ...spec.ADAPTER_CALLER] },
  ),
  createClientToken: spec.api(
    "POST /agents/:agent_id/client-tokens",
    "Make a token for a page, with which it queries under one role and context",
    { "201": spec.json("The token, which is not shown again", "ClientToken") },
    { body: "ClientTokenRequest" },
  ),
  connect: spec.runtime(
    "GET /functions/connect",
    "Connect a functions runtime (WebSocket)",
    { "101": { description: "The connection is open" } },
    { fails: ["400", "401", "403", "429", "503"] },
  ),
  healthz: spec.open(
    "GET /healthz",
    "The process is alive",
    { "200": spec.object("The process accepts requests") },
    { probe: true },
  ),
  readyz: spec.open(
    "GET /readyz",
    "Store, bus and migrations are ready",
    { "200": spec.object("The store and the bus are available, so the service can work on queries") },
    { probe: true, fails: ["503"] },
  ),
  metrics: spec.open(
    "GET /metrics",
    "Figures in Prometheus's form",
    {
      "200": { description: "Counters, gauges and histograms in Prometheus's text format", mediaType: "text/plain" },
    },
    { probe: true, fails: ["401"] },
  ),
  resourceMetadata: spec.open(
    "GET /.well-known/oauth-protected-resource/agents/:agent_id/mcp",
    "Where clients without a key get tokens for the MCP endpoint (RFC 9728)",
    { "200": spec.object("The metadata of an agent with the setting `keyless`") },
    { fails: ["404"] },
  ),
  openapi: spec.open("GET /openapi.json", "This document", {
    "200": spec.object("An OpenAPI 3.1 document with the limits of this service in `x-limits`"),
  }),
};

export type RouteId = keyof typeof TABLE;

/** One query API route. The responses to unknown paths and methods, the OpenAPI document and tests derive from it. */
export type RouteSpec = spec.RouteEntry & { id: RouteId };

export const ROUTES: readonly RouteSpec[] = Object.entries(TABLE).map(([id, entry]) => ({
  id: id as RouteId,
  ...entry,
}));
