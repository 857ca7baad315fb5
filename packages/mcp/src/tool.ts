import type { Tool } from "@modelcontextprotocol/client";
import type { JsonObject } from "@patchbay/functions";
import { canonicalJson } from "@patchbay/functions/sources";

/** The parts of a tool that the model, or a decision, depends on. A lock file holds these. */
export interface ToolDefinition {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly inputSchema: JsonObject;
  readonly outputSchema?: JsonObject;
  readonly annotations?: JsonObject;
}

/** The definition of a tool as the server offers it. Texts stay as they are, so that a hidden change is one. */
export function definitionOf({
  name,
  title,
  description,
  inputSchema,
  outputSchema,
  annotations,
}: Tool): ToolDefinition {
  const definition = { name, title, description, inputSchema, outputSchema, annotations };
  return JSON.parse(JSON.stringify(definition)) as ToolDefinition;
}

export const isSameDefinition = (a: ToolDefinition | undefined, b: ToolDefinition | undefined): boolean =>
  a !== undefined && b !== undefined && textOf(a) === textOf(b);

const textOf = (definition: ToolDefinition): string => canonicalJson(definition);

/** Control characters except line breaks and tabs, the invisible characters of Unicode's format class, and comments of HTML: a person who reviews a text does not see them, and a model does. */
const HIDDEN = /(?![\t\n\r])\p{Cc}|\p{Cf}|<!--[\s\S]*?(?:-->|$)/gu;

/** A text of the server without what a person cannot see. */
export const visibleText = (text: string): string => text.replaceAll(HIDDEN, "");
