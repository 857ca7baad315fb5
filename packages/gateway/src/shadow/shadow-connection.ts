import { randomUUID } from "@patchbay/kit/time";
import { withFlow } from "@patchbay/access";
import { type Judgement, type Manifest, type StoredCall } from "@patchbay/protocol";
import { present } from "@patchbay/kit";
import { WebSocket } from "ws";
import type { Candidate } from "@patchbay/engine/ports/store/shadow-store";
import type { FlowReplay } from "@patchbay/engine/run/calls/replay";
import { encodeFrame, parseRuntimeFrame } from "../frames.ts";
import { Questions } from "../questions.ts";

/** Unasked frames after which the connection is closed: a candidate may only answer questions. */
const MAX_BAD_FRAMES = 10;
const SILENT_BEATS = 2;
/** Pings between two heartbeats after which it is closed: each is answered, and delays the replica's other runtimes. */
const MAX_PINGS = 1_000;

type Asked = "callId" | "runId" | "functionName" | "role" | "roleByDefault" | "context" | "caller" | "arguments";
/** What a candidate is asked about; it does not learn the ids. */
export type AskedCall = Pick<StoredCall, Asked>;

/** A candidate's connection. It is in no directory, and carries only questions: a call cannot reach its runtime. */
export function createShadowConnection(
  socket: WebSocket,
  candidate: Candidate,
  manifest: Manifest,
  replay?: FlowReplay,
) {
  const questions = new Questions<Judgement>();
  /** Questions that timed out and may still be answered. */
  let unanswered = 0;
  let badFrames = 0;
  let silentBeats = 0;
  let pings = 0;
  const isOpen = (): boolean => socket.readyState === WebSocket.OPEN;

  /** Drops late answers; any other frame counts as bad, including an answer without a question. */
  function read(text: string): void {
    const parsed = parseRuntimeFrame(text);
    if (parsed.ok && parsed.frame.type === "judged") {
      if (questions.answer(parsed.frame.id, parsed.frame)) return;
      if (unanswered-- > 0) return;
      unanswered = 0;
    }
    if (++badFrames >= MAX_BAD_FRAMES) socket.terminate();
  }

  socket.on("message", (data, isBinary) => read(isBinary ? "" : (data as Buffer).toString()));
  socket.on("pong", () => (silentBeats = 0));
  socket.on("ping", () => void (++pings > MAX_PINGS && socket.terminate()));
  socket.on("close", () => questions.close());
  return {
    candidate,
    manifest,
    get open(): boolean {
      return isOpen();
    },

    /** Undefined when the candidate does not answer before `signal` aborts, or the call does not fit into a frame. */
    async judge(call: AskedCall, signal: AbortSignal): Promise<Judgement | undefined> {
      const { functionName, context, caller, arguments: given } = call;
      const role = call.roleByDefault ? manifest.defaultRole : call.role;
      const id = randomUUID();
      const frame = { type: "judge" as const, id, function: functionName, arguments: given, context };
      const text = encodeFrame({ ...frame, ...present({ role, caller }) });
      if (text === undefined || !isOpen() || signal.aborted) return undefined;
      const judgement = await questions.ask(id, () => socket.send(text), signal);
      if (!judgement) unanswered++;
      return judgement && withFlow(judgement, await replay?.(call));
    },

    goingAway(): void {
      if (isOpen()) socket.send(JSON.stringify({ type: "goingAway" }));
    },

    heartbeat(): void {
      pings = 0;
      if (silentBeats++ >= SILENT_BEATS) socket.terminate();
      else if (isOpen()) socket.ping();
    },
  };
}
export type ShadowConnection = ReturnType<typeof createShadowConnection>;
