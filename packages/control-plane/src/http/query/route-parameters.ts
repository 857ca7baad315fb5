import type { Schema } from "../kernel/openapi.ts";

const header = (name: string, description: string, schema: Schema = { type: "string" }): Schema => ({
  name,
  in: "header",
  description,
  schema,
});
export const inQuery = (name: string, description: string, schema: Schema): Schema => ({
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
  inQuery("cursor", "`nextCursor` of the page before. Default: the first page", { type: "string" }),
];
export const withDeltas = (name: string): Schema =>
  inQuery(name, "True adds live events from now on: parts of texts, and the progress of functions. Default: false", {
    type: "boolean",
  });

export const IDEMPOTENCY = header(
  "Idempotency-Key",
  "The same key and body within 24 h joins the first run. Keys of one API key, and of those that replace it by rotation, are apart from those of others",
  {
    type: "string",
    minLength: 1,
    maxLength: 255,
  },
);
export const ON_DISCONNECT = header("X-On-Disconnect", "Cancel the run when its last reader has been gone 5 s", {
  type: "string",
  enum: ["cancel"],
});
export const EXPOSE = inQuery(
  "expose",
  "What are tools: the functions of the role, the agent as one tool that takes a query, or both",
  {
    type: "string",
    enum: ["functions", "agent", "both"],
    default: "functions",
  },
);
export const PREFER = header(
  "Prefer",
  "`wait=N` waits up to N seconds for the end of a run that waits for an approval. `respond-async` answers 202 once the run is stored",
);
export const CALLER = header(
  "X-Patchbay-Caller",
  "A JWT of the owner's identity provider that names the caller. It narrows what the key may do. Required where the agent's setting `callers` is `required`",
);
export const LAST_EVENT_ID = header("Last-Event-ID", "Number of the last event received", {
  type: "integer",
  minimum: 0,
});
export const DOOR_ROLE = header(
  "X-Patchbay-Role",
  "The role, if the request does not name it. A key that is pinned to one role has that role",
);
export const DOOR_CONTEXT = header("X-Patchbay-Context", "base64url of the context: a JSON object of at most 8 KiB");
export const THREAD = header(
  "X-Patchbay-Thread",
  "The thread: a `threadId`, or an id of your own of 8 to 200 characters. Default: `X-OpenWebUI-Chat-Id`, then `X-Conversation-Id`, else a new thread",
);
