import { type JsonValue, present } from "@patchbay/kit";
import { type RunEvent, type ThreadDetail } from "@patchbay/protocol";
import type { Followed } from "@patchbay/engine/run/api";
import type { Chunk, Metadata } from "./chunks.ts";
import { messageIdOf, RunChunks } from "./run-chunks.ts";

interface ToolPart {
  type: "dynamic-tool";
  toolName: string;
  toolCallId: string;
  state: string;
  input: JsonValue;
  output?: JsonValue;
  errorText?: string;
  approval?: { id: string; requestReason?: string; descriptor?: unknown; approved?: boolean; reason?: string };
}

type Part =
  | { type: "step-start" }
  | { type: "text" | "reasoning"; id?: string; text: string; state: "done" }
  | { type: "data-structured"; data: JsonValue }
  | ToolPart;

/** A message as the AI SDK's `UIMessage` describes it. */
export interface UiMessage {
  id: string;
  role: "user" | "assistant";
  metadata: Metadata;
  parts: Part[];
}

type AskedText = Pick<ThreadDetail["messages"][number], "runId" | "content" | "createdAt">;

/** What the user asked. */
export function askedMessage({ runId, content, createdAt }: AskedText): UiMessage {
  return {
    id: `${messageIdOf(runId)}_query`,
    role: "user",
    metadata: { runId, createdAt },
    parts: [{ type: "text", text: content, state: "done" }],
  };
}

/** What may still be added to a message page, in event characters. */
export interface Room {
  left: number;
}

/**
 * The message for a run that has ended or waits for an approval; undefined for one in progress, whose stream brings it.
 * Deducts its size from `room` and omits results beyond it, because a run may have more than a page.
 */
export async function answerMessage(
  run: { runId: string; threadId: string },
  log: Iterable<Pick<Followed, "body">> | AsyncIterable<Pick<Followed, "body">>,
  room: Room = { left: Infinity },
): Promise<UiMessage | undefined> {
  const chunks = new RunChunks(run);
  const message: UiMessage = {
    id: messageIdOf(run.runId),
    role: "assistant",
    metadata: {},
    parts: [{ type: "step-start" }],
  };
  addChunk(message, chunks.start());
  for await (const { body } of log) {
    if (chunks.ended) chunks.resume();
    const event = JSON.parse(body) as RunEvent;
    // The last event repeats all calls, which the message already has.
    room.left -= event.type === "finalResponse" ? event.response.length : body.length;
    const shown = event.type === "toolResult" && room.left < 0 ? withoutResult(event, body.length) : event;
    for (const chunk of chunks.of(shown)) addChunk(message, chunk);
  }
  return chunks.ended ? message : undefined;
}

type ToolResult = Extract<RunEvent, { type: "toolResult" }>;

const withoutResult = ({ result, ...event }: ToolResult, units: number): ToolResult => ({
  ...event,
  ...(result !== undefined && { result: `[${Math.ceil(units / 1024)} KiB left out: the messages would be too large]` }),
});

/** Adds what the client makes from the chunk. */
function addChunk({ parts, metadata }: UiMessage, chunk: Chunk): void {
  switch (chunk.type) {
    case "start-step":
      return void parts.push({ type: "step-start" });
    case "text-start":
      return void parts.push({ type: "text", text: "", state: "done" });
    case "reasoning-start":
      return void parts.push({ type: "reasoning", id: chunk.id, text: "", state: "done" });
    case "text-delta":
    case "reasoning-delta": {
      // Stored texts are whole, each before the next part.
      const last = parts.at(-1);
      if (last?.type === "text" || last?.type === "reasoning") last.text += chunk.delta;
      return;
    }
    case "data-structured":
      return void parts.push(chunk);
    case "start":
    case "message-metadata":
    case "finish":
      return void Object.assign(metadata, chunk.messageMetadata);
    default:
      return "toolCallId" in chunk || "approvalId" in chunk ? addToCall(parts, chunk) : undefined;
  }
}

type CallChunk = Extract<Chunk, { toolCallId: string } | { approvalId: string }>;

function addToCall(parts: Part[], chunk: CallChunk): void {
  const calls = parts.filter((part) => part.type === "dynamic-tool");
  const call = calls.findLast((part) =>
    "toolCallId" in chunk ? part.toolCallId === chunk.toolCallId : part.approval?.id === chunk.approvalId,
  );
  switch (chunk.type) {
    case "tool-input-available": {
      const { toolName, toolCallId, input } = chunk;
      if (call) call.input = input;
      else parts.push({ type: "dynamic-tool", toolName, toolCallId, state: "input-available", input });
      return;
    }
    case "tool-output-available":
      return change(call, { state: "output-available", output: chunk.output });
    case "tool-output-error":
      return change(call, { state: "output-error", errorText: chunk.errorText });
    case "tool-output-denied":
      return change(call, { state: "output-denied" });
    case "tool-approval-request": {
      const { approvalId: id, reason, approvalDescriptor: descriptor } = chunk;
      const approval = { id, descriptor, ...present({ requestReason: reason }) };
      return change(call, { state: "approval-requested", approval });
    }
    case "tool-approval-response": {
      const { approvalId: id, approved, reason } = chunk;
      const approval = { ...call?.approval, id, approved, ...present({ reason }) };
      return change(call, { state: "approval-responded", approval });
    }
  }
}

const change = (call: ToolPart | undefined, to: Partial<ToolPart>): void => void (call && Object.assign(call, to));
