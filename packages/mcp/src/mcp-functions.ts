import { type FunctionDefinition, type Log, RetryableError } from "@patchbay/functions";
import {
  createSourceLock,
  defaultLog,
  defineForeign,
  foreignName,
  type ForeignOptions,
  readForeignSchema,
  visibleText,
} from "@patchbay/functions/sources";
import { checkOptions, type McpOptions, startOf, type ToolOverride } from "./options.ts";
import { NotRunningError, toResult } from "./results.ts";
import { type Server, startServer } from "./server.ts";
import type { ToolDefinition } from "./tool.ts";

/** A server's tools as functions. */
export interface McpFunctions {
  /** The functions, for `defineService`. */
  readonly functions: readonly FunctionDefinition[];
  /** Ends the connection, and the server's process if it has one. */
  close(): Promise<void>;
}

/**
 * Connects to an MCP server and defines a function for each tool that the owner gives to a role. Roles, `authorize`,
 * approval and limits hold as for any other function, and the arguments are validated before the server receives them.
 * Rejects if the server does not start.
 *
 * ```ts
 * const files = await mcpFunctions({
 *   name: "fs",
 *   server: { command: "npx", args: ["-y", "@modelcontextprotocol/server-filesystem", "/srv/docs"] },
 *   roles: { read_text_file: ["support"], write_file: ["manager"] },
 *   lock: "mcp.lock.json",
 * });
 * export default defineService({ name: "desk", functions: [...files.functions] });
 * ```
 */
export async function mcpFunctions(options: McpOptions): Promise<McpFunctions> {
  checkOptions(options);
  const { name } = options;
  const lock = createSourceLock(TERMS, name, options.lock);
  const log = (options.log ?? defaultLog()).child({ mcpServer: name });
  const server = await startServer(options, log);
  try {
    const offered = () => ({ server: server.title, start: startOf(options), definitions: server.tools() });
    const functions = defineTools(server, lock.accepted(offered(), log), options, log);
    const remove = lock.register(offered);
    return {
      functions,
      async close() {
        remove();
        await server.close();
      },
    };
  } catch (error) {
    await server.close();
    throw error;
  }
}

const TERMS = { kind: "MCP server", part: "tool", identity: "the server names itself" };

function defineTools(
  server: Server,
  tools: readonly ToolDefinition[],
  options: McpOptions,
  log: Log,
): FunctionDefinition[] {
  const { roles, override = {} } = options;
  const offered = new Set(server.tools().map((tool) => tool.name));
  const missing = [...Object.keys(roles), ...Object.keys(override)].filter((one) => one !== "*" && !offered.has(one));
  if (missing.length > 0) log.warn("the MCP server does not offer tools that the options name", { tools: missing });
  const functions = tools.flatMap((tool) => {
    const granted = Object.hasOwn(roles, tool.name) ? roles[tool.name] : roles["*"];
    if (granted === undefined) return [];
    const plain = { name: tool.name, inputSchema: { type: "object" } };
    const toOptions = (isPlain: boolean) => toFunction(server, isPlain ? plain : tool, granted, options);
    return [{ name: tool.name, toOptions }];
  });
  return defineForeign(functions, TERMS, log).functions;
}

/** A tool may have the name of a member that every object inherits. */
const overrideOf = ({ override = {} }: McpOptions, { name }: Pick<ToolDefinition, "name">): ToolOverride | undefined =>
  Object.hasOwn(override, name) ? override[name] : undefined;

function toFunction(
  server: Server,
  tool: ToolDefinition,
  roles: "everyone" | readonly string[],
  options: McpOptions,
): ForeignOptions {
  const where = `MCP server "${options.name}": tool "${tool.name}"`;
  const {
    output = tool.outputSchema && readForeignSchema(tool.outputSchema, `${where}: outputSchema`, visibleText),
    ...override
  } = overrideOf(options, tool) ?? {};
  const title = visibleText(tool.title ?? "").slice(0, TITLE_UNITS);
  return {
    name: foreignName(options.name, tool.name),
    description: visibleText(tool.description ?? "").trim() || `The tool ${visibleText(tool.name)}.`,
    ...(title !== "" && { title }),
    ...(options.trust === "annotations" && { effect: effectOf(tool) }),
    // The server's operator may write its texts, results and errors.
    returns: "untrusted",
    foreign: true,
    ...override,
    input: readForeignSchema(tool.inputSchema, `${where}: inputSchema`, visibleText),
    ...(output !== undefined && { output }),
    roles,
    handler: async (input, context) => {
      try {
        return toResult(await server.call(tool, input, context));
      } catch (error) {
        // As a FunctionError it would end the attempts, although the server may run again at the next one.
        if (override.retries === undefined || !(error instanceof NotRunningError)) throw error;
        throw new RetryableError({ message: error.message, cause: error });
      }
    },
  };
}

const TITLE_UNITS = 200;

function effectOf({ annotations }: ToolDefinition): "read" | "write" | "destructive" {
  if (annotations?.["readOnlyHint"] === true) return "read";
  return annotations?.["destructiveHint"] === true ? "destructive" : "write";
}
