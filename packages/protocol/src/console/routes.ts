import { z } from "zod";
import { CancelResponse } from "../response.ts";
import { ACCESS_ROUTES } from "./access-routes.ts";
import { EVIDENCE_ROUTES } from "./evidence-routes.ts";
import * as agents from "./agents.ts";
import { APPROVAL_ROUTES } from "./approval-routes.ts";
import * as insight from "./insight.ts";
import { MEMBER_ROUTES } from "./member-routes.ts";
import { type ConsoleRoute, indexedTo, paging, range, read, readBy, time } from "./route.ts";
import * as lists from "./run-lists.ts";
import * as runs from "./runs.ts";
import { SERVICE_TOKEN_ROUTES } from "./service-tokens.ts";
import { WEBHOOK_ROUTES } from "./webhook-routes.ts";

const nothing = "nothing";
const events = "events";
const figures = { ...range, role: z.string().max(200).optional(), source: runs.FigureSource.optional() };

/** Changes to keys and tokens. */
const changesKeys = { needs: "developer", scopes: [["keys:write"], ["runtime-keys:write"]] } as const;

/** Requests that start a run. */
const startsRun = { idempotency: "run", needs: "developer" } as const;

/** Every route, by method and path. Paths are under `/api`; `:names` are ids in the member's organisation. */
export const CONSOLE_ROUTES = {
  ...MEMBER_ROUTES,
  ...ACCESS_ROUTES,
  ...EVIDENCE_ROUTES,
  ...APPROVAL_ROUTES,
  ...WEBHOOK_ROUTES,
  ...SERVICE_TOKEN_ROUTES,

  "GET /agents": readBy("agents:read", "Agents", { ...paging, q: z.string().max(200).optional() }, agents.AgentPage),
  "POST /agents": {
    needs: "developer",
    scopes: [["agents:write", "keys:write"]],
    confirmed: true,
    status: 201,
    summary: "Create an agent with its first key",
    body: agents.NewAgent,
    answer: agents.CreatedAgent,
  },
  "GET /agents/:agent_id": {
    needs: "viewer",
    scopes: [["agents:read"]],
    summary: "An agent",
    answer: agents.AgentDetail,
  },
  "PATCH /agents/:agent_id": {
    needs: "developer",
    scopes: [["agents:write"]],
    summary: "Change an agent",
    body: agents.AgentChange,
    answer: agents.AgentDetail,
  },
  "DELETE /agents/:agent_id": {
    needs: "owner",
    scopes: [["agents:write"]],
    confirmed: true,
    summary: "Delete an agent; its keys end",
    answer: nothing,
  },

  "GET /models": {
    needs: "viewer",
    scopes: [["agents:read"]],
    summary: "Configured providers, their models and prices",
    answer: agents.Models,
  },

  "GET /agents/:agent_id/credentials": {
    ...read(
      "An agent's keys and tokens, newest first; with a service token only those in its scopes",
      { ...paging, kind: agents.CredentialKind.optional() },
      agents.CredentialPage,
    ),
    scopes: [["keys:read"], ["runtime-keys:read"]],
  },
  "POST /agents/:agent_id/credentials": {
    ...changesKeys,
    confirmed: true,
    status: 201,
    summary: "Create a key or token",
    body: agents.NewCredential,
    answer: agents.CreatedCredential,
  },
  "POST /agents/:agent_id/credentials/:credential_id/rotate": {
    ...changesKeys,
    confirmed: true,
    status: 201,
    summary: "Replace a key or token; the old one stays valid for a while",
    body: agents.Rotation,
    answer: agents.CreatedCredential,
  },
  "DELETE /agents/:agent_id/credentials/:credential_id": {
    ...changesKeys,
    summary: "Revoke a key or token",
    answer: nothing,
  },

  "GET /agents/:agent_id/runtimes": readBy("agents:read", "An agent's runtimes", paging, agents.RuntimePage),
  "GET /agents/:agent_id/functions": readBy(
    "agents:read",
    "An agent's functions with call figures",
    { ...range, manifestHash: z.string().max(64).optional() },
    agents.FunctionSet,
  ),
  "GET /agents/:agent_id/function-sets": readBy(
    "agents:read",
    "Function sets that were connected, newest first",
    paging,
    agents.FunctionSetPage,
  ),
  "GET /agents/:agent_id/functions/:function_name/cases": {
    needs: "developer",
    summary: "The owner's cases for a function with their arguments, from runtimes that report them",
    query: z.object({ manifestHash: z.string().max(128).optional() }),
    answer: agents.FunctionCases,
  },
  "GET /agents/:agent_id/functions/:function_name/history": read(
    "A function's calls over a range",
    range,
    agents.FunctionHistory,
  ),
  "POST /agents/:agent_id/functions/:function_name/test-calls": {
    ...startsRun,
    summary: "Call a function as a role, without a model",
    body: agents.TestCall,
    answer: agents.TestCallResult,
  },
  "POST /agents/:agent_id/functions/:function_name/test-calls-stream": {
    ...startsRun,
    summary: "Call a function as a role, without a model, and follow the events, progress included",
    body: agents.TestCall,
    answer: events,
  },

  "POST /agents/:agent_id/playground": {
    ...startsRun,
    summary: "Send a query and follow its events, tokens included",
    body: agents.PlaygroundQuery,
    answer: events,
  },

  "GET /agents/:agent_id/runs": read(
    "Runs, newest first",
    { ...paging, ...lists.runFilter, sort: lists.RunSort.optional() },
    runs.RunPage,
  ),
  "GET /agents/:agent_id/run-totals": read("Sums over the runs that match", lists.runFilter, lists.RunTotals),
  "GET /agents/:agent_id/run-effects": {
    needs: "viewer",
    summary: "Calls in up to 100 runs whose functions write or destroy",
    query: z.object({ runIds: z.string().max(10_000).optional().describe("Run ids, separated by commas.") }),
    answer: runs.RunEffects,
  },
  "GET /agents/:agent_id/run-export": read(
    "All matching runs, as a file",
    {
      ...lists.runFilter,
      sort: lists.RunSort.optional(),
      format: z
        .enum(["ndjson", "json", "csv", "tests"])
        .default("ndjson")
        .describe("`tests`: a tar archive with recordings and tests that replay them, for at most 200 runs."),
    },
    "file",
  ),
  "GET /agents/:agent_id/run-export/tests": read(
    "Test counts for an export",
    { ...lists.runFilter, sort: lists.RunSort.optional() },
    lists.TestCounts,
  ),
  "GET /agents/:agent_id/run-values": read("Models, failures, keys, roles and tags among runs", range, lists.RunValues),
  "GET /agents/:agent_id/views": {
    needs: "viewer",
    summary: "Run views: the member's own and the shared ones, oldest first",
    answer: z.object({ views: z.array(lists.RunView) }),
  },
  "POST /agents/:agent_id/views": {
    needs: "viewer",
    status: 201,
    summary: "Store run filters and their order as a view; sharing it needs the role developer",
    body: lists.NewRunView,
    answer: lists.RunView,
  },
  "DELETE /agents/:agent_id/views/:view_id": {
    needs: "viewer",
    summary: "Delete an own view, or as an owner a shared one",
    answer: nothing,
  },
  "GET /agents/:agent_id/runs/:run_id": { needs: "viewer", summary: "A run with its waterfall", answer: runs.RunTrace },
  "POST /agents/:agent_id/runs/:run_id/reruns": {
    ...startsRun,
    status: 201,
    summary: "Repeat a run with its query, role, context, model and settings, in a new thread",
    answer: runs.Rerun,
  },
  "POST /agents/:agent_id/runs/:run_id/retry": {
    needs: "developer",
    status: 201,
    summary: "Continue a failed run from its last stored step, as a new run",
    answer: runs.Rerun,
  },
  "GET /agents/:agent_id/runs/:run_id/turns/:step/request": {
    needs: "viewer",
    summary: "What the model was sent for a turn",
    answer: runs.SentTurn,
  },
  "GET /agents/:agent_id/runs/:run_id/log": read(
    "A run's stored events",
    { ...paging, dialect: z.enum(["hosted", "local"]).optional() },
    runs.LogPage,
  ),
  "GET /agents/:agent_id/runs/:run_id/events": {
    needs: "viewer",
    summary: "Follow a run after Last-Event-ID, tokens included",
    answer: events,
  },
  "POST /agents/:agent_id/runs/:run_id/feedback": {
    needs: "developer",
    summary: "Say how good a run was; replaces what the member said before",
    body: runs.Feedback,
    answer: nothing,
  },
  "DELETE /agents/:agent_id/runs/:run_id/feedback": {
    needs: "developer",
    summary: "Remove what the member said about a run",
    answer: nothing,
  },
  "POST /agents/:agent_id/runs/:run_id/cancel": { needs: "developer", summary: "Cancel a run", answer: CancelResponse },

  "GET /agents/:agent_id/threads": read(
    "Threads, latest change first",
    { ...paging, sessionId: z.string().max(200).optional(), q: z.string().max(200).optional() },
    runs.ConsoleThreadPage,
  ),
  "GET /agents/:agent_id/threads/:thread_id": read(
    "A thread with its messages and runs, the newest part first",
    paging,
    runs.ConsoleThreadDetail,
  ),
  "DELETE /agents/:agent_id/threads/:thread_id": {
    needs: "developer",
    summary: "Erase a thread with its messages, events and calls",
    answer: nothing,
  },
  "GET /agents/:agent_id/sessions": read(
    "Sessions, last seen first",
    { ...paging, ...range, q: z.string().max(200).optional() },
    runs.ConsoleSessionPage,
  ),

  "GET /agents/:agent_id/analytics": read("Queries to an agent over a range", figures, insight.Analytics),
  "GET /analytics": read("Queries to all agents over a range", figures, insight.Analytics),
  "GET /search": read(
    "The organisation's items with this id or name that the member may read, at most 5 per kind; runs also by their words",
    { q: z.string().trim().max(200).optional() },
    z.object({ found: z.array(lists.Found), indexedTo }),
  ),
  "GET /audit": readBy(
    "audit:read",
    "The audit log, newest first",
    {
      ...paging,
      agentId: z.string().max(128).optional(),
      runId: z.string().max(128).optional(),
      role: z.string().max(200).optional(),
      functionName: z.string().max(64).optional(),
      action: z.string().max(64).optional(),
      from: time.optional(),
      to: time.optional(),
    },
    insight.AuditPage,
  ),
  "GET /audit/export": readBy(
    "audit:read",
    "The audit log as NDJSON, oldest first, up to 10 s before now; a line's cursor continues after it",
    { from: time.optional(), to: time.optional(), cursor: z.string().max(1_000).optional() },
    "file",
  ),
  "GET /agents/:agent_id/calls": readBy(
    "calls:read",
    "Ended calls as NDJSON, newest first; a line's cursor continues after it. `calls:content` adds arguments and contexts. `candidate`, a function set's hash, adds what the connected candidate decides on each call",
    { candidate: z.string().max(128).optional(), from: time.optional(), cursor: z.string().max(1_000).optional() },
    "file",
  ),
  "GET /live": read("Follow which lists change", { agentId: z.string().max(128).optional() }, events),
} as const satisfies Record<string, ConsoleRoute>;

export type ConsoleRoutes = typeof CONSOLE_ROUTES;
export type ConsoleRouteName = keyof ConsoleRoutes;
