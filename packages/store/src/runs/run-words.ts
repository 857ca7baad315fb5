/** Searched characters per text. */
const TEXT_UNITS = 20_000;
const WORD_UNITS = 64;
/** Distinct words per run, and per search. */
const WORDS = 1_000;
const WORDS_OF_SEARCH = 20;

/** A letter from a script without spaces is a word. */
const WORD = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]|[\p{L}\p{N}]+/gu;

/**
 * The distinct words in some texts, in lower case, without accents, sorted. Both databases get words, not texts, so
 * that a search finds the same on both.
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

/** A search's words, in its order: a run is found if it has all of them. The last one may be a prefix. */
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
