import synonyms from "./synonyms.json" with { type: "json" };

/** A word in a text: its position, its stem, and its concept, which is the stem that represents its synonyms. */
export interface Word {
  text: string;
  start: number;
  end: number;
  stem: string;
  concept: string;
}

/** Cuts common English endings, so that all forms have one stem. A stem need not be a word. */
export function stem(word: string): string {
  let root = word.toLowerCase().replace(/['’]s?$/u, "");
  if (root.length > 4 && root.endsWith("ies")) root = `${root.slice(0, -3)}y`;
  else if (/(?:x|ch|sh|ss)es$/u.test(root)) root = root.slice(0, -2);
  else if (root.length > 3 && /[^sui]s$/u.test(root)) root = root.slice(0, -1);
  root = cutEnding(root);
  return root.length > 3 ? root.replace(/e$/u, "") : root;
}

function cutEnding(word: string): string {
  for (const ending of ["ations", "ation", "ment", "ing", "ed"]) {
    const root = word.slice(0, -ending.length);
    if (!word.endsWith(ending) || root.length < 3 || !/[aeiouy]/u.test(root)) continue;
    return root.replace(/([bdfglmnprt])\1$/u, "$1");
  }
  return word;
}

// Each line of `synonyms.json` has one meaning, represented by its first word. `looking` lists verbs that only read, `doing` verbs
// that change something, `things` nouns, and `stopWords` words that choose no function.
const split = (lines: readonly string[]) => lines.map((line) => line.split(" "));
const concepts = new Map<string, string>();
for (const group of split([...synonyms.looking, ...synonyms.doing, ...synonyms.things]))
  for (const word of group) if (!concepts.has(stem(word))) concepts.set(stem(word), stem(group[0] ?? word));
const stopWords = new Set(split(synonyms.stopWords).flat());

const conceptOf = (stemmed: string): string => concepts.get(stemmed) ?? stemmed;
export const conceptOfWord = (word: string): string => conceptOf(stem(word));

const verbs = (lines: readonly string[]) => new Set(split(lines).map(([first]) => conceptOfWord(first ?? "")));
const looking = verbs(synonyms.looking);
const doing = verbs(synonyms.doing);
export const isLooking = (concept: string): boolean => looking.has(concept);
export const isVerb = (concept: string): boolean => looking.has(concept) || doing.has(concept);
export const isDoing = (concept: string): boolean => doing.has(concept);
export const isStopWord = (word: string): boolean => stopWords.has(word.toLowerCase());

/** All words in order, with stop words. */
export function wordsOf(text: string): Word[] {
  return Array.from(text.matchAll(/[\p{L}\p{N}]+(?:['’]\p{L}+)*/gu), ({ 0: word, index: start }) => {
    const root = stem(word);
    return { text: word, start, end: start + word.length, stem: root, concept: conceptOf(root) };
  });
}

/** The words in an identifier: splits snake_case, kebab-case, camelCase and dots. */
export function nameWords(name: string): string[] {
  return name
    .replace(/(\p{Ll}|\d)(\p{Lu})/gu, "$1 $2")
    .replace(/(\p{Lu})(\p{Lu}\p{Ll})/gu, "$1 $2")
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== "");
}

/** The concepts in a text without stop words. */
export const conceptsOf = (text: string): string[] =>
  wordsOf(text)
    .filter((word) => !isStopWord(word.text))
    .map((word) => word.concept);

export const nameConcepts = (name: string): string[] => nameWords(name).map(conceptOfWord);

/** A name for people: `order_id` becomes "Order id". */
export function readable(name: string): string {
  const text = nameWords(name)
    .map((word) => (/^\p{Lu}{2,}$/u.test(word) ? word : word.toLowerCase()))
    .join(" ");
  return text.charAt(0).toUpperCase() + text.slice(1);
}
