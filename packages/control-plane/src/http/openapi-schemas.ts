import {
  CancelResponse,
  ErrorBody,
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
  ThreadSummary,
  ThreadPage,
  ThreadDetail,
};
export type SchemaName = keyof typeof PUBLISHED;
type Schema = Record<string, unknown>;

export function ref(name: SchemaName): { $ref: string } {
  return { $ref: `#/components/schemas/${name}` };
}

/** The wire's schemas as the document's components. */
export function componentSchemas(): Record<string, Schema> {
  const registry = z.registry<{ id: string }>();
  for (const [id, schema] of Object.entries(PUBLISHED)) registry.add(schema, { id });
  const { schemas } = z.toJSONSchema(registry, {
    uri: (id) => `#/components/schemas/${id}`,
    // What the schemas let out is also what they ask for, but for members that are changed on the way in: see below.
    io: "output",
    unrepresentable: "any",
    override: ({ jsonSchema }) => void delete jsonSchema.additionalProperties,
  });
  const components = schemas as Record<string, Schema>;
  for (const schema of Object.values(components)) {
    delete schema["$id"];
    delete schema["$schema"];
  }
  describe(components, "QueryRequest", "contextJson", {
    type: "string",
    description: `The text of a JSON object, at most ${LIMITS.contextBytes} bytes.`,
    contentMediaType: "application/json",
  });
  describe(components, "LocalQueryRequest", "context", { type: "object" });
  const answerSchema = {
    type: "object",
    description:
      "JSON Schema 2020-12 that the answer meets: an object at the root, at most 65,536 bytes, 200 members and 10 nested objects and arrays, names of at most 64 characters, references of the form #/... only. Unknown keywords are ignored.",
  };
  describe(components, "QueryRequest", "responseSchema", answerSchema);
  describe(components, "LocalQueryRequest", "response_schema", answerSchema);
  const maxTokens = "Tokens of one answer of the model at most. The agent's setting comes before the default.";
  describe(components, "LlmConfig", "maxTokens", { default: LIMITS.defaultMaxTokens, description: maxTokens });
  describe(components, "LocalQueryRequest", "max_tokens", {
    default: LIMITS.localDefaultMaxTokens,
    description: maxTokens,
  });
  describe(components, "LlmConfig", "model", {
    description:
      "Default: the agent's model where `provider` is the agent's, else the provider's default. 400 `model_not_allowed` where queries of the agent cannot choose it.",
  });
  describe(components, "LlmConfig", "fallback", {
    default: true,
    description: "`false` leaves the fallback models of the agent out.",
  });
  describe(components, "LocalQueryRequest", "role", { default: "user" });
  describe(components, "LocalQueryRequest", "analysis_mode", { default: false });
  return components;
}

function describe(components: Record<string, Schema>, name: SchemaName, member: string, said: Schema): void {
  const properties = components[name]?.["properties"] as Record<string, Schema>;
  properties[member] = { ...properties[member], ...said };
}
