import { GEN_AI } from "@patchbay/protocol";
import type { Message, ModelRequest, ModelTurn } from "../ports/model-provider.ts";

/** Backends limit attributes, and each request repeats the whole conversation. */
const CONTENT_BYTES = 8_192;

/** A value as JSON, cut at 8 KiB of UTF-8. */
export function contentOf(value: unknown): string {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  const bytes = Buffer.from(text);
  if (bytes.length <= CONTENT_BYTES) return text;
  return bytes
    .subarray(0, CONTENT_BYTES)
    .toString()
    .replace(/\uFFFD$/, "");
}

/** The messages sent to a model, in the form of the semantic conventions. The limit keeps the newest. */
export const requestContent = ({ system, messages }: ModelRequest): Record<string, string> => ({
  [GEN_AI.systemInstructions]: contentOf([textPart(system)]),
  [GEN_AI.inputMessages]: newestContent(messages.map(messageOf)),
});

export const turnContent = (turn: ModelTurn): Record<string, string> => ({
  [GEN_AI.outputMessages]: contentOf([{ ...messageOf({ role: "assistant", ...turn }), finish_reason: turn.stop }]),
});

/** A query or an answer as one message. */
export const textContent = (role: "user" | "assistant", text: string): string =>
  contentOf([{ role, parts: [textPart(text)] }]);

const textPart = (content: string) => ({ type: "text", content });

function messageOf(message: Message): object {
  if (message.role === "user")
    return { role: "user", parts: [message.preface, message.text].filter((text) => text !== undefined).map(textPart) };
  if (message.role === "results")
    return {
      role: "tool",
      parts: message.results.map(({ callId: id, content: response }) => ({ type: "tool_call_response", id, response })),
    };
  const calls = message.calls.map((call) => ({ type: "tool_call", ...call }));
  return { role: "assistant", parts: [...(message.text === "" ? [] : [textPart(message.text)]), ...calls] };
}

/** The newest messages that fit: the spans of earlier turns have the older ones. */
function newestContent(messages: readonly object[]): string {
  const kept: string[] = [];
  let left = CONTENT_BYTES - 2;
  for (const message of messages.toReversed()) {
    const text = JSON.stringify(message);
    left -= Buffer.byteLength(text) + 1;
    if (left < 0 && kept.length > 0) break;
    kept.unshift(text);
  }
  return contentOf(`[${kept.join(",")}]`);
}
