import { expect, test } from "vitest";
import { parseJson, wellFormed, wellFormedJson, wholePairs } from "@patchbay/kit";

const HIGH = "\ud83d";
const LOW = "\ude00";
const PAIR = HIGH + LOW;

test.each([
  ["a pair", JSON.stringify(PAIR), JSON.stringify(PAIR)],
  ["an escaped pair", String.raw`"\ud83d\ude00"`, String.raw`"\ud83d\ude00"`],
  ["an escaped pair in capitals", String.raw`"\uD83D\uDE00"`, String.raw`"\uD83D\uDE00"`],
  ["a first half", `"a${HIGH}b"`, '"a\ufffdb"'],
  ["an escaped first half", String.raw`"a\ud83db"`, '"a\ufffdb"'],
  ["an escaped second half", String.raw`"a\uDE00b"`, '"a\ufffdb"'],
  ["two first halves", String.raw`"\ud83d\ud83d\ude00"`, '"\ufffd\\ud83d\\ude00"'],
  ["an escaped name", String.raw`{"\ud83d":1}`, '{"\ufffd":1}'],
  ["a backslash before the letters", String.raw`"\\ud83d"`, String.raw`"\\ud83d"`],
  ["a backslash before a half", String.raw`"\\\ud83d"`, '"\\\\\ufffd"'],
  ["other escapes", String.raw`"\u0000\n\"\u00e9"`, String.raw`"\u0000\n\"\u00e9"`],
])("JSON text with %s", (_, json, expected) => {
  expect(wellFormedJson(json)).toBe(expected);
  expect(parseJson(json)).toEqual({ ok: true, value: JSON.parse(expected) as unknown });
});

test("names and texts at any depth lose their halves, and nothing else changes", () => {
  const value = { whole: [PAIR, 1, null], [`a${HIGH}`]: [{ b: LOW }], text: `${LOW}${HIGH}` };

  expect(wellFormed(value)).toEqual({ whole: [PAIR, 1, null], "a\ufffd": [{ b: "\ufffd" }], text: "\ufffd\ufffd" });
  expect(wellFormed(value).whole).toBe(value.whole);
});

test("a value without halves is returned as it is", () => {
  const value = { texts: [PAIR, { name: PAIR }] };

  expect(wellFormed(value)).toBe(value);
});

/** What `wholePairs` passes on from these pieces. */
function passed(pieces: readonly string[]): string[] {
  const found: string[] = [];
  const { push, end } = wholePairs((text) => found.push(text));
  for (const piece of pieces) push(piece);
  end();
  return found;
}

test("pieces of a text never end or begin within a pair, wherever they are cut", () => {
  const text = `Rome ${PAIR}${PAIR} is ${PAIR}`;
  for (let first = 0; first <= text.length; first++)
    for (let second = first; second <= text.length; second++) {
      const shown = passed([text.slice(0, first), text.slice(first, second), text.slice(second)]);

      expect(shown.join("")).toBe(text);
      expect(shown.every((piece) => piece !== "" && piece.isWellFormed())).toBe(true);
    }
});

test("a half whose other half never arrives is shown as U+FFFD", () => {
  expect(passed([`a${HIGH}`, "b", LOW, `c${HIGH}`])).toEqual(["a", "\ufffdb", "\ufffd", "c", "\ufffd"]);
});
