import {
  createMcpHandler,
  isInputRequiredResult,
  type McpRequestContext,
  ProtocolError,
  ProtocolErrorCode,
  Server,
  type ServerContext,
  type Tool,
} from "@modelcontextprotocol/server";
import { type JsonObject } from "@patchbay/kit";
import { MESSAGES, QueryRequest } from "@patchbay/protocol";
import { unused } from "@patchbay/models/wire-names";
import { ServiceError } from "@patchbay/engine/ports/service-error";
import { traceOf } from "../../kernel/errors.ts";
import type { HttpDeps } from "../deps.ts";
import { parse } from "../query-body.ts";
import { ownerOf } from "../stream-run.ts";
import { askAgent, callFunction } from "./call-tool.ts";
import { elicitsIn, SESSION_HEADER } from "./elicitation.ts";
import type { ListChanges } from "./list-changes.ts";
import type { McpRequest } from "./questions.ts";
import { unknownTool } from "./results.ts";
import { type RoleTools, toolsOf } from "./tools.ts";

/** What becomes a tool: the agent's functions, the agent itself, or both. */
export const EXPOSED = ["functions", "agent", "both"] as const;

export interface ServedRequest extends Omit<McpRequest, "deps" | "revoked"> {
  deps: McpRequest["deps"] & Pick<HttpDeps, "streams">;
  request: Request;
  /** The parsed body. */
  message: unknown;
  version: string;
  exposed: (typeof EXPOSED)[number];
  changes: ListChanges;
}

/** How long clients may cache a list, for themselves only: lists differ by key and role. */
const CACHE = { ttlMs: 60_000, cacheScope: "private" } as const;

/** Serves one MCP request. Afterwards only the stream of a client that listens for changes remains. */
export async function serveMcp(served: ServedRequest): Promise<Response> {
  const { request, message, deps, caller, changes, exposed } = served;
  const { principal, role, threadKey } = caller;
  const list = {
    key: JSON.stringify([principal.agentId, role, principal.roles, exposed, threadKey !== undefined]),
    read: () => deps.within(principal.orgId, () => listFor(served)),
    onChange: (changed: () => void) => deps.runs.onAgentChange(principal, changed),
  };
  const handler = createMcpHandler((context) => serverOf(served, context), {
    bus: {
      publish: () => undefined,
      subscribe: (listener) => changes.subscribe(list, () => listener({ kind: "tools_list_changed" })),
    },
    onerror: (error) =>
      deps.log.debug("mcp request refused", { requestId: served.origin.requestId, error: error.message }),
  });
  return await handler.fetch(request, { parsedBody: message });
}

function serverOf(served: ServedRequest, { era }: McpRequestContext): Server {
  const modern = era === "modern";
  const server = new Server(
    { name: "patchbay", version: served.version },
    {
      // Requests in earlier revisions have no stream for sending a change.
      capabilities: { tools: { listChanged: modern } },
      cacheHints: { "tools/list": CACHE, "server/discover": CACHE },
    },
  );
  server.setRequestHandler("tools/list", () =>
    guarded(served, async () => {
      const tools = await listFor(served);
      // An empty list would look like a role without functions.
      if (!tools) throw noSession();
      return { tools };
    }),
  );
  const asks = !modern && elicitsIn(served.request.headers.get(SESSION_HEADER));
  server.setRequestHandler("tools/call", ({ params }, ctx) =>
    guarded(served, () => callTool({ ...served, ...(asks && { ask: onStream(server, ctx) }) }, server, params, ctx)),
  );
  return server;
}

/** The request's server would wait for the reply, which arrives with another request, maybe at another replica. */
const onStream =
  (server: Server, { mcpReq }: ServerContext): NonNullable<McpRequest["ask"]> =>
  async (id, params) =>
    server.transport?.send(
      { jsonrpc: "2.0", id, method: "elicitation/create", params: { ...params } },
      { relatedRequestId: mcpReq.id },
    );

