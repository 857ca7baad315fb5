import type { JsonObject } from "@patchbay/kit";
import { list } from "./wire-format.ts";

/** How a compatible server differs from OpenAI's own Chat Completions, as its users report it. */
interface CompatibleServer {
  /** The member with a model's thoughts. Default: `reasoning_content`. */
  thoughts?: "reasoning";
  /** What it answers instead of a turn. */
  refuse?(body: JsonObject): { status: number; body: JsonObject } | undefined;
}

const withThought = (body: JsonObject): number =>
  list(body["messages"]).findIndex((one) => "reasoning" in one || "reasoning_content" in one);

const forbidden = (loc: string[]): { status: number; body: JsonObject } => ({
  status: 422,
  body: {
    object: "error",
    message: { detail: [{ type: "extra_forbidden", loc: ["body", ...loc], msg: "Extra inputs are not permitted" }] },
  },
});

const refused = (status: number, message: string) => ({
  status,
  body: { error: { message, type: "invalid_request_error" } },
});

export const COMPATIBLE_SERVERS = {
  groq: {
    thoughts: "reasoning",
    refuse(body) {
      const at = withThought(body);
      if (at < 0) return undefined;
      const place = `messages.${at}`;
      return refused(
        400,
        `'${place}' : for 'role:assistant' the following must be satisfied[('${place}' : property 'reasoning' is unsupported)]`,
      );
    },
  },
  mistral: {
    refuse(body) {
      if (body["stream_options"]) return forbidden(["stream_options", "include_usage"]);
      const at = withThought(body);
      return at < 0 ? undefined : forbidden(["messages", String(at), "assistant", "reasoning_content"]);
    },
  },
  deepseek: {
    refuse(body) {
      const silent = list(body["messages"]).some((one) => one["tool_calls"] && !one["reasoning_content"]);
      return silent
        ? refused(400, "The `reasoning_content` in the thinking mode must be passed back to the API.")
        : undefined;
    },
  },
  openrouter: { thoughts: "reasoning" },
  ollama: {
    thoughts: "reasoning",
    refuse: ({ max_completion_tokens: wrong }) =>
      wrong === undefined ? undefined : refused(400, "json: unknown field max_completion_tokens"),
  },
  vllm: {
    refuse({ prompt_cache_key: hint }) {
      const message = "[{'type': 'extra_forbidden', 'loc': ('body', 'prompt_cache_key')}]";
      return hint === undefined ? undefined : { status: 400, body: { object: "error", message, code: 400 } };
    },
  },
  "llama.cpp": {
    refuse: ({ tools, tool_choice: choice }) =>
      tools && typeof choice === "object" ? refused(400, "Only string tool_choice is supported") : undefined,
  },
  "lm-studio": {
    refuse: ({ tool_choice: choice }) =>
      typeof choice === "object"
        ? {
            status: 400,
            body: { error: "Invalid tool_choice type: 'object'. Supported string values: none, auto, required" },
          }
        : undefined,
  },
} as const satisfies Record<string, CompatibleServer>;

/** A server of {@link COMPATIBLE_SERVERS}. */
export type CompatibleServerName = keyof typeof COMPATIBLE_SERVERS;

export const compatibleServer = (name: CompatibleServerName): CompatibleServer => COMPATIBLE_SERVERS[name];
