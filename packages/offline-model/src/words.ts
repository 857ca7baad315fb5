import { DOING_VERBS, GROUPS, LOOKING_VERBS, STOP_WORDS } from "./synonyms.ts";

/** One word of a text: its position, its stem, and the stem that represents all words of its meaning. */
export interface Word {
  text: string;
  start: number;
  end: number;
  stem: string;
  concept: string;
}

/** Cuts common English endings, so that forms of one word meet. Consistency matters here, not beauty. */
export function stem(word: string): string {
  let root = word.toLowerCase().replace(/['’]s?$/u, "");
  if (root.length > 4 && root.endsWith("ies")) root = `${root.slice(0, -3)}y`;
  else if (/(?:x|ch|sh|ss)es$/u.test(root)) root = root.slice(0, -2);
  else if (root.length > 3 && /[^sui]s$/u.test(root)) root = root.slice(0, -1);
  root = cutEnding(root);
  if (root.length > 6) root = root.replace(/ate?$/u, "");
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

const concepts = new Map<string, string>();
for (const group of GROUPS) {
  for (const word of group) if (!concepts.has(stem(word))) concepts.set(stem(word), stem(group[0] ?? word));
}

/** The stem that represents every word of the same meaning. */
export function conceptOf(stemmed: string): string {
  return concepts.get(stemmed) ?? stemmed;
}

const looking = new Set(LOOKING_VERBS.map((verb) => conceptOf(stem(verb))));
const doing = new Set(DOING_VERBS.map((verb) => conceptOf(stem(verb))));
export const isLooking = (concept: string): boolean => looking.has(concept);
export const isDoing = (concept: string): boolean => doing.has(concept);
export const isStopWord = (word: string): boolean => STOP_WORDS.has(word.toLowerCase());

/** The words of a text in order, with stop words. */
export function wordsOf(text: string): Word[] {
  return Array.from(text.matchAll(/[\p{L}\p{N}]+(?:['’]\p{L}+)*/gu), ({ 0: word, index: start }) => {
    const root = stem(word);
    return { text: word, start, end: start + word.length, stem: root, concept: conceptOf(root) };
  });
}

/** The words of an identifier: snake_case, kebab-case, camelCase and dots are all split. */
export function nameWords(name: string): string[] {
  return name
    .replace(/(\p{Ll}|\d)(\p{Lu})/gu, "$1 $2")
    .replace(/(\p{Lu})(\p{Lu}\p{Ll})/gu, "$1 $2")
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== "");
}

/** Concepts of the words that carry meaning. */
export function conceptsOf(text: string): string[] {
  return wordsOf(text)
    .filter((word) => !isStopWord(word.text))
    .map((word) => word.concept);
}

export function nameConcepts(name: string): string[] {
  return nameWords(name).map((word) => conceptOf(stem(word)));
}

/** A name as people read it: `order_id` becomes "Order id". */
export function readable(name: string): string {
  const text = nameWords(name)
    .map((word) => (/^\p{Lu}{2,}$/u.test(word) ? word : word.toLowerCase()))
    .join(" ");
  return text.charAt(0).toUpperCase() + text.slice(1);
}
