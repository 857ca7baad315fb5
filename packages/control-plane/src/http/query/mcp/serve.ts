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
import { type JsonObject, MESSAGES } from "@patchbay/protocol";
import { unused } from "../../../models/wire-names.ts";
import { ServiceError } from "../../../ports/service-error.ts";
import { traceOf } from "../../kernel/errors.ts";
import { askAgent, callFunction, type McpRequest, unknownTool } from "./call-tool.ts";
import type { ListChanges } from "./list-changes.ts";
import { type RoleTools, toolsOf } from "./tools.ts";

/** What the agent of a request offers. */
export interface Exposed {
  functions: boolean;
  /** The agent's name, if it takes whole queries. */
  ask?: string;
}

export interface ServedRequest extends McpRequest {
  request: Request;
  /** The parsed body. */
  message: unknown;
  version: string;
  exposed: Exposed;
  changes: ListChanges;
}

/** Clients may keep a list as long, for themselves only: lists differ by key and role. */
const CACHE = { ttlMs: 60_000, cacheScope: "private" } as const;

/** Serves one request of MCP. Holds nothing afterwards but the stream of a client that listens for changes. */
export async function serveMcp(served: ServedRequest): Promise<Response> {
  const { request, message, deps, caller, changes } = served;
  const { principal, role } = caller;
  const list = {
    key: JSON.stringify([principal.agentId, role, principal.roles]),
    read: () => deps.within(principal.orgId, async () => (await knownTools(served))?.list),
  };
  const handler = createMcpHandler((context) => serverOf(served, context), {
    bus: {
      publish: () => undefined,
      subscribe: (listener) => changes.subscribe(list, () => listener({ kind: "tools_list_changed" })),
    },
    onerror: (error) => deps.log.debug("mcp request refused", { requestId: served.requestId, error: error.message }),
  });
  return await handler.fetch(request, { parsedBody: message });
}

function serverOf(served: ServedRequest, { era }: McpRequestContext): Server {
  const modern = era === "modern";
  const server = new Server(
    { name: "patchbay", version: served.version },
    {
      // Requests of the earlier revisions have no stream on which a change could be sent.
      capabilities: { tools: { listChanged: modern } },
      cacheHints: { "tools/list": CACHE, "server/discover": CACHE },
    },
  );
  server.setRequestHandler("tools/list", () =>
    guarded(served, async () => {
      const { functions, ask } = served.exposed;
      const tools = functions ? await toolsFor(served) : undefined;
      const list = [...(tools?.list ?? [])];
      return { tools: ask === undefined ? list : [...list, askTool(ask, tools)] };
    }),
  );
  server.setRequestHandler("tools/call", ({ params }, ctx) =>
    guarded(served, () => callTool(served, server, params, ctx)),
  );
  return server;
}

async function callTool(
  served: ServedRequest,
  server: Server,
  { name, arguments: given = {} }: { name: string; arguments?: Record<string, unknown> | undefined },
  ctx: ServerContext,
) {
  const { functions, ask } = served.exposed;
  const input = given as JsonObject;
  const tools = functions ? await knownTools(served) : undefined;
  if (ask !== undefined && name === askTool(ask, tools).name) {
    const { query } = input;
    if (typeof query === "string" && query.trim() !== "") return await askAgent(served, query, ctx);
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, "query: must be a text that is not empty");
  }
  if (!functions) throw unknownTool(name);
  if (!tools) throw noSession();
  const result = await callFunction(served, { tool: name, input, fn: tools.functionOf(name) }, ctx);
  if (isInputRequiredResult(result) || result.isError) return result;
  // Only results of tools with a schema are structured. For clients of earlier revisions the SDK wraps arrays and plain values.
  const schema = tools.outputSchemaOf(name);
  const { structuredContent: _, ...unstructured } = result;
  return server.projectCallToolResult(schema ? result : unstructured, schema);
}

async function knownTools({ deps, caller: { principal, role } }: ServedRequest): Promise<RoleTools | undefined> {
  const functions = await deps.runs.functionsFor(principal, role);
  return functions && toolsOf(functions);
}

async function toolsFor(served: ServedRequest): Promise<RoleTools> {
  const tools = await knownTools(served);
  // An empty list would look like a role without functions.
  if (!tools) throw noSession();
  return tools;
}

const noSession = (): ProtocolError =>
  new ProtocolError(ProtocolErrorCode.InternalError, MESSAGES.agent_session_not_found);

const NOT_A_NAME = /[^A-Za-z0-9_-]+/g;
const LONGEST_TOOL = 64;

/** `tools`: those of the functions in the same list. */
function askTool(agentName: string, tools: RoleTools | undefined): Tool {
  const safe = agentName.trim().replaceAll(NOT_A_NAME, "_").toLowerCase();
  return {
    name: unused(`ask_${safe}`.slice(0, LONGEST_TOOL), { has: (name) => tools?.functionOf(name) !== undefined }),
    title: `Ask ${agentName}`,
    description: `Sends a question or an order in natural language to the agent ${agentName}, which calls its functions and answers.`,
    inputSchema: {
      type: "object",
      properties: { query: { type: "string", description: "What the agent is to answer or do." } },
      required: ["query"],
    },
    annotations: { title: `Ask ${agentName}`, readOnlyHint: false, openWorldHint: false },
  };
}

/** Clients get the messages of errors that are theirs to read; of others only that there was one. */
async function guarded<T>({ deps, requestId }: ServedRequest, work: () => Promise<T>): Promise<T> {
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
