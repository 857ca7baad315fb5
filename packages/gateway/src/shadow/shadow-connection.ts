import { randomUUID } from "node:crypto";
import { type JudgedFrame, type Manifest, type StoredCall } from "@patchbay/protocol";
import { present } from "@patchbay/kit";
import { WebSocket } from "ws";
import type { Candidate } from "@patchbay/engine/ports/store/shadow-store";
import { encodeFrame, parseRuntimeFrame } from "../frames.ts";

export type Judgement = Pick<JudgedFrame, "decision" | "rule">;

/** Unasked frames after which the connection is closed: a candidate may only answer questions. */
const MAX_BAD_FRAMES = 10;
const SILENT_BEATS = 2;
/** Pings between two heartbeats after which it is closed: each is answered, and delays the replica's other runtimes. */
const MAX_PINGS = 1_000;

/** A candidate's connection. It is in no directory, and carries only questions: a call cannot reach its runtime. */
export class ShadowConnection {
  readonly candidate: Candidate;
  readonly manifest: Manifest;
  readonly #socket: WebSocket;
  readonly #questions = new Map<string, (judgement: Judgement | undefined) => void>();
  /** Questions that timed out and may still be answered. */
  #unanswered = 0;
  #badFrames = 0;
  #silentBeats = 0;
  #pings = 0;

  constructor(socket: WebSocket, candidate: Candidate, manifest: Manifest) {
    this.#socket = socket;
    this.candidate = candidate;
    this.manifest = manifest;
    socket.on("message", (data, isBinary) => this.#read(isBinary ? "" : (data as Buffer).toString()));
    socket.on("pong", () => (this.#silentBeats = 0));
    socket.on("ping", () => void (++this.#pings > MAX_PINGS && socket.terminate()));
    socket.on("close", () => {
      for (const answer of this.#questions.values()) answer(undefined);
    });
  }

  get open(): boolean {
    return this.#socket.readyState === WebSocket.OPEN;
  }

  /** Undefined when the candidate does not answer before `signal` aborts, or the call does not fit into a frame. */
  judge(call: StoredCall, signal: AbortSignal): Promise<Judgement | undefined> {
    const { functionName, role, context, arguments: given } = call;
    const id = randomUUID();
    const frame = { type: "judge" as const, id, function: functionName, arguments: given, context };
    const text = encodeFrame({ ...frame, ...present({ role }) });
    if (text === undefined || !this.open || signal.aborted) return Promise.resolve(undefined);
    const { promise, resolve } = Promise.withResolvers<Judgement | undefined>();
    const stop = (): void => resolve(undefined);
    signal.addEventListener("abort", stop);
    this.#questions.set(id, resolve);
    this.#socket.send(text);
    return promise.finally(() => {
      signal.removeEventListener("abort", stop);
      // It is still there, so it was not answered.
      if (this.#questions.delete(id)) this.#unanswered++;
    });
  }

  goingAway(): void {
    if (this.open) this.#socket.send(JSON.stringify({ type: "goingAway" }));
  }

  heartbeat(): void {
    this.#pings = 0;
    if (this.#silentBeats++ >= SILENT_BEATS) this.#socket.terminate();
    else if (this.open) this.#socket.ping();
  }

  /** Drops late answers; any other frame counts as bad, including an answer without a question. */
  #read(text: string): void {
    const parsed = parseRuntimeFrame(text);
    if (parsed.ok && parsed.frame.type === "judged") {
      const { id } = parsed.frame;
      const answer = this.#questions.get(id);
      this.#questions.delete(id);
      if (answer) return answer(parsed.frame);
      if (this.#unanswered-- > 0) return;
      this.#unanswered = 0;
    }
    if (++this.#badFrames >= MAX_BAD_FRAMES) this.#socket.terminate();
  }
}
