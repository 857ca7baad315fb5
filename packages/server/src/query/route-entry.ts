import type { Schema } from "../kernel/openapi.ts";
import type { SchemaName } from "./openapi-schemas.ts";

/**
 * Secret that a route requires: an API key for the agent in the path, on an `adapter` also as a bearer token; an access
 * token, for the routes of the local development variant; a runtime key; or none (`open`).
 */
export type Access = "api" | "adapter" | "access" | "runtime" | "open";

/** A success answer: JSON, another media type, or a stream's `data:` lines. */
export interface Answer {
  description: string;
  json?: Schema;
  mediaType?: string;
  stream?: Schema;
}

interface Options {
  body?: SchemaName;
  /** True for routes that answer with server-sent events. */
  streams?: true;
  /** True for what machines request every few seconds: its requests are logged at debug level. */
  probe?: true;
  parameters?: readonly Schema[];
  /** The failure body. Default: `ErrorBody`. */
  failure?: SchemaName;
  /** Failure statuses besides those that all routes of its kind share. */
  fails?: readonly string[];
}

/** A route, described for the OpenAPI document. */
export interface RouteEntry extends Omit<Options, "fails"> {
  method: "GET" | "POST" | "DELETE";
  path: string;
  access: Access;
  summary: string;
  /** The success answers by status, each with its description and, if it has a body, its schema. */
  answers: Readonly<Record<string, Answer>>;
  /** Failure statuses. */
  failures: readonly string[];
}

const routeFor =
  (access: Access) =>
  (
    name: `${RouteEntry["method"]} /${string}`,
    summary: string,
    answers: RouteEntry["answers"],
    { fails = [], ...options }: Options = {},
  ): RouteEntry => {
    const [method, path] = name.split(" ") as [RouteEntry["method"], string];
    const failures = [...failuresOf(method, path, access, options), ...fails];
    return { method, path, access, summary, answers, failures, ...options };
  };

export const api = routeFor("api");
export const adapter = routeFor("adapter");
export const local = routeFor("access");
export const runtime = routeFor("runtime");
export const open = routeFor("open");

function failuresOf(
  method: string,
  path: string,
  access: Access,
  { body, streams, parameters = [] }: Options,
): string[] {
  if (access === "open" || access === "runtime") return [];
  const isAdapter = access === "adapter";
  return [
    "400",
    "401",
    "500",
    "503",
    ...(access === "access" ? [] : ["403"]),
    ...(!isAdapter && (method === "GET" || /:(run|thread|approval)_id/.test(path)) ? ["404"] : []),
    ...(body ? ["413", "415"] : []),
    ...(parameters.includes(IDEMPOTENCY) ? ["422"] : []),
    ...(body || streams || isAdapter ? ["429"] : []),
  ];
}

/** Refers to a schema in the document. */
export function ref(name: SchemaName): { $ref: string } {
  return { $ref: `#/components/schemas/${name}` };
}

export const json = (description: string, name: SchemaName): Answer => ({ description, json: ref(name) });
export const object = (description: string): Answer => ({ description, json: { type: "object" } });

export const events = { description: "Server-sent events", stream: { anyOf: [ref("RunEvent"), ref("LiveEvent")] } };
export const localEvents = { description: "Server-sent events", stream: ref("LocalEvent") };
export const drained = { description: "The run has ended and the client has all its events: nothing is left to send" };
export const chunks = {
  description: "The AI SDK's UI message stream, and `[DONE]` as the last one",
  stream: {
    type: "object",
    description:
      "A chunk of the AI SDK's UI message stream, as `uiMessageChunkSchema` of the package `ai` describes it",
    properties: { type: { type: "string" } },
    required: ["type"],
  },
};

export const messagePage: Schema = {
  type: "object",
  properties: {
    messages: { type: "array", items: { type: "object", description: "A `UIMessage` of the package `ai`" } },
    nextCursor: { type: ["string", "null"], description: "Position of the next page; null on the last one" },
  },
  required: ["messages", "nextCursor"],
};

const header = (name: string, description: string, schema: Schema = { type: "string" }): Schema => ({
  name,
  in: "header",
  description,
  schema,
});
export const inQuery = (name: string, description: string, schema: Schema = { type: "string" }): Schema => ({
  name,
  in: "query",
  description,
  schema,
});
export const pageOf = (preset: number): Schema[] => [
  inQuery("limit", `Entries of the page: 1 to 100, default ${preset}. Another value is answered with 400`, {
    type: "integer",
    minimum: 1,
    maximum: 100,
    default: preset,
  }),
  inQuery("cursor", "`nextCursor` of the page before. Default: the first page"),
];
export const withDeltas = (name: string): Schema =>
  inQuery(name, "True adds live events from now on: parts of texts, and the progress of functions. Default: false", {
    type: "boolean",
  });

export const IDEMPOTENCY = header(
  "Idempotency-Key",
  "The same key and body within 24 h joins the first run. Keys of one API key, and of those that replace it by rotation, are apart from those of others",
  { type: "string", minLength: 1, maxLength: 255 },
);
export const ON_DISCONNECT = header("X-On-Disconnect", "Cancel the run when its last reader has been gone 5 s", {
  type: "string",
  enum: ["cancel"],
});
export const EXPOSE = inQuery(
  "expose",
  "What are tools: the functions of the role, the agent as one tool that takes a query, or both",
  { type: "string", enum: ["functions", "agent", "both"], default: "functions" },
);
export const PREFER = header(
  "Prefer",
  "`wait=N` waits up to N seconds for the end of a run that waits for an approval. `respond-async` answers 202 once the run is stored",
);
export const PREFER_WAIT = header(
  "Prefer",
  "`wait=N` waits up to N seconds, at most 240, for the end of the new run, and then answers 200 with its answer",
);
export const CALLER = header(
  "X-Patchbay-Caller",
  "A JWT of the owner's identity provider that names the caller. It narrows what the key may do. Required where the agent's setting `callers` is `required`",
);
export const LAST_EVENT_ID = header("Last-Event-ID", "Number of the last event received", {
  type: "integer",
  minimum: 0,
});
export const ADAPTER_CALLER = [
  header(
    "X-Patchbay-Role",
    "The role, if the request does not name it. A key that is pinned to one role has that role",
  ),
  header("X-Patchbay-Context", "base64url of the context: a JSON object of at most 8 KiB"),
];
export const THREAD = header(
  "X-Patchbay-Thread",
  "The thread: a `threadId`, or an id of your own of 8 to 200 characters. Default: `X-OpenWebUI-Chat-Id`, then `X-Conversation-Id`, else a new thread",
);
