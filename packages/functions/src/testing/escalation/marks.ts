import { visitTexts } from "../leaks.ts";

/** What a planted value is: where it was planted, and for whom the call was that gave it. */
export interface Mark {
  /** `result`: a member of a result. `error`: the text of an error that a handler threw. `withheld`: a text that a hook withheld. */
  kind: "result" | "error" | "withheld";
  /** Of a `withheld` text the name of the hook. */
  functionName: string;
  /** The role that the query really had. */
  role: string | undefined;
  /** Where in the result it stands, such as `orders[].cost`. */
  path: string;
}

/** Values that nothing else holds, so that wherever one turns up, it is known where it came from. */
export interface Marks {
  text(mark: Mark): string;
  number(mark: Mark): number;
  /** Every mark in a value, with the place where it stands. */
  find(value: unknown): { mark: Mark; path: string }[];
  /** The marks in a text, as they stand there. */
  wordsIn(text: string): string[];
}

/** Numbers of thirteen digits are exact in JavaScript, and hardly anything counts that far. */
const FIRST_NUMBER = 7_310_000_000_000;
const WORD = /mk[0-9a-z]{8}km|(?<![\d.])731\d{10}(?![\d.])/g;

export function createMarks(): Marks {
  const marks: Mark[] = [];

  function idOf(word: string): number {
    return word.startsWith("mk") ? Number.parseInt(word.slice(2, -2), 36) : Number(word) - FIRST_NUMBER;
  }

  return {
    text: (mark) => `mk${(marks.push(mark) - 1).toString(36).padStart(8, "0")}km`,
    number: (mark) => FIRST_NUMBER + marks.push(mark) - 1,
    find(value) {
      const found: { mark: Mark; path: string }[] = [];
      visitTexts(value, (text, path) => {
        for (const [word] of text.matchAll(WORD)) {
          const mark = marks[idOf(word)];
          if (mark) found.push({ mark, path });
        }
      });
      return found;
    },
    wordsIn: (text) => text.match(WORD) ?? [],
  };
}
