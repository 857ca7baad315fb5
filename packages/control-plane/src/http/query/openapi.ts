import { DEFAULT_LIMITS, OperatorLimits } from "@patchbay/protocol";
import { eventStreamContent, jsonContent, openApiDocument, pathParameters, type Schema } from "../kernel/openapi.ts";
import { componentSchemas, ref, type SchemaName } from "./openapi-schemas.ts";
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
  "404": "The path, the run or the thread does not exist, or the key may not see it",
  "413": "The body is too large",
  "415": "The body is not JSON",
  "422": "The Idempotency-Key was used with another body",
  "429":
    "The rate limit of the organisation's tier is used up, or a limit on open event streams is reached; see Retry-After",
  "500": "The service failed. Quote `requestId` when you report it",
  "503": "The service is stopping, or cannot reach its store. Try again after `Retry-After` seconds",
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
const inQuery = (name: string, description: string, schema: Schema): Schema => ({
  name,
  in: "query",
  description,
  schema,
});
const pageOf = (preset: number): Schema[] => [
  inQuery("limit", `Entries of the page: 1 to 100, default ${preset}. Another value is answered with 400`, {
    type: "integer",
    minimum: 1,
    maximum: 100,
    default: preset,
  }),
  inQuery("cursor", "`nextCursor` of the page before. Default: the first page", { type: "string" }),
];
const withDeltas = (name: string): Schema =>
  inQuery(name, "True adds live events from now on: parts of texts, and the progress of functions. Default: false", {
    type: "boolean",
  });

const IN_PATH = {
  agent_id: "Id of the agent, such as `agt_…`. 403 if the key belongs to another agent",
  run_id: "Value of `X-Run-Id` or `runId`. 404 if the agent has no such run, or the key may not see it",
  thread_id: "Value of `threadId` of an answer. 404 if the agent has no such thread, or the key may not see it",
};

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
const drained = { description: "The run has ended and the client has all its events: nothing is left to send" };

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
    parameters: [LAST_EVENT_ID, withDeltas("includeDeltas")],
  },
  localRunEvents: {
    answers: { "200": localStream, "204": drained },
    failures: ["400", "401", "404", "429", "500", "503"],
    parameters: [LAST_EVENT_ID, withDeltas("include_deltas")],
  },
  cancelRun: {
    answers: {
      "200": { description: "The run had ended", json: ref("CancelResponse") },
      "202": { description: "The run is being cancelled", json: ref("CancelResponse") },
    },
    failures: OF_RESOURCES,
  },
  getRun: {
    answers: { "200": { description: "State, usage so far, and after the end the result", json: ref("RunDetail") } },
    failures: OF_RESOURCES,
  },
  listThreads: {
    answers: { "200": { description: "One page of threads, latest change first", json: ref("ThreadPage") } },
    failures: OF_RESOURCES,
    parameters: [
      ...pageOf(50),
      inQuery("sessionId", "Lists only threads whose first query had this value", { type: "string" }),
    ],
  },
  getThread: {
    answers: { "200": { description: "The thread with one page of its messages", json: ref("ThreadDetail") } },
    failures: OF_RESOURCES,
    parameters: pageOf(100),
  },
  deleteThread: {
    answers: { "204": { description: "Messages, events and calls of the thread are erased" } },
    failures: OF_RESOURCES,
  },
  connect: {
    answers: { "101": { description: "The connection is open" } },
    failures: ["400", "401", "403", "429", "503"],
  },
  healthz: {
    answers: { "200": { description: "The process accepts requests", json: { type: "object" } } },
    failures: [],
  },
  readyz: {
    answers: {
      "200": {
        description: "The store and the bus are available, so the service can work on queries",
        json: { type: "object" },
      },
    },
    failures: ["503"],
  },
  metrics: {
    answers: {
      "200": { description: "Counters, gauges and histograms in Prometheus's text format", mediaType: "text/plain" },
    },
    failures: ["401"],
  },
  openapi: {
    answers: {
      "200": {
        description: "An OpenAPI 3.1 document with the limits of this service in `x-limits`",
        json: { type: "object" },
      },
    },
    failures: [],
  },
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
  const inPath = pathParameters(route.path, IN_PATH);
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
