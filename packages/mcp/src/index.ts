/** MCP server tools as service functions. */
export { mcpFunctions, type McpFunctions } from "./mcp-functions.ts";
export type { Caller, HttpServer, McpOptions, StdioServer, ToolOverride } from "./options.ts";
