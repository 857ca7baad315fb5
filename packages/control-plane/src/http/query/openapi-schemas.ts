import {
  Approval,
  ApprovalDecision,
  ApprovalPage,
  ApprovalRequest,
  CancelResponse,
  ClientToken,
  ClientTokenRequest,
  ErrorBody,
  Feedback,
  LIMITS,
  LiveEvent,
  LlmConfig,
  LocalEvent,
  LocalQueryRequest,
  QueryRequest,
  QueryResponse,
  RunDetail,
  RunEvent,
  ThreadDetail,
  ThreadPage,
  ThreadSummary,
  ToolCall,
  Usage,
} from "@patchbay/protocol";
import { z } from "zod";
import type { Schema } from "../kernel/openapi.ts";
import { ChatCompletion, ChatCompletionChunk, ChatCompletionRequest, ModelList, OpenAiError } from "./openai/wire.ts";
import { UiStreamRequest } from "./ui-stream/request.ts";

/** A message of the Model Context Protocol. */
const McpMessage = z.object({
  jsonrpc: z.literal("2.0").describe("The version of JSON-RPC."),
  id: z.union([z.string(), z.int()]).optional().describe("Absent for a notification."),
  method: z.string().describe("For example `tools/list` or `tools/call`."),
  params: z.record(z.string(), z.unknown()).optional().describe("The members that the method has."),
});

/** The schemas of the document by name. */
const PUBLISHED = {
  QueryRequest,
  LlmConfig,
  LocalQueryRequest,
  QueryResponse,
  ToolCall,
  Usage,
  RunEvent,
  LiveEvent,
  LocalEvent,
  ErrorBody,
  RunDetail,
  CancelResponse,
  Feedback,
  ThreadSummary,
  ThreadPage,
  ThreadDetail,
  ApprovalRequest,
  Approval,
  ApprovalPage,
  ApprovalDecision,
  ModelList,
  ChatCompletionRequest,
  ChatCompletion,
  ChatCompletionChunk,
  OpenAiError,
  UiStreamRequest,
  ClientTokenRequest,
  ClientToken,
  McpMessage,
};
/** Name of a schema of the document. */
export type SchemaName = keyof typeof PUBLISHED;

/** The wire's schemas as the document's components. */
export function componentSchemas(): Record<string, Schema> {
  const registry = z.registry<{ id: string }>();
  for (const [id, schema] of Object.entries(PUBLISHED)) registry.add(schema, { id });
  const { schemas } = z.toJSONSchema(registry, {
    uri: (id) => `#/components/schemas/${id}`,
    // Input and output have the same members, except those that parsing changes: see below.
    io: "output",
    unrepresentable: "any",
    override: ({ jsonSchema }) => void delete jsonSchema.additionalProperties,
  });
  const components = schemas as Record<string, Schema>;
  for (const schema of Object.values(components)) {
    delete schema["$id"];
    delete schema["$schema"];
  }
  // Members whose form on the wire differs from the parsed one.
  describe(components, "QueryRequest", "contextJson", { type: "string", contentMediaType: "application/json" });
  describe(components, "LocalQueryRequest", "context", { type: "object" });
  describe(components, "QueryRequest", "responseSchema", { type: "object" });
  describe(components, "LocalQueryRequest", "response_schema", { type: "object" });
  describe(components, "LlmConfig", "maxTokens", { default: LIMITS.defaultMaxTokens });
  describe(components, "LocalQueryRequest", "max_tokens", { default: LIMITS.localDefaultMaxTokens });
  describe(components, "LlmConfig", "fallback", { default: true });
  describe(components, "LocalQueryRequest", "role", { default: "user" });
  describe(components, "LocalQueryRequest", "analysis_mode", { default: false });
  return components;
}

function describe(components: Record<string, Schema>, name: SchemaName, member: string, said: Schema): void {
  const properties = components[name]?.["properties"] as Record<string, Schema>;
  properties[member] = { ...properties[member], ...said };
}
