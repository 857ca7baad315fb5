import type { Tool } from "@modelcontextprotocol/client";
import type { JsonObject } from "@patchbay/functions";

/** The tool members that affect the model or a decision. A lock file holds these. */
export interface ToolDefinition {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly inputSchema: JsonObject;
  readonly outputSchema?: JsonObject;
  readonly annotations?: JsonObject;
}

/** A tool's definition as the server offers it. Texts are unchanged, so that a hidden change counts as one. */
export function definitionOf(tool: Tool): ToolDefinition {
  const { name, title, description, inputSchema, outputSchema, annotations } = tool;
  const definition = { name, title, description, inputSchema, outputSchema, annotations };
  return JSON.parse(JSON.stringify(definition)) as ToolDefinition;
}
