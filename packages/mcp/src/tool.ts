import type { Tool } from "@modelcontextprotocol/client";
import type { JsonObject } from "@patchbay/functions";
import { canonicalJson } from "@patchbay/functions/sources";

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

export const isSameDefinition = (a: ToolDefinition | undefined, b: ToolDefinition | undefined): boolean =>
  a !== undefined && b !== undefined && textOf(a) === textOf(b);

const textOf = (definition: ToolDefinition): string => canonicalJson(definition);

/**
 * Control characters except line breaks and tabs, Unicode format characters, and HTML comments: a reviewer does not see
 * them, and a model does.
 */
const HIDDEN = /(?![\t\n\r])\p{Cc}|\p{Cf}|<!--[\s\S]*?(?:-->|$)/gu;

/** A server text without characters that a person cannot see. */
export const visibleText = (text: string): string => text.replaceAll(HIDDEN, "");
