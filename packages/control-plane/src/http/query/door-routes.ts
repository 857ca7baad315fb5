import type { Schema } from "../kernel/openapi.ts";
import { OF_QUERIES, type RouteEntry, ref } from "./route-entry.ts";
import { DOOR_CONTEXT, DOOR_ROLE, EXPOSE, IDEMPOTENCY, inQuery, pageOf, THREAD } from "./route-parameters.ts";

const OF_CHATS = ["400", "401", "403", "429", "500", "503"];

const chunk: Schema = {
  type: "object",
  description: "A chunk of the AI SDK's UI message stream, as `uiMessageChunkSchema` of the package `ai` describes it",
  properties: { type: { type: "string" } },
  required: ["type"],
};
const messagePage: Schema = {
  type: "object",
  properties: {
    messages: { type: "array", items: { type: "object", description: "A `UIMessage` of the package `ai`" } },
    nextCursor: { type: ["string", "null"], description: "Position of the next page; null on the last one" },
  },
  required: ["messages", "nextCursor"],
};

/** The routes of the doors: endpoints in the form of other APIs, for their clients. */
export const DOORS = [
  {
    id: "mcp",
    method: "POST",
    path: "/agents/:agent_id/mcp",
    access: "door",
    streams: true,
    summary: "Call functions as tools, by the Model Context Protocol",
    body: "McpMessage",
    answers: {
      "200": { description: "A JSON-RPC response, as JSON or as server-sent events", json: { type: "object" } },
      "202": { description: "A notification was accepted" },
    },
    failures: ["400", "401", "403", "413", "415", "429", "500", "503"],
    parameters: [DOOR_ROLE, DOOR_CONTEXT, EXPOSE],
  },
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
  {
    id: "uiStream",
    method: "POST",
    path: "/agents/:agent_id/ui-stream",
    access: "door",
    streams: true,
    summary: "Send a message of a chat of the AI SDK, or decide on its approvals, and stream the answer",
    body: "UiStreamRequest",
    answers: {
      "200": { description: "The AI SDK's UI message stream, and `[DONE]` as the last one", stream: chunk },
    },
    failures: [...OF_QUERIES.filter((status) => status !== "422"), "404"].toSorted(),
    parameters: [
      inQuery("reasoning", "`1` asks the model for its reasoning, which the message then has in parts of its own", {
        type: "string",
        enum: ["1"],
      }),
      DOOR_ROLE,
      DOOR_CONTEXT,
    ],
  },
  {
    id: "resumeUiStream",
    method: "GET",
    path: "/agents/:agent_id/ui-stream/:chat_id/stream",
    access: "door",
    streams: true,
    summary: "Stream the message in progress of a chat again, from its beginning",
    answers: {
      "200": { description: "The AI SDK's UI message stream, and `[DONE]` as the last one", stream: chunk },
      "204": { description: "No message of the chat is in progress, or the chat is unknown" },
    },
    failures: OF_CHATS,
    parameters: [DOOR_ROLE, DOOR_CONTEXT],
  },
  {
    id: "stopUiStream",
    method: "POST",
    path: "/agents/:agent_id/ui-stream/:chat_id/stop",
    access: "door",
    summary: "Cancel the runs of a chat",
    answers: {
      "202": { description: "The newest run is being cancelled", json: ref("CancelResponse") },
      "204": { description: "No run of the chat is in progress, or the chat is unknown" },
    },
    failures: OF_CHATS,
    parameters: [DOOR_ROLE, DOOR_CONTEXT],
  },
  {
    id: "uiMessages",
    method: "GET",
    path: "/agents/:agent_id/ui-stream/:chat_id/messages",
    access: "door",
    summary: "Read the messages of a chat, oldest first, as the AI SDK has them",
    answers: {
      "200": {
        description: "One page of messages, without the one in progress; empty for an unknown chat",
        json: messagePage,
      },
    },
    failures: OF_CHATS,
    parameters: [...pageOf(50), DOOR_ROLE, DOOR_CONTEXT],
  },
] as const satisfies readonly RouteEntry[];
