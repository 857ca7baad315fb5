/** The tools of MCP servers as functions of a service. */
export { mcpFunctions, type McpFunctions } from "./mcp-functions.ts";
export type { Caller, HttpServer, McpOptions, StdioServer, ToolOverride } from "./options.ts";
