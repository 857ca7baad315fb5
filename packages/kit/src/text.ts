const LOOPBACK = /^(localhost|.+\.localhost|127(\.\d{1,3}){3}|\[?::1\]?)$/i;

/** True for a host name or address on this machine. */
export function isLoopback(host: string): boolean {
  return LOOPBACK.test(host);
}

/** True for a URL without TLS to another machine. */
export function isClearText(address: string): boolean {
  const url = URL.parse(address);
  return url !== null && /^(http|ws):$/.test(url.protocol) && !isLoopback(url.hostname);
}

/**
 * Control characters that an untrusted text must not send to a terminal: C0 except tab and newline, DEL, C1, line and
 * paragraph separators, and characters that change the text direction.
 */
// oxlint-disable-next-line no-control-regex
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** Escapes control characters as `\u001b`, which a JSON parser reads back. Keeps newlines and tabs. */
export function escapeControls(text: string): string {
  return text.replace(CONTROL, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** An ISO 8601 time in UTC. */
export const isoTime = (timeMs: number): string => new Date(timeMs).toISOString();

/** The same for an optional time. */
export const isoTimeOrNull = (timeMs: number | null | undefined): string | null =>
  timeMs === null || timeMs === undefined ? null : isoTime(timeMs);

/** The largest time of a `Date`. */
const LAST_TIME = 8.64e15;

/** The same for a time that may be no time: a manipulated row has any number. */
export const timeText = (at: number): string => (Math.abs(at) <= LAST_TIME ? isoTime(at) : String(at));
