import {
  type CallOutcome,
  FRAME_DEPTH,
  LIMITS,
  nestsDeeper,
  parseJson,
  PlaneFrame,
  type RuntimeFrame,
} from "@patchbay/protocol";

export type ParsedFrame = { ok: true; frame: PlaneFrame } | { ok: false; message: string };

export function parsePlaneFrame(text: string): ParsedFrame {
  const json = parseJson(text, FRAME_DEPTH);
  if (!json.ok) return { ok: false, message: json.message };
  const parsed = PlaneFrame.safeParse(json.value);
  if (parsed.success) return { ok: true, frame: parsed.data };
  const issue = parsed.error.issues[0];
  return { ok: false, message: `${issue?.path.join(".") ?? ""}: ${issue?.message ?? "is not a frame"}` };
}

/** A frame as text; undefined when it may not leave: too large, too deep, or no JSON at all. */
export function encodeFrame(frame: RuntimeFrame): string | undefined {
  try {
    const text = JSON.stringify(frame);
    return Buffer.byteLength(text) > LIMITS.frameBytes || nestsDeeper(text, FRAME_DEPTH) ? undefined : text;
  } catch {
    return undefined;
  }
}

/** A result always has a frame: what cannot be sent becomes a failure that says so. Its input only belongs to the record. */
export function encodeResult(callId: string, attempt: number, outcome: CallOutcome): string {
  const { input: _, ...result } = outcome;
  const refusal: CallOutcome = {
    ok: false,
    code: "result_too_large",
    message: `The result cannot be sent: it must be JSON of at most ${LIMITS.resultBytes} bytes and ${LIMITS.jsonDepth} levels.`,
  };
  return (
    encodeFrame({ type: "result", callId, attempt, outcome }) ??
    encodeFrame({ type: "result", callId, attempt, outcome: result }) ??
    JSON.stringify({ type: "result", callId, attempt, outcome: refusal } satisfies RuntimeFrame)
  );
}
