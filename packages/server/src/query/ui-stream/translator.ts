import type { LiveEvent, RunEvent } from "@patchbay/protocol";
import type { RunHandle } from "@patchbay/engine/run/api";
import { RETRY, type Translator } from "../../kernel/event-stream.ts";
import type { Chunk } from "./chunks.ts";
import { RunChunks } from "./run-chunks.ts";

const DONE = "data: [DONE]\n\n";

/** Where a message's stream starts. */
export interface Beginning {
  /** Last event when the client returned: live events before the next one belong to a text that it has not seen. */
  joinedAt?: number;
  /** The client's decisions, with which the stream starts. The client has all earlier events. */
  decided?: readonly string[];
  /** Other approvals of the run are pending: the message ends as the client has it. */
  waits?: boolean;
}

/** The AI SDK's form: a run is one message's stream. */
export function uiTranslator(
  run: Pick<RunHandle, "runId" | "threadId">,
  { joinedAt, decided, waits = false }: Beginning = {},
) {
  const chunks = new RunChunks(run);
  /** Approvals that the client has decided and whose requests have not arrived. */
  const awaited = new Set(decided);
  let isMuted = decided !== undefined;
  let isLive = joinedAt === undefined && !isMuted;
  const hasEnded = (): boolean => waits || chunks.ended;
  return {
    get ended() {
      return hasEnded();
    },

    open() {
      const start = chunks.start();
      // The decided calls are in the client's last step.
      if (!isMuted) return framesOf([start, { type: "start-step" }]);
      return framesOf(waits ? [start, { type: "finish", finishReason: "tool-calls" }] : [start]);
    },

    event({ id, body }) {
      if (waits) return "";
      const event = JSON.parse(body) as RunEvent | LiveEvent;
      if (id === undefined) return isLive ? framesOf(chunks.of(event)) : "";
      if (event.type === "approvalRequest") awaited.delete(event.approvalId);
      if (awaited.size === 0 && event.type === "approvalDecision") isMuted = false;
      if (event.type === "finalResponse" || event.type === "error") isMuted = false;
      const made = chunks.of(event);
      if (isMuted) {
        chunks.resume();
        return "";
      }
      isLive = id > (joinedAt ?? 0);
      return framesOf(made);
    },

    /** Without its last frame the client returns for the rest. */
    close: () => (hasEnded() ? DONE : RETRY),
  } satisfies Translator;
}

const framesOf = (chunks: readonly Chunk[]): string =>
  chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join("");
