import type { LiveEvent, RunEvent } from "@patchbay/protocol";
import type { Followed, RunHandle } from "@patchbay/engine/run/api";
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
export class UiTranslator implements Translator {
  readonly #chunks: RunChunks;
  /** Approvals that the client has decided and whose requests have not arrived. */
  readonly #decided: Set<string>;
  readonly #joinedAt: number;
  readonly #waits: boolean;
  #isMuted: boolean;
  #isLive: boolean;

  constructor(run: Pick<RunHandle, "runId" | "threadId">, { joinedAt, decided, waits = false }: Beginning = {}) {
    this.#chunks = new RunChunks(run);
    this.#decided = new Set(decided);
    this.#joinedAt = joinedAt ?? 0;
    this.#waits = waits;
    this.#isMuted = decided !== undefined;
    this.#isLive = joinedAt === undefined && !this.#isMuted;
  }

  get ended(): boolean {
    return this.#waits || this.#chunks.ended;
  }

  open(): string {
    const start = this.#chunks.start();
    // The decided calls are in the client's last step.
    if (!this.#isMuted) return framesOf([start, { type: "start-step" }]);
    return framesOf(this.#waits ? [start, { type: "finish", finishReason: "tool-calls" }] : [start]);
  }

  event({ id, body }: Followed): string {
    if (this.#waits) return "";
    const event = JSON.parse(body) as RunEvent | LiveEvent;
    if (id === undefined) return this.#isLive ? framesOf(this.#chunks.of(event)) : "";
    if (event.type === "approvalRequest") this.#decided.delete(event.approvalId);
    if (this.#decided.size === 0 && event.type === "approvalDecision") this.#isMuted = false;
    if (event.type === "finalResponse" || event.type === "error") this.#isMuted = false;
    const chunks = this.#chunks.of(event);
    if (this.#isMuted) {
      this.#chunks.resume();
      return "";
    }
    this.#isLive = id > this.#joinedAt;
    return framesOf(chunks);
  }

  /** Without its last frame the client returns for the rest. */
  close(): string {
    return this.ended ? DONE : RETRY;
  }
}

const framesOf = (chunks: readonly Chunk[]): string =>
  chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join("");
