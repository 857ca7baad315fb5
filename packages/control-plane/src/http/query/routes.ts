import { ApprovalStatus } from "@patchbay/protocol";
import type { Schema } from "../kernel/openapi.ts";
import { DOORS } from "./door-routes.ts";
import { OF_QUERIES, type RouteEntry, ref } from "./route-entry.ts";
import { IDEMPOTENCY, LAST_EVENT_ID, ON_DISCONNECT, inQuery, pageOf, PREFER, withDeltas } from "./route-parameters.ts";

const OF_RESOURCES = ["400", "401", "403", "404", "500", "503"];
const OF_DECISIONS = ["400", "401", "403", "404", "409", "413", "415", "500", "503"];
const OF_FOLLOWERS = ["400", "401", "403", "404", "429", "500", "503"];

const stream = { description: "Server-sent events", stream: { anyOf: [ref("RunEvent"), ref("LiveEvent")] } };
const localStream = { description: "Server-sent events", stream: ref("LocalEvent") };
const drained = { description: "The run has ended and the client has all its events: nothing is left to send" };

const id = (description: string): Schema => ({ type: "string", description });
/** The answer to a query whose client does not wait. */
const acceptedRun: Schema = {
  type: "object",
  properties: { runId: id("Names the run in the paths of its events and result."), threadId: id("The conversation.") },
  required: ["runId", "threadId"],
};

