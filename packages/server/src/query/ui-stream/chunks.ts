import type { JsonValue } from "@patchbay/kit";
import type { Usage } from "@patchbay/protocol";

/** What messages say about their run. The client merges the members from all chunks. */
export interface Metadata {
  runId?: string;
  threadId?: string;
  createdAt?: string;
  usage?: Usage;
  warnings?: string[];
  /** For a run without an answer. */
  error?: { code: string; message: string };
}

interface OfApproval {
  approvalId: string;
  reason?: string;
}

/** The AI SDK UI message stream chunks that runs produce, as its `uiMessageChunkSchema` describes them. */
export type Chunk =
  | { type: "start"; messageId: string; messageMetadata: Metadata }
  | { type: "start-step" | "finish-step" | "reset-step" }
  | { type: "text-start" | "text-end" | "reasoning-start" | "reasoning-end"; id: string }
  | { type: "text-delta" | "reasoning-delta"; id: string; delta: string }
  | { type: "tool-input-available"; toolCallId: string; toolName: string; input: JsonValue; dynamic: true }
  | { type: "tool-output-available"; toolCallId: string; output: JsonValue; dynamic: true }
  | { type: "tool-output-error"; toolCallId: string; errorText: string; dynamic: true }
  | { type: "tool-output-denied"; toolCallId: string }
  | ({
      type: "tool-approval-request";
      toolCallId: string;
      approvalDescriptor: { by: string[]; expiresAt: string };
    } & OfApproval)
  | ({ type: "tool-approval-response"; approved: boolean } & OfApproval)
  | { type: "data-progress"; id: string; data: JsonValue; transient: true }
  | { type: "data-model-status"; data: JsonValue; transient: true }
  | { type: "data-structured"; data: JsonValue }
  | { type: "message-metadata"; messageMetadata: Metadata }
  | { type: "finish"; finishReason: "stop" | "tool-calls"; messageMetadata?: Metadata }
  | { type: "error"; errorText: string }
  | { type: "abort"; reason: string };
