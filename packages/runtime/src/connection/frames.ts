import {
  type CallFrame,
  type CallOutcome,
  type ErrorReport,
  ControlPlaneFrame,
  FRAME_DEPTH,
  LIMITS,
  type RuntimeFrame,
} from "@patchbay/protocol";
import { nestsDeeper, parseJson } from "@patchbay/kit";
import { failure } from "../errors.ts";

/** A frame from the control plane, or why the text is not one. */
export type ParsedFrame = { ok: true; frame: ControlPlaneFrame } | { ok: false; message: string };

export function parseControlPlaneFrame(text: string): ParsedFrame {
  const json = parseJson(text, FRAME_DEPTH);
  if (!json.ok) return { ok: false, message: json.message };
  const parsed = ControlPlaneFrame.safeParse(json.value);
  if (parsed.success) return { ok: true, frame: parsed.data };
  const issue = parsed.error.issues[0];
  return { ok: false, message: `${issue?.path.join(".") ?? ""}: ${issue?.message ?? "is not a frame"}` };
}

/** A frame as text. Undefined if it must not be sent: too large, nested too deeply, or not JSON. */
export function encodeFrame(frame: RuntimeFrame): string | undefined {
  try {
    const text = JSON.stringify(frame);
    return Buffer.byteLength(text) > LIMITS.frameBytes || nestsDeeper(text, FRAME_DEPTH) ? undefined : text;
  } catch {
    return undefined;
  }
}

/** What this runtime says about a call's attempt. */
export const stateFrame = (
  { callId, attempt }: Pick<CallFrame, "callId" | "attempt">,
  state: "running" | "done" | "unseen",
): string => JSON.stringify({ type: "callState", callId, attempt, state } satisfies RuntimeFrame);

/**
 * A result as text. First drops the error and the input, which only the call's record needs; then an unsendable result
 * becomes a failure.
 */
export function encodeResult(callId: string, attempt: number, outcome: CallOutcome, error?: ErrorReport): string {
  const { input: _, ...result } = outcome;
  const refusal = failure(
    "result_too_large",
    `The result cannot be sent: it must be JSON of at most ${LIMITS.resultBytes} bytes and ${LIMITS.jsonDepth} levels.`,
  );
  return (
    (error && encodeFrame({ type: "result", callId, attempt, outcome, error })) ??
    encodeFrame({ type: "result", callId, attempt, outcome }) ??
    encodeFrame({ type: "result", callId, attempt, outcome: result }) ??
    JSON.stringify({ type: "result", callId, attempt, outcome: refusal } satisfies RuntimeFrame)
  );
}
