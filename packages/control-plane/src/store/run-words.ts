/** Characters of each text that are searched. */
const TEXT_UNITS = 20_000;
const WORD_UNITS = 64;
/** Different words of one run, and of one search. */
const WORDS = 1_000;
const WORDS_OF_SEARCH = 20;

/** A letter of a script that is written without spaces is a word. */
const WORD = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]|[\p{L}\p{N}]+/gu;

/**
 * The different words of some texts, in lower case, without accents, sorted. Both databases get words, not texts, so that a search
 * finds the same on both.
 */
export function wordsOf(texts: readonly string[]): string[] {
  const words = new Set<string>();
  for (const text of texts)
    for (const [word] of plain(text.slice(0, TEXT_UNITS)).matchAll(WORD)) {
      if (words.size === WORDS) return [...words].toSorted();
      words.add(word.slice(0, WORD_UNITS));
    }
  return [...words].toSorted();
}

/** The words of a search, in its order: a run is found if it has all of them. The last one may be the beginning of a word. */
export const searchedWords = (q: string): string[] =>
  Array.from(plain(q).matchAll(WORD), ([word]) => word.slice(0, WORD_UNITS)).slice(0, WORDS_OF_SEARCH);

/** True for a text that a search for these words finds. */
export function hasWords(text: string, searched: readonly string[]): boolean {
  const [last, words] = [searched.at(-1), new Set(wordsOf([text]))];
  if (last === undefined || !searched.slice(0, -1).every((word) => words.has(word))) return false;
  return [...words].some((word) => word.startsWith(last));
}

const plain = (text: string): string =>
  text
    .normalize("NFKD")
    .replace(/\p{M}+/gu, "")
    .toLowerCase();
