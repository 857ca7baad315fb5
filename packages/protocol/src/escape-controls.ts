/**
 * Control characters that text from outside must not send to a terminal: C0 but tab and newline, DEL, C1, line and
 * paragraph separators, and the marks that turn the direction of text.
 */
// oxlint-disable-next-line no-control-regex
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** Text with its control characters written as `\u001b`, which JSON reads back. Newlines and tabs stay. */
export function escapeControls(text: string): string {
  return text.replace(CONTROL, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
