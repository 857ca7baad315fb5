import type { JsonValue } from "@patchbay/protocol";

const MOST_BYTES = 32 * 1024;
const LEAST_BYTES = 1024;
const BYTES_OF_TRACE = 1_048_576;

/** How much is shown of each payload of a trace, so that a run with hundreds of calls is not an answer of many megabytes. */
export function shownBytes(payloads: number): number {
  return Math.min(MOST_BYTES, Math.max(LEAST_BYTES, Math.floor(BYTES_OF_TRACE / payloads)));
}

/** A payload as a span shows it: whole, or the beginning of its text. The log of a run has all of it. */
export interface Payload {
  value: JsonValue;
  truncated: boolean;
}

export function payloadOf(value: JsonValue, mostBytes: number): Payload {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  if (text.length * 3 <= mostBytes) return { value, truncated: false };
  const bytes = Buffer.from(text);
  if (bytes.length <= mostBytes) return { value, truncated: false };
  // As part of a stream, a character that is cut in two is left out.
  return { value: new TextDecoder().decode(bytes.subarray(0, mostBytes), { stream: true }), truncated: true };
}
