import * as protocol from "@patchbay/protocol";
import { z } from "zod";
import type { Schema } from "../kernel/openapi.ts";
import { ResponseEvent, ResponseObject, ResponsesRequest } from "./openai/responses-wire.ts";
import {
  ChatCompletion,
  ChatCompletionChunk,
  ChatCompletionRequest,
  Model,
  ModelList,
  OpenAiError,
} from "./openai/wire.ts";
import { UiStreamRequest } from "./ui-stream/request.ts";

/** A Model Context Protocol message. */
const McpMessage = z.object({
  jsonrpc: z.literal("2.0").describe("The version of JSON-RPC."),
  id: z.union([z.string(), z.int()]).optional().describe("Absent for a notification."),
  method: z.string().describe("For example `tools/list` or `tools/call`."),
  params: z.record(z.string(), z.unknown()).optional().describe("The members that the method has."),
});

/** The document's schemas of the protocol, in its order. */
const OF_PROTOCOL = [
  ...(["QueryRequest", "LlmConfig", "LocalQueryRequest", "QueryResponse", "ToolCall", "Usage"] as const),
  ...(["RunEvent", "LiveEvent", "LocalEvent", "ErrorBody", "RunDetail", "RunEntry", "RunPage"] as const),
  ...(["RetryResponse", "CancelResponse", "Feedback", "ThreadSummary", "ThreadPage", "ThreadDetail"] as const),
  ...(["ApprovalRequest", "Approval", "ApprovalPage", "ApprovalDecision"] as const),
  ...(["FunctionList", "CheckRequest", "CheckResponse"] as const),
];
const OF_ADAPTERS = {
  Model,
  ModelList,
  ChatCompletionRequest,
  ChatCompletion,
  ChatCompletionChunk,
  ResponsesRequest,
  ResponseObject,
  ResponseEvent,
  OpenAiError,
  UiStreamRequest,
};
const { ClientTokenRequest, ClientToken, LIMITS } = protocol;
const OTHERS = { ...OF_ADAPTERS, ClientTokenRequest, ClientToken, McpMessage };
/** A schema name in the document. */
export type SchemaName = (typeof OF_PROTOCOL)[number] | keyof typeof OTHERS;

/** The wire schemas as the document's components. */
export function componentSchemas(): Record<string, Schema> {
  const registry = z.registry<{ id: string }>();
  const shared = { ...protocol };
  for (const id of OF_PROTOCOL) registry.add(shared[id], { id });
  for (const [id, schema] of Object.entries(OTHERS)) registry.add(schema, { id });
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
  // Members whose wire form differs from the parsed one.
  describe(components, "QueryRequest", "contextJson", { type: "string", contentMediaType: "application/json" });
  describe(components, "CheckRequest", "contextJson", { type: "string", contentMediaType: "application/json" });
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
