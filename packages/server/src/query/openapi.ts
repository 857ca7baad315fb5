import { DEFAULT_LIMITS, OperatorLimits } from "@patchbay/protocol";
import { eventStreamContent, openApiDocument, pathParameters, type Schema } from "../kernel/openapi.ts";
import { componentSchemas } from "./openapi-schemas.ts";
import examples from "./openapi-examples.json" with { type: "json" };
import { type Access, type Answer, CALLER, ref } from "./route-entry.ts";
import type { RouteSpec } from "./routes.ts";

const FAILURES: Record<string, string> = {
  "400": "The request is not valid, or names a thread that does not exist",
  "401": "Key or token missing or invalid, or that of the caller",
  "403": "The key is another agent's, or may not state this role",
  "404": "The path, the run or the thread does not exist, or the key may not see it",
  "409":
    "The present state does not allow it: an approval that is decided or expired, see `status`, or a run that was cancelled, waits for an approval or behind others of its thread",
  "413": "The body is too large",
  "415": "The body is not JSON",
  "422": "The Idempotency-Key was used with another body",
  "429":
    "The rate limit of the organisation's tier is used up, or a limit on open event streams is reached; see Retry-After",
  "500": "The service failed. Quote `requestId` when you report it",
  "502": "The provider of the model failed",
  "504": "The run reached its time limit",
  "503": "The service is stopping, or cannot reach its store. Try again after `Retry-After` seconds",
};

const IN_PATH = {
  agent_id: "Id of the agent, such as `agt_…`. 403 if the key belongs to another agent",
  run_id: "Value of `X-Run-Id` or `runId`. 404 if the agent has no such run, or the key may not see it",
  approval_id: "Value of `approvalId`. 404 if the agent has no such approval, or the key may not see its run",
  chat_id: "The `id` of the chat, as the client named it",
  model: "Id of a model, such as `agt_…:support`. 404 if the agent has no such role",
  thread_id: "Value of `threadId` of an answer. 404 if the agent has no such thread, or the key may not see it",
};

/** The groups of operations, each with the paths that it has; the first that fits decides. */
const TAGS: [tag: string, path: RegExp][] = [
  ["Queries", /\/query(-stream)?$|^\/agent\//],
  ["Runs", /\/runs/],
  ["Threads", /\/threads/],
  ["Approvals", /\/approvals/],
  ["Access", /\/(functions|check)$/],
  ["MCP", /\/mcp$/],
  ["OpenAI", /\/v1\//],
  ["AI SDK", /\/ui-stream/],
  ["Client tokens", /\/client-tokens$/],
  ["Service", /./],
];

const { parameters: IDS, ...EXAMPLES } = examples as Record<string, unknown> & { parameters: Record<string, string> };

const SECURITY: Record<Access, Schema[]> = {
  api: [{ apiKey: [] }],
  adapter: [{ apiKey: [] }, { apiKeyAsBearer: [] }],
  access: [{ accessToken: [] }],
  runtime: [{ runtimeKey: [] }],
  open: [],
};

/** The query API as an OpenAPI 3.1 document, derived from the route table and the protocol schemas. */
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
    extensions: { tags: TAGS.map(([name]) => ({ name })), "x-limits": limitsAt(limits) },
    components: {
      schemas: componentSchemas(),
      securitySchemes: {
        apiKey: { type: "apiKey", in: "header", name: "X-API-Key" },
        apiKeyAsBearer: { type: "http", scheme: "bearer" },
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
  const { path, access, body, answers, failures, parameters = [] } = route;
  const ofCaller = access === "api" || access === "adapter" || access === "access" ? [CALLER] : [];
  const inPath = pathParameters(path, IN_PATH).map((one) => ({ ...one, example: IDS[String(one["name"])] }));
  const all = [...inPath, ...parameters, ...ofCaller];
  return {
    operationId: route.id,
    tags: [TAGS.find(([, paths]) => paths.test(path))![0]],
    summary: route.summary,
    security: SECURITY[access],
    ...(all.length > 0 && { parameters: all }),
    ...(body && { requestBody: { required: true, content: jsonLike(ref(body), route) } }),
    responses: {
      ...Object.fromEntries(Object.entries(answers).map(([status, answer]) => [status, described(answer, route)])),
      ...Object.fromEntries(failures.map((status) => [status, failed(status, route)])),
    },
  };
}

function described({ description, json, mediaType, stream }: Answer, route: RouteSpec): Schema {
  // Each `data:` line in the stream contains one value of this schema.
  const content = { ...(json && jsonLike(json, route)), ...(stream && eventStreamContent(stream)) };
  if (json || stream) return { description, content };
  return { description, ...(mediaType && { content: { [mediaType]: { schema: { type: "string" } } } }) };
}

function failed(status: string, route: RouteSpec): Schema {
  return { description: FAILURES[status], content: jsonLike(ref(route.failure ?? "ErrorBody"), route) };
}

/** JSON with the example of its schema, or of its operation where the schema has no name. */
function jsonLike(schema: Schema, { id }: RouteSpec): Schema {
  const { $ref } = schema;
  const name = typeof $ref === "string" ? $ref.split("/").at(-1)! : id;
  return { "application/json": { schema, example: EXAMPLES[name] } };
}
