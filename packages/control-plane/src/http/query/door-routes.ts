import { ref } from "./openapi-schemas.ts";
import { OF_QUERIES, type RouteEntry } from "./route-entry.ts";
import { DOOR_CONTEXT, DOOR_ROLE, IDEMPOTENCY, THREAD } from "./route-parameters.ts";

/** The routes of the doors: endpoints in the form of other APIs, for their clients. */
export const DOORS = [
  {
    id: "listModels",
    method: "GET",
    path: "/agents/:agent_id/v1/models",
    access: "door",
    summary: "List the agent's roles as models, for clients of OpenAI's API",
    answers: {
      "200": { description: "`AGENT`, `AGENT:ROLE` for each role, and `AGENT:titles`", json: ref("ModelList") },
    },
    failures: ["400", "401", "403", "429", "500", "503"],
    failure: "OpenAiError",
    parameters: [DOOR_ROLE],
  },
  {
    id: "createChatCompletion",
    method: "POST",
    path: "/agents/:agent_id/v1/chat/completions",
    access: "door",
    summary: "Send a query in the form of OpenAI's chat completions",
    body: "ChatCompletionRequest",
    answers: {
      "200": {
        description: "The answer, or with `stream` its parts as server-sent events, and `[DONE]` as the last one",
        json: ref("ChatCompletion"),
        stream: ref("ChatCompletionChunk"),
      },
    },
    failures: [...OF_QUERIES, "404", "409", "502", "504"].toSorted(),
    failure: "OpenAiError",
    parameters: [IDEMPOTENCY, THREAD, DOOR_ROLE, DOOR_CONTEXT],
  },
] as const satisfies readonly RouteEntry[];
