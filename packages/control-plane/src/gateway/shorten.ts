/** WebSocket close reasons hold 123 bytes. */
export const REASON_BYTES = 120;

/** The text in at most so many bytes of UTF-8: a longer one ends with an ellipsis, which takes three of them. */
export function shorten(text: string, mostBytes: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= mostBytes) return text;
  return `${bytes
    .subarray(0, Math.max(0, mostBytes - 3))
    .toString()
    .replace(/\uFFFD$/, "")}…`;
}
