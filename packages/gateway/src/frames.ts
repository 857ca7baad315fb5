import { clearTimer, setTimeout } from "@patchbay/kit/time";
import { type ControlPlaneFrame, FRAME_DEPTH, FRAMES_VERSION, LIMITS, RuntimeFrame } from "@patchbay/protocol";
import { parseJson, present } from "@patchbay/kit";
import type { WebSocket } from "ws";
import type { CallOrder } from "@patchbay/engine/ports/function-gateway";

/** One frame type that a runtime sends. */
export type FrameOf<Type extends RuntimeFrame["type"]> = Extract<RuntimeFrame, { type: Type }>;

export type ParsedFrame =
  | { ok: true; frame: RuntimeFrame }
  | { ok: false; fault: "badFrame" | "wrongVersion" | "manifestRefused"; message: string };

export function parseRuntimeFrame(text: string): ParsedFrame {
  const json = parseJson(text, FRAME_DEPTH);
  if (!json.ok) return { ok: false, fault: "badFrame", message: json.message };
  const parsed = RuntimeFrame.safeParse(json.value);
  if (parsed.success && !(isFirst(parsed.data) && parsed.data.version !== FRAMES_VERSION))
    return { ok: true, frame: parsed.data };
  if (isForeignHello(json.value))
    return { ok: false, fault: "wrongVersion", message: `this control plane speaks version ${FRAMES_VERSION}` };
  const issue = parsed.error?.issues[0];
  const message = `${issue?.path.join(".") ?? ""}: ${issue?.message ?? "not a frame"}`;
  return { ok: false, fault: issue?.path[0] === "manifest" ? "manifestRefused" : "badFrame", message };
}

const isFirst = (frame: RuntimeFrame): frame is FrameOf<"hello" | "shadow"> =>
  frame.type === "hello" || frame.type === "shadow";

/**
 * A hello from another version may have any shape, so its version is checked before its schema: the owner must learn
 * the true reason.
 */
function isForeignHello(value: unknown): boolean {
  if (typeof value !== "object" || value === null || !("type" in value)) return false;
  if (value.type !== "hello" && value.type !== "shadow") return false;
  return "version" in value && typeof value.version === "number" && value.version !== FRAMES_VERSION;
}

/** A frame as text; undefined when it exceeds the frame limit: a runtime would reject it. */
export function encodeFrame(frame: ControlPlaneFrame): string | undefined {
  const text = JSON.stringify(frame);
  // A UTF-16 unit takes at most three bytes, so most frames need no byte count.
  if (text.length * 3 <= LIMITS.frameBytes || Buffer.byteLength(text) <= LIMITS.frameBytes) return text;
  return undefined;
}

export function callFrame(order: Omit<CallOrder, "fence">): ControlPlaneFrame {
  const { callId, attempt, functionName, context, threadId, runId, timeoutMs, role, sessionId, unsure } = order;
  const caller = order.caller && { ...order.caller, ...present({ token: order.callerToken }) };
  return {
    type: "call",
    callId,
    attempt,
    function: functionName,
    arguments: order.arguments,
    context,
    threadId,
    runId,
    timeoutMs: Math.ceil(timeoutMs),
    ...present({ role, caller, sessionId }),
    ...(unsure && { unsure }),
    ...(order.detached && { detached: true }),
    ...(order.flow && { flow: order.flow }),
    ...(order.approval && { approval: order.approval }),
    ...(order.trace && { trace: order.trace }),
  };
}

/** WebSocket close reasons hold 123 bytes. */
export const REASON_BYTES = 120;

/** Closes with a reason. A peer that does not answer the close is disconnected after a second. */
export function closeSocket(socket: WebSocket, code: number, reason: string): void {
  socket.close(code, shorten(reason, REASON_BYTES));
  const cut = setTimeout(() => socket.terminate(), 1_000);
  socket.once("close", () => clearTimer(cut));
}

/** Shortens text to `maxBytes` UTF-8 bytes; a cut text ends with an ellipsis, which takes three bytes. */
export function shorten(text: string, maxBytes: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= maxBytes) return text;
  return `${bytes
    .subarray(0, Math.max(0, maxBytes - 3))
    .toString()
    .replace(/\uFFFD$/, "")}…`;
}