/** Every route with what the OpenAPI document says of it, in the order of that document. */
const TABLE = [
  {
    id: "query",
    method: "POST",
    path: "/agents/:agent_id/query",
    access: "api",
    summary: "Send a query and wait for the whole answer",
    body: "QueryRequest",
    answers: {
      "200": { description: "The run ended, or waits for an approval; see `code`", json: ref("QueryResponse") },
      "202": { description: "The run is stored. With `Prefer: respond-async` only", json: acceptedRun },
    },
    failures: OF_QUERIES,
    parameters: [IDEMPOTENCY, ON_DISCONNECT, PREFER],
  },
  {
    id: "queryStream",
    method: "POST",
    path: "/agents/:agent_id/query-stream",
    access: "api",
    streams: true,
    summary: "Send a query and follow it as server-sent events",
    body: "QueryRequest",
    answers: { "200": stream },
    failures: OF_QUERIES,
    parameters: [IDEMPOTENCY, ON_DISCONNECT],
  },
  {
    id: "localQueryStream",
    method: "POST",
    path: "/agent/query-stream",
    access: "access",
    streams: true,
    local: true,
    summary: "Local development variant of the stream",
    body: "LocalQueryRequest",
    answers: { "200": localStream },
    failures: ["400", "401", "413", "415", "429", "500", "503"],
  },
  {
    id: "runEvents",
    method: "GET",
    path: "/agents/:agent_id/runs/:run_id/events",
    access: "api",
    streams: true,
    summary: "Resume the stream of a run after Last-Event-ID",
    answers: { "200": stream, "204": drained },
    failures: OF_FOLLOWERS,
    parameters: [LAST_EVENT_ID, withDeltas("includeDeltas")],
  },
  {
    id: "localRunEvents",
    method: "GET",
    path: "/agent/runs/:run_id/events",
    access: "access",
    streams: true,
    local: true,
    summary: "Resume a stream of the local development variant",
    answers: { "200": localStream, "204": drained },
    failures: ["400", "401", "404", "429", "500", "503"],
    parameters: [LAST_EVENT_ID, withDeltas("include_deltas")],
  },
  {
    id: "cancelRun",
    method: "POST",
    path: "/agents/:agent_id/runs/:run_id/cancel",
    access: "api",
    summary: "Cancel a run",
    answers: {
      "200": { description: "The run had ended", json: ref("CancelResponse") },
      "202": { description: "The run is being cancelled", json: ref("CancelResponse") },
    },
    failures: OF_RESOURCES,
  },
  {
    id: "sendFeedback",
    method: "POST",
    path: "/agents/:agent_id/runs/:run_id/feedback",
    access: "api",
    summary: "Say how good a run was; replaces what the key said before",
    body: "Feedback",
    answers: { "204": { description: "The feedback is stored" } },
    failures: ["400", "401", "403", "404", "413", "415", "500", "503"],
  },
  {
    id: "deleteFeedback",
    method: "DELETE",
    path: "/agents/:agent_id/runs/:run_id/feedback",
    access: "api",
    summary: "Remove what the key said about a run",
    answers: { "204": { description: "The key has no feedback on the run" } },
    failures: OF_RESOURCES,
  },
  {
    id: "getRun",
    method: "GET",
    path: "/agents/:agent_id/runs/:run_id",
    access: "api",
    summary: "Read a run and, once it ended, its result",
    answers: { "200": { description: "State, usage so far, and after the end the result", json: ref("RunDetail") } },
    failures: OF_RESOURCES,
  },
  {
    id: "listThreads",
    method: "GET",
    path: "/agents/:agent_id/threads",
    access: "api",
    summary: "List the agent's threads, newest first",
    answers: { "200": { description: "One page of threads, latest change first", json: ref("ThreadPage") } },
    failures: OF_RESOURCES,
    parameters: [
      ...pageOf(50),
      inQuery("sessionId", "Lists only threads whose first query had this value", { type: "string" }),
    ],
  },
  {
    id: "getThread",
    method: "GET",
    path: "/agents/:agent_id/threads/:thread_id",
    access: "api",
    summary: "Read a thread with its messages",
    answers: { "200": { description: "The thread with one page of its messages", json: ref("ThreadDetail") } },
    failures: OF_RESOURCES,
    parameters: pageOf(100),
  },
  {
    id: "deleteThread",
    method: "DELETE",
    path: "/agents/:agent_id/threads/:thread_id",
    access: "api",
    summary: "Erase a thread with its messages, events and calls",
    answers: { "204": { description: "Messages, events and calls of the thread are erased" } },
    failures: OF_RESOURCES,
  },
  {
    id: "listApprovals",
    method: "GET",
    path: "/agents/:agent_id/approvals",
    access: "api",
    summary: "List approvals, newest first, with a key that may decide them",
    answers: { "200": { description: "One page of approvals", json: ref("ApprovalPage") } },
    failures: OF_RESOURCES,
    parameters: [
      inQuery("status", "Lists only approvals in this state", { type: "string", enum: ApprovalStatus.options }),
      inQuery("runId", "Lists only approvals of this run", { type: "string" }),
      ...pageOf(50),
    ],
  },
  {
    id: "getApproval",
    method: "GET",
    path: "/agents/:agent_id/approvals/:approval_id",
    access: "api",
    summary: "Read an approval, with a key that may decide it",
    answers: { "200": { description: "The approval in its present state", json: ref("Approval") } },
    failures: OF_RESOURCES,
  },
  {
    id: "decideApproval",
    method: "POST",
    path: "/agents/:agent_id/approvals/:approval_id/decision",
    access: "api",
    summary: "Approve or reject a call, with a key that may decide",
    body: "ApprovalDecision",
    answers: { "200": { description: "The approval with its decision", json: ref("Approval") } },
    failures: OF_DECISIONS,
  },
  ...DOORS,
  {
    id: "createClientToken",
    method: "POST",
    path: "/agents/:agent_id/client-tokens",
    access: "api",
    summary: "Make a token for a page, with which it queries under one role and context",
    body: "ClientTokenRequest",
    answers: { "201": { description: "The token, which is not shown again", json: ref("ClientToken") } },
    failures: ["400", "401", "403", "413", "415", "429", "500", "503"],
  },
  {
    id: "connect",
    method: "GET",
    path: "/functions/connect",
    access: "runtime",
    summary: "Connect a functions runtime (WebSocket)",
    answers: { "101": { description: "The connection is open" } },
    failures: ["400", "401", "403", "429", "503"],
  },
  {
    id: "healthz",
    method: "GET",
    path: "/healthz",
    probe: true,
    access: "open",
    summary: "The process is alive",
    answers: { "200": { description: "The process accepts requests", json: { type: "object" } } },
    failures: [],
  },
  {
    id: "readyz",
    method: "GET",
    path: "/readyz",
    probe: true,
    access: "open",
    summary: "Store, bus and migrations are ready",
    answers: {
      "200": {
        description: "The store and the bus are available, so the service can work on queries",
        json: { type: "object" },
      },
    },
    failures: ["503"],
  },
  {
    id: "metrics",
    method: "GET",
    path: "/metrics",
    probe: true,
    access: "open",
    summary: "Figures in Prometheus's form",
    answers: {
      "200": { description: "Counters, gauges and histograms in Prometheus's text format", mediaType: "text/plain" },
    },
    failures: ["401"],
  },
  {
    id: "openapi",
    method: "GET",
    path: "/openapi.json",
    access: "open",
    summary: "This document",
    answers: {
      "200": {
        description: "An OpenAPI 3.1 document with the limits of this service in `x-limits`",
        json: { type: "object" },
      },
    },
    failures: [],
  },
] as const satisfies readonly RouteEntry[];

export type RouteId = (typeof TABLE)[number]["id"];

/** One route of the query API. The responses to unknown paths and methods, the OpenAPI document and tests are derived from it. */
export type RouteSpec = RouteEntry & { id: RouteId };

export const ROUTES: readonly RouteSpec[] = TABLE;
