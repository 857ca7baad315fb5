import { z } from "zod";
import { CancelResponse } from "../response.ts";
import * as agents from "./agents.ts";
import { APPROVAL_ROUTES } from "./approval-routes.ts";
import * as insight from "./insight.ts";
import { MEMBER_ROUTES } from "./member-routes.ts";
import { paging, range, time } from "./route.ts";
import type { ConsoleRoute } from "./route.ts";
import * as lists from "./run-lists.ts";
import * as runs from "./runs.ts";

const nothing = "nothing";
const events = "events";
const figures = { ...range, role: z.string().max(200).optional(), source: runs.FigureSource.optional() };

/** Every route, by method and path. Paths are under `/api`; `:names` are ids in the member's organisation. */
export const CONSOLE_ROUTES = {
  ...MEMBER_ROUTES,
  ...APPROVAL_ROUTES,

  "GET /agents": {
    needs: "viewer",
    summary: "Agents",
    query: z.object({ ...paging, q: z.string().max(200).optional() }),
    answer: agents.AgentPage,
  },
  "POST /agents": {
    needs: "developer",
    confirmed: true,
    status: 201,
    summary: "Create an agent with its first key",
    body: agents.NewAgent,
    answer: agents.CreatedAgent,
  },
  "GET /agents/:agent_id": { needs: "viewer", summary: "An agent", answer: agents.AgentDetail },
  "PATCH /agents/:agent_id": {
    needs: "developer",
    summary: "Change an agent",
    body: agents.AgentChange,
    answer: agents.AgentDetail,
  },
  "DELETE /agents/:agent_id": {
    needs: "owner",
    confirmed: true,
    summary: "Delete an agent; its keys end",
    answer: nothing,
  },

  "GET /models": { needs: "viewer", summary: "Configured providers, their models and prices", answer: agents.Models },

  "GET /agents/:agent_id/credentials": {
    needs: "viewer",
    summary: "Keys and tokens of an agent, newest first",
    query: z.object({ ...paging, kind: agents.CredentialKind.optional() }),
    answer: agents.CredentialPage,
  },
  "POST /agents/:agent_id/credentials": {
    needs: "developer",
    confirmed: true,
    status: 201,
    summary: "Create a key or token",
    body: agents.NewCredential,
    answer: agents.CreatedCredential,
  },
  "POST /agents/:agent_id/credentials/:credential_id/rotate": {
    needs: "developer",
    confirmed: true,
    status: 201,
    summary: "Replace a key or token; the old one stays valid for a while",
    body: agents.Rotation,
    answer: agents.CreatedCredential,
  },
  "DELETE /agents/:agent_id/credentials/:credential_id": {
    needs: "developer",
    summary: "Revoke a key or token",
    answer: nothing,
  },

  "GET /agents/:agent_id/runtimes": {
    needs: "viewer",
    summary: "Runtimes of an agent",
    query: z.object(paging),
    answer: agents.RuntimePage,
  },
  "GET /agents/:agent_id/functions": {
    needs: "viewer",
    summary: "Functions of an agent with figures of their calls",
    query: z.object({ ...range, manifestHash: z.string().max(64).optional() }),
    answer: agents.FunctionSet,
  },
  "GET /agents/:agent_id/function-sets": {
    needs: "viewer",
    summary: "Function sets that were connected, newest first",
    query: z.object(paging),
    answer: agents.FunctionSetPage,
  },
  "GET /agents/:agent_id/functions/:function_name/history": {
    needs: "viewer",
    summary: "Calls of a function over a range",
    query: z.object(range),
    answer: agents.FunctionHistory,
  },
  "POST /agents/:agent_id/functions/:function_name/test-calls": {
    needs: "developer",
    summary: "Call a function as a role, without a model",
    body: agents.TestCall,
    answer: agents.TestCallResult,
  },
  "POST /agents/:agent_id/functions/:function_name/test-calls-stream": {
    needs: "developer",
    summary: "Call a function as a role, without a model, and follow the events, progress included",
    body: agents.TestCall,
    answer: events,
  },

  "POST /agents/:agent_id/playground": {
    needs: "developer",
    summary: "Send a query and follow its events, tokens included",
    body: agents.PlaygroundQuery,
    answer: events,
  },

  "GET /agents/:agent_id/runs": {
    needs: "viewer",
    summary: "Runs, newest first",
    query: z.object({ ...paging, ...lists.runFilter, sort: lists.RunSort.optional() }),
    answer: runs.RunPage,
  },
  "GET /agents/:agent_id/run-totals": {
    needs: "viewer",
    summary: "Sums over the runs that match",
    query: z.object(lists.runFilter),
    answer: lists.RunTotals,
  },
  "GET /agents/:agent_id/run-export": {
    needs: "viewer",
    summary: "All runs that match, as a file",
    query: z.object({
      ...lists.runFilter,
      sort: lists.RunSort.optional(),
      format: z.enum(["ndjson", "json", "csv"]).default("ndjson"),
    }),
    answer: "file",
  },
  "GET /agents/:agent_id/run-values": {
    needs: "viewer",
    summary: "Models, failures, keys and roles of runs",
    query: z.object(range),
    answer: lists.RunValues,
  },
  "GET /agents/:agent_id/views": {
    needs: "viewer",
    summary: "Views of runs: the member's own and the shared ones, oldest first",
    answer: z.object({ views: z.array(lists.RunView) }),
  },
  "POST /agents/:agent_id/views": {
    needs: "viewer",
    status: 201,
    summary: "Keep filters and an order of runs as a view; sharing it needs the role developer",
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
    needs: "developer",
    status: 201,
    summary: "Repeat a run with its query, role, context, model and settings, in a thread of its own",
    answer: runs.Rerun,
  },
  "GET /agents/:agent_id/runs/:run_id/turns/:step/request": {
    needs: "viewer",
    summary: "What the model was sent for a turn",
    answer: runs.SentTurn,
  },
  "GET /agents/:agent_id/runs/:run_id/log": {
    needs: "viewer",
    summary: "Stored events of a run",
    query: z.object({ ...paging, dialect: z.enum(["hosted", "local"]).optional() }),
    answer: runs.LogPage,
  },
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
  "POST /agents/:agent_id/runs/:run_id/cancel": { needs: "developer", summary: "Cancel a run", answer: CancelResponse },

  "GET /agents/:agent_id/threads": {
    needs: "viewer",
    summary: "Threads, latest change first",
    query: z.object({ ...paging, sessionId: z.string().max(200).optional(), q: z.string().max(200).optional() }),
    answer: runs.ConsoleThreadPage,
  },
  "GET /agents/:agent_id/threads/:thread_id": {
    needs: "viewer",
    summary: "A thread with its messages and runs, the newest part first",
    query: z.object(paging),
    answer: runs.ConsoleThreadDetail,
  },
  "DELETE /agents/:agent_id/threads/:thread_id": {
    needs: "developer",
    summary: "Erase a thread with its messages, events and calls",
    answer: nothing,
  },
  "GET /agents/:agent_id/sessions": {
    needs: "viewer",
    summary: "Sessions, last seen first",
    query: z.object({ ...paging, ...range, q: z.string().max(200).optional() }),
    answer: runs.ConsoleSessionPage,
  },

  "GET /agents/:agent_id/analytics": {
    needs: "viewer",
    summary: "Queries of an agent over a range",
    query: z.object(figures),
    answer: insight.Analytics,
  },
  "GET /analytics": {
    needs: "viewer",
    summary: "Queries of all agents over a range",
    query: z.object(figures),
    answer: insight.Analytics,
  },
  "GET /agents/:agent_id/access": {
    needs: "viewer",
    summary: "Which role may call which function, and why",
    query: z.object({ manifestHash: z.string().max(64).optional() }),
    answer: insight.AccessMatrix,
  },
  "GET /agents/:agent_id/access/services": {
    needs: "viewer",
    summary: "Connected services, and why one does not serve",
    answer: z.object({ services: z.array(insight.ServingService) }),
  },
  "GET /agents/:agent_id/access/widenings": {
    needs: "viewer",
    summary: "Function sets that widened access, newest first",
    query: z.object(paging),
    answer: insight.WidenedSetPage,
  },
  "POST /agents/:agent_id/access/confirmations": {
    needs: "developer",
    confirmed: true,
    summary: "Confirm a function set that widens access",
    body: z.object({ manifestHash: z.string().min(8).max(64) }),
    answer: nothing,
  },
  "GET /search": {
    needs: "viewer",
    summary: "Everything of the organisation with this id or name, at most 5 of a kind; runs also by their words",
    query: z.object({ q: z.string().trim().max(200).optional() }),
    answer: z.object({ found: z.array(lists.Found) }),
  },
  "GET /audit": {
    needs: "viewer",
    summary: "The audit log, newest first",
    query: z.object({
      ...paging,
      agentId: z.string().max(128).optional(),
      runId: z.string().max(128).optional(),
      role: z.string().max(200).optional(),
      functionName: z.string().max(64).optional(),
      action: z.string().max(64).optional(),
      from: time.optional(),
      to: time.optional(),
    }),
    answer: insight.AuditPage,
  },
  "GET /live": {
    needs: "viewer",
    summary: "Follow which lists change",
    query: z.object({ agentId: z.string().max(128).optional() }),
    answer: events,
  },
} as const satisfies Record<string, ConsoleRoute>;

export type ConsoleRoutes = typeof CONSOLE_ROUTES;
export type ConsoleRouteName = keyof ConsoleRoutes;
