import {
  CancelResponse,
  DEFAULT_LIMITS,
  ErrorBody,
  LIMITS,
  LiveEvent,
  LlmConfig,
  LocalEvent,
  LocalQueryRequest,
  OperatorLimits,
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
import { eventStreamContent, jsonContent, openApiDocument, pathParameters, type Schema } from "../kernel/openapi.ts";
import type { Access, RouteId, RouteSpec } from "./routes.ts";

interface Described {
  body?: SchemaName;
  /** The success answer: status, what it holds, and its schema where it has a body in JSON. */
  answers: Record<string, { description: string; json?: Schema; mediaType?: string; stream?: Schema }>;
  /** Statuses of failures. */
  failures: readonly string[];
  parameters?: readonly Schema[];
}

const FAILURES: Record<string, string> = {
  "400": "The request is not valid, or names a thread that does not exist",
  "401": "Key or token missing or invalid",
  "403": "The key is another agent's, or may not state this role",
  "404": "Not found",
  "413": "The body is too large",
  "415": "The body is not JSON",
  "422": "The Idempotency-Key was used with another body",
  "429":
    "The rate limit of the organisation's tier is used up, or a limit on open event streams is reached; see Retry-After",
  "500": "Server error",
  "503": "Out of service for a moment; see Retry-After",
};

const OF_QUERIES = ["400", "401", "403", "413", "415", "422", "429", "500", "503"];
const OF_RESOURCES = ["400", "401", "403", "404", "500", "503"];
const OF_FOLLOWERS = ["400", "401", "403", "404", "429", "500", "503"];

const header = (name: string, description: string, schema: Schema = { type: "string" }): Schema => ({
  name,
  in: "header",
  description,
  schema,
});
const inQuery = (name: string, schema: Schema): Schema => ({ name, in: "query", schema });
const pageOf = (preset: number): Schema[] => [
  inQuery("limit", { type: "integer", minimum: 1, maximum: 100, default: preset }),
  inQuery("cursor", { type: "string" }),
];

const IDEMPOTENCY = header(
  "Idempotency-Key",
  "The same key and body within 24 h joins the first run. Keys of one API key, and of those that replace it by rotation, are apart from those of others",
  {
    type: "string",
    minLength: 1,
    maxLength: 255,
  },
);
const ON_DISCONNECT = header("X-On-Disconnect", "Cancel the run when its last reader has been gone 5 s", {
  type: "string",
  enum: ["cancel"],
});
const LAST_EVENT_ID = header("Last-Event-ID", "Number of the last event received", { type: "integer", minimum: 0 });

const stream = { description: "Server-sent events", stream: { anyOf: [ref("RunEvent"), ref("LiveEvent")] } };
const localStream = { description: "Server-sent events", stream: ref("LocalEvent") };
const drained = { description: "Nothing is left to send" };

const DESCRIBED: Record<RouteId, Described> = {
  query: {
    body: "QueryRequest",
    answers: { "200": { description: "The run ended; see `success`", json: ref("QueryResponse") } },
    failures: OF_QUERIES,
    parameters: [IDEMPOTENCY, ON_DISCONNECT],
  },
  queryStream: {
    body: "QueryRequest",
    answers: { "200": stream },
    failures: OF_QUERIES,
    parameters: [IDEMPOTENCY, ON_DISCONNECT],
  },
  localQueryStream: {
    body: "LocalQueryRequest",
    answers: { "200": localStream },
    failures: ["400", "401", "413", "415", "429", "500", "503"],
  },
  runEvents: {
    answers: { "200": stream, "204": drained },
    failures: OF_FOLLOWERS,
    parameters: [LAST_EVENT_ID, inQuery("includeDeltas", { type: "boolean" })],
  },
  localRunEvents: {
    answers: { "200": localStream, "204": drained },
    failures: ["400", "401", "404", "429", "500", "503"],
    parameters: [LAST_EVENT_ID, inQuery("include_deltas", { type: "boolean" })],
  },
  cancelRun: {
    answers: {
      "200": { description: "The run had ended", json: ref("CancelResponse") },
      "202": { description: "The run is being cancelled", json: ref("CancelResponse") },
    },
    failures: OF_RESOURCES,
  },
  getRun: { answers: { "200": { description: "The run", json: ref("RunDetail") } }, failures: OF_RESOURCES },
  listThreads: {
    answers: { "200": { description: "One page", json: ref("ThreadPage") } },
    failures: OF_RESOURCES,
    parameters: [...pageOf(50), inQuery("sessionId", { type: "string" })],
  },
  getThread: {
    answers: { "200": { description: "The thread with one page of its messages", json: ref("ThreadDetail") } },
    failures: OF_RESOURCES,
    parameters: pageOf(100),
  },
  deleteThread: { answers: { "204": { description: "Erased" } }, failures: OF_RESOURCES },
  connect: {
    answers: { "101": { description: "The connection is open" } },
    failures: ["400", "401", "403", "429", "503"],
  },
  healthz: { answers: { "200": { description: "Alive", json: { type: "object" } } }, failures: [] },
  readyz: { answers: { "200": { description: "Ready", json: { type: "object" } } }, failures: ["503"] },
  metrics: { answers: { "200": { description: "Figures", mediaType: "text/plain" } }, failures: ["401"] },
  openapi: { answers: { "200": { description: "This document", json: { type: "object" } } }, failures: [] },
};

const SECURITY: Record<Access, Schema[]> = {
  api: [{ apiKey: [] }],
  access: [{ accessToken: [] }],
  runtime: [{ runtimeKey: [] }],
  open: [],
};

/** The query API as an OpenAPI 3.1 document, derived from the route table and the schemas of the protocol. */
export function queryDocument(options: {
  version: string;
  serverUrl: string;
  routes: readonly RouteSpec[];
  limits: OperatorLimits;
}): Schema {
  const { version, serverUrl, routes, limits } = options;
  return openApiDocument({
    title: "Patchbay",
    version,
    serverUrl,
    operations: routes.map((route) => ({ ...route, operation: operation(route) })),
    extensions: { "x-limits": limitsAt(limits) },
    components: {
      schemas: componentSchemas(),
      securitySchemes: {
        apiKey: { type: "apiKey", in: "header", name: "X-API-Key" },
        accessToken: { type: "http", scheme: "bearer" },
        runtimeKey: { type: "http", scheme: "bearer" },
      },
    },
  });
}

/** The operator's limits with description, default and current value. */
function limitsAt(limits: OperatorLimits): Schema {
  const names = Object.keys(DEFAULT_LIMITS) as (keyof OperatorLimits)[];
  return Object.fromEntries(
    names.map((name) => [
      name,
      { description: OperatorLimits.shape[name].description, default: DEFAULT_LIMITS[name], value: limits[name] },
    ]),
  );
}

function operation(route: RouteSpec): Schema {
  const { body, answers, failures, parameters = [] } = DESCRIBED[route.id];
  const inPath = pathParameters(route.path);
  return {
    operationId: route.id,
    summary: route.summary,
    security: SECURITY[route.access],
    ...(inPath.length + parameters.length > 0 && { parameters: [...inPath, ...parameters] }),
    ...(body && { requestBody: { required: true, content: jsonContent(ref(body)) } }),
    responses: {
      ...Object.fromEntries(Object.entries(answers).map(([status, answer]) => [status, described(answer)])),
      ...Object.fromEntries(failures.map((status) => [status, failed(status)])),
    },
  };
}

function described({ description, json, mediaType, stream }: Described["answers"][string]): Schema {
  if (json) return { description, content: jsonContent(json) };
  // Each `data:` line of the stream holds one value of this schema.
  if (stream) return { description, content: eventStreamContent(stream) };
  return { description, ...(mediaType && { content: { [mediaType]: { schema: { type: "string" } } } }) };
}

function failed(status: string): Schema {
  return { description: FAILURES[status], content: jsonContent(ref("ErrorBody")) };
}

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
type SchemaName = keyof typeof PUBLISHED;

function ref(name: SchemaName): { $ref: string } {
  return { $ref: `#/components/schemas/${name}` };
}

/** The wire's schemas as the document's components. */
function componentSchemas(): Record<string, Schema> {
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
