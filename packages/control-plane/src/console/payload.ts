import type { JsonValue } from "@patchbay/protocol";

const SHOWN_BYTES = 32 * 1024;

/** A payload as a span shows it: whole, or the beginning of its text. The log of a run has all of it. */
export interface Payload {
  value: JsonValue;
  truncated: boolean;
}

export function payloadOf(value: JsonValue): Payload {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  if (text.length * 3 <= SHOWN_BYTES) return { value, truncated: false };
  const bytes = Buffer.from(text);
  if (bytes.length <= SHOWN_BYTES) return { value, truncated: false };
  // As part of a stream, a character that is cut in two is left out.
  return { value: new TextDecoder().decode(bytes.subarray(0, SHOWN_BYTES), { stream: true }), truncated: true };
}
