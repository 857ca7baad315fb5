import {
  DefinitionError,
  defineFunction,
  type FunctionDefinition,
  type FunctionOptions,
  type JsonObject,
  type Log,
  RetryableError,
  type Schema,
} from "@patchbay/functions";
import { addFunctionSource, defaultLog, readForeignSchema } from "@patchbay/functions/sources";
import { compare, lockPath, ownTool, type Pinned, readPinned, writePinned } from "./lock.ts";
import { checkOptions, type McpOptions, type ToolOverride } from "./options.ts";
import { NotRunningError, toResult } from "./results.ts";
import { type Server, startServer } from "./server.ts";
import { isSameDefinition, type ToolDefinition, visibleText } from "./tool.ts";

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
  const { name, lock } = options;
  const path = lock === undefined ? undefined : lockPath(lock);
  const pinned = path === undefined ? undefined : readPinned(path, name);
  const log = (options.log ?? defaultLog()).child({ mcpServer: name });
  const server = await startServer(options, log);
  try {
    const accepted = server.tools().filter((tool) => path === undefined || isPinned(server, tool, pinned));
    if (path !== undefined) warnOfUnpinned(server, accepted, { path, pinned, log });
    const functions = defineTools(server, accepted, options, log);
    const remove = addFunctionSource(sourceOf(server, name, path));
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

function isPinned({ title }: Server, tool: ToolDefinition, pinned: Pinned | undefined): boolean {
  return pinned?.server === title && isSameDefinition(ownTool(pinned, tool.name), tool);
}

function warnOfUnpinned(
  server: Server,
  accepted: readonly ToolDefinition[],
  { path, pinned, log }: { path: string; pinned: Pinned | undefined; log: Log },
): void {
  const leftOut = server.tools().filter((tool) => !accepted.includes(tool));
  const then = "Read the difference and accept it with: patchbay pin FILE, where FILE is the service file.";
  if (pinned === undefined)
    log.warn(`no function of the MCP server is offered, because ${path} has no definitions of it. ${then}`);
  else if (leftOut.length > 0)
    log.warn(`tools of the MCP server differ from ${path} and are not offered. ${then}`, {
      tools: leftOut.map((tool) => tool.name),
    });
}

function sourceOf(server: Server, name: string, lockFile: string | undefined) {
  /** The tools that the owner read last, so that nothing else is accepted. */
  let shown: Pinned | undefined;
  const current = (): Pinned => ({
    server: server.title,
    tools: Object.fromEntries(
      server
        .tools()
        .toSorted((a, b) => (a.name < b.name ? -1 : 1))
        .map((tool) => [tool.name, tool]),
    ),
  });
  return {
    name,
    lockFile,
    drift() {
      if (lockFile === undefined) return [];
      shown = current();
      return compare(name, lockFile, readPinned(lockFile, name), shown);
    },
    async pin() {
      if (lockFile !== undefined) await writePinned(lockFile, name, shown ?? current());
    },
  };
}

/** Largest tool definition. A function set has at most 1 MiB, and one tool with a long description must not use it up. */
const TOOL_BYTES = 196_608;

/** Omits a tool that cannot be a function: the others, and the owner's own functions, still work. */
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

  const functions = new Map<string, FunctionDefinition>();
  for (const tool of tools) {
    const granted = Object.hasOwn(roles, tool.name) ? roles[tool.name] : roles["*"];
    if (granted === undefined) continue;
    try {
      const definition = defineFunction(toOptions(server, tool, granted, options));
      const { name } = definition.manifest;
      const sizeBytes = Buffer.byteLength(JSON.stringify(definition.manifest));
      if (sizeBytes > TOOL_BYTES)
        throw new DefinitionError(`its definition has ${sizeBytes} bytes, which exceed the limit of ${TOOL_BYTES}`);
      if (functions.has(name)) throw new DefinitionError(`another tool is the function ${name}; name one in override`);
      functions.set(name, definition);
    } catch (error) {
      refuseMistake(server, tool, granted, options);
      log.warn("a tool of the MCP server cannot be a function and is not offered", {
        tool: tool.name,
        reason: error instanceof Error ? error.message : String(error),
      });
    }
  }
  return [...functions.values()];
}

/** Another author's tool must not stop the service. An owner's mistake must: throws if the override is refused for any tool. */
function refuseMistake(
  server: Server,
  { name }: ToolDefinition,
  roles: "everyone" | readonly string[],
  options: McpOptions,
): void {
  const override = overrideOf(options, { name });
  if (!override) return;
  // These name the tool's arguments.
  const { cases: _, examples: __, approval, ...rest } = override;
  const { edit: ___, ...decided } = approval ?? {};
  const own = { ...rest, ...(approval && { approval: decided as typeof approval }) };
  const plain = { name, inputSchema: { type: "object" } };
  defineFunction(toOptions(server, plain, roles, { ...options, override: { [name]: own } }));
}

/** A tool may have the name of a member that every object inherits. */
const overrideOf = ({ override = {} }: McpOptions, { name }: Pick<ToolDefinition, "name">): ToolOverride | undefined =>
  Object.hasOwn(override, name) ? override[name] : undefined;

function toOptions(
  server: Server,
  tool: ToolDefinition,
  roles: "everyone" | readonly string[],
  options: McpOptions,
): FunctionOptions<JsonObject, Schema | undefined, JsonObject> {
  const where = `MCP server "${options.name}": tool "${tool.name}"`;
  const {
    output = tool.outputSchema && readForeignSchema(tool.outputSchema, `${where}: outputSchema`, visibleText),
    ...override
  } = overrideOf(options, tool) ?? {};
  const title = visibleText(tool.title ?? "").slice(0, TITLE_UNITS);
  return {
    name: `${options.name}_${tool.name}`.replaceAll(/[^A-Za-z0-9_.-]/g, "_"),
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