async function callTool(
  served: ServedRequest,
  server: Server,
  { name, arguments: given = {} }: { name: string; arguments?: Record<string, unknown> | undefined },
  ctx: ServerContext,
) {
  const input = given as JsonObject;
  using access = served.deps.streams.watch(ownerOf(served.caller.principal));
  const request: McpRequest = { ...served, revoked: access.revoked };
  const { functions, tools, ask } = await offered(served);
  if (ask !== undefined && name === askTool(ask, tools).name) {
    const { query } = parse(Asked, input, []);
    return await askAgent(request, query, ctx);
  }
  if (!functions) throw unknownTool(name);
  if (!tools) throw noSession();
  const result = await callFunction(request, { tool: name, input, fn: tools.functionOf(name) }, ctx);
  if (isInputRequiredResult(result) || result.isError) return result;
  // Only tools with a schema have structured results. For clients of earlier revisions the SDK wraps arrays and plain
  // values.
  const schema = tools.outputSchemaOf(name);
  const { structuredContent: _, ...unstructured } = result;
  return server.projectCallToolResult(schema ? result : unstructured, schema);
}

interface Offered {
  /** True if functions are tools; `tools` is undefined while no service is connected. */
  functions: boolean;
  tools: RoleTools | undefined;
  /** The agent's name, if it takes whole queries. */
  ask: string | undefined;
}

async function offered({ deps: { runs }, caller, exposed }: ServedRequest): Promise<Offered> {
  const { principal, role, threadKey } = caller;
  // Every tool starts its own thread, and the caller's token opens one chat only.
  if (threadKey !== undefined) return { functions: false, tools: undefined, ask: undefined };
  const functions = exposed === "agent" ? undefined : await runs.functionsFor(principal, role);
  const ask = exposed === "functions" ? undefined : (await runs.agentFacts(principal)).name;
  return { functions: exposed !== "agent", tools: functions && toolsOf(functions), ask };
}

/** The role's list; undefined while no connected service has functions for it. */
async function listFor(served: ServedRequest): Promise<Tool[] | undefined> {
  const { functions, tools, ask } = await offered(served);
  if (functions && !tools) return undefined;
  return [...(tools?.list ?? []), ...(ask === undefined ? [] : [askTool(ask, tools)])];
}

const noSession = (): ProtocolError =>
  new ProtocolError(ProtocolErrorCode.InternalError, MESSAGES.agent_session_not_found);

const NOT_A_NAME = /[^A-Za-z0-9_-]+/g;
const LONGEST_TOOL = 64;

/** The arguments of the agent tool. */
const Asked = QueryRequest.pick({ query: true });

/** `tools`: the function tools in the same list. */
function askTool(agentName: string, tools: RoleTools | undefined): Tool {
  const safe = agentName.trim().replaceAll(NOT_A_NAME, "_").toLowerCase();
  return {
    name: unused(`ask_${safe}`.slice(0, LONGEST_TOOL), { has: (name) => tools?.functionOf(name) !== undefined }),
    title: `Ask ${agentName}`,
    description: `Sends a question or an order in natural language to the agent ${agentName}, which calls its functions and answers.`,
    inputSchema: {
      type: "object",
      properties: { query: { type: "string", description: "The question or task for the agent." } },
      required: ["query"],
    },
    annotations: { title: `Ask ${agentName}`, readOnlyHint: false, openWorldHint: false },
  };
}

/** Sends the client a `ServiceError` message. Logs any other failure, and reports it without its message. */
async function guarded<T>({ deps, origin: { requestId } }: ServedRequest, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    if (thrown instanceof ProtocolError) throw thrown;
    const { InvalidParams, InternalError } = ProtocolErrorCode;
    if (thrown instanceof ServiceError && thrown.code !== "internal") {
      const faults = thrown.details?.map(({ path, message }) => `${path}: ${message}`).join("; ");
      const code = thrown.code === "invalid_request" ? InvalidParams : InternalError;
      throw new ProtocolError(code, faults ? `${thrown.message}: ${faults}` : thrown.message);
    }
    deps.log.error("mcp request failed", { requestId, error: traceOf(thrown) });
    throw new ProtocolError(InternalError, "Something went wrong on our side.");
  }
}
