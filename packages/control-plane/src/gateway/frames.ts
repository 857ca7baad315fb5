import { FRAME_DEPTH, LIMITS, LINK_VERSION, parseJson, type PlaneFrame, RuntimeFrame } from "@patchbay/protocol";
import type { CallOrder } from "../ports/function-gateway.ts";

export type ParsedFrame =
  | { ok: true; frame: RuntimeFrame }
  | { ok: false; fault: "badFrame" | "wrongVersion" | "manifestRefused"; message: string };

export function parseRuntimeFrame(text: string): ParsedFrame {
  const json = parseJson(text, FRAME_DEPTH);
  if (!json.ok) return { ok: false, fault: "badFrame", message: json.message };
  const parsed = RuntimeFrame.safeParse(json.value);
  if (parsed.success && !(parsed.data.type === "hello" && parsed.data.version !== LINK_VERSION))
    return { ok: true, frame: parsed.data };
  if (isForeignHello(json.value))
    return { ok: false, fault: "wrongVersion", message: `this control plane speaks version ${LINK_VERSION}` };
  const issue = parsed.error?.issues[0];
  const message = `${issue?.path.join(".") ?? ""}: ${issue?.message ?? "is not a frame"}`;
  return { ok: false, fault: issue?.path[0] === "manifest" ? "manifestRefused" : "badFrame", message };
}

/** A hello of another version may have any other shape, so its version is read before its schema is asked. */
function isForeignHello(value: unknown): boolean {
  if (typeof value !== "object" || value === null || !("type" in value) || value.type !== "hello") return false;
  return "version" in value && typeof value.version === "number" && value.version !== LINK_VERSION;
}

/** A frame as text; undefined when it is too large to be taken by a runtime. */
export function encodePlaneFrame(frame: PlaneFrame): string | undefined {
  const text = JSON.stringify(frame);
  // A UTF-16 unit is at most three bytes: most frames need no counting.
  if (text.length * 3 <= LIMITS.frameBytes || Buffer.byteLength(text) <= LIMITS.frameBytes) return text;
  return undefined;
}

export function callFrame(order: Omit<CallOrder, "fence">): PlaneFrame {
  const { callId, attempt, functionName, context, threadId, runId, timeoutMs, role, sessionId } = order;
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
    ...(role !== undefined && { role }),
    ...(sessionId !== undefined && { sessionId }),
  };
}
