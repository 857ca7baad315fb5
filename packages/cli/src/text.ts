import { escapeControls } from "@patchbay/protocol";

/** Text from outside on one line, with its control characters escaped: for what must not begin a line of its own. */
export function oneLine(text: string): string {
  return escapeControls(text.replaceAll("\r\n", "\n")).replaceAll("\n", "\\n").replaceAll("\t", " ");
}

const graphemes = new Intl.Segmenter(undefined, { granularity: "grapheme" });

/** East Asian wide and full-width characters, as Unicode's EastAsianWidth.txt has them by script and block. */
const WIDE =
  /^[\p{Script=Han}\p{Script=Hangul}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Yi}\u3000-\u303e\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6]/u;
const EMOJI = /^\p{Emoji_Presentation}|\ufe0f/u;

/** The columns of a terminal that each character of a text takes, character by character as people see them. */
export function* charactersOf(text: string): Generator<{ character: string; columns: number }> {
  for (const { segment } of graphemes.segment(text))
    yield { character: segment, columns: WIDE.test(segment) || EMOJI.test(segment) ? 2 : 1 };
}

/** The columns of a terminal that a text takes. */
export function columnsOf(text: string): number {
  let columns = 0;
  for (const character of charactersOf(text)) columns += character.columns;
  return columns;
}

/** The text, filled up with spaces to so many columns. */
export function padColumns(text: string, columns: number): string {
  return text + " ".repeat(Math.max(0, columns - columnsOf(text)));
}
