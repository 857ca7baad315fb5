/** Secret that a route requires: an API key of the agent in the path, an access token, a runtime key, or none (`open`). */
export type Access = "api" | "access" | "runtime" | "open";

/** One route of the query API. The responses to unknown paths and methods, the OpenAPI document and tests are derived from it. */
export interface RouteSpec {
  id: RouteId;
  method: "GET" | "POST" | "DELETE";
  path: string;
  access: Access;
  summary: string;
  /** True for routes that answer with server-sent events. */
  streams?: true;
  /** True for routes that are served in development only. */
  local?: true;
}

export type RouteId =
  | "query"
  | "queryStream"
  | "localQueryStream"
  | "runEvents"
  | "localRunEvents"
  | "cancelRun"
  | "getRun"
  | "listThreads"
  | "getThread"
  | "deleteThread"
  | "connect"
  | "healthz"
  | "readyz"
  | "metrics"
  | "openapi";

/** Every route, in the order of the OpenAPI document. */
export const ROUTES: readonly RouteSpec[] = [
  {
    id: "query",
    method: "POST",
    path: "/agents/:agent_id/query",
    access: "api",
    summary: "Send a query and wait for the whole answer",
  },
  {
    id: "queryStream",
    method: "POST",
    path: "/agents/:agent_id/query-stream",
    access: "api",
    streams: true,
    summary: "Send a query and follow it as server-sent events",
  },
  {
    id: "localQueryStream",
    method: "POST",
    path: "/agent/query-stream",
    access: "access",
    streams: true,
    local: true,
    summary: "Local development variant of the stream",
  },
  {
    id: "runEvents",
    method: "GET",
    path: "/agents/:agent_id/runs/:run_id/events",
    access: "api",
    streams: true,
    summary: "Resume the stream of a run after Last-Event-ID",
  },
  {
    id: "localRunEvents",
    method: "GET",
    path: "/agent/runs/:run_id/events",
    access: "access",
    streams: true,
    local: true,
    summary: "Resume a stream of the local development variant",
  },
  {
    id: "cancelRun",
    method: "POST",
    path: "/agents/:agent_id/runs/:run_id/cancel",
    access: "api",
    summary: "Cancel a run",
  },
  {
    id: "getRun",
    method: "GET",
    path: "/agents/:agent_id/runs/:run_id",
    access: "api",
    summary: "Read a run and, once it ended, its result",
  },
  {
    id: "listThreads",
    method: "GET",
    path: "/agents/:agent_id/threads",
    access: "api",
    summary: "List the agent's threads, newest first",
  },
  {
    id: "getThread",
    method: "GET",
    path: "/agents/:agent_id/threads/:thread_id",
    access: "api",
    summary: "Read a thread with its messages",
  },
  {
    id: "deleteThread",
    method: "DELETE",
    path: "/agents/:agent_id/threads/:thread_id",
    access: "api",
    summary: "Erase a thread with its messages, events and calls",
  },
  {
    id: "connect",
    method: "GET",
    path: "/functions/connect",
    access: "runtime",
    summary: "Connect a functions runtime (WebSocket)",
  },
  { id: "healthz", method: "GET", path: "/healthz", access: "open", summary: "The process is alive" },
  { id: "readyz", method: "GET", path: "/readyz", access: "open", summary: "Store, bus and migrations are ready" },
  { id: "metrics", method: "GET", path: "/metrics", access: "open", summary: "Figures in Prometheus's form" },
  { id: "openapi", method: "GET", path: "/openapi.json", access: "open", summary: "This document" },
];
