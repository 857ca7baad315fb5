import synonyms from "./synonyms.json" with { type: "json" };

/** Where nothing does the first, the second is what was meant: a meeting is scheduled by creating it. */
export const NEXT_OF_KIN: ReadonlyMap<string, string> = new Map(
  ["book", "buy", "open", "log"].map((verb) => [verb, "create"]),
);

/** Nouns that ask for an action if they replace the verb of a request. */
export const VERB_OF_NOUN: ReadonlyMap<string, string> = new Map([
  ["email", "send"],
  ["mail", "send"],
  ["message", "send"],
  ["new", "create"],
]);

const split = (lines: readonly string[]) => lines.map((line) => line.split(" "));

/**
 * Words of one meaning; the first represents all of them. `looking`: verbs that only look something up. `doing`: verbs that do
 * something. `things`: things that people name in more than one way.
 */
const { looking, doing, things, stopWords } = synonyms;
export const GROUPS = split([...looking, ...doing, ...things]);
export const LOOKING_VERBS = split(looking).map(([first]) => first ?? "");
export const DOING_VERBS = split(doing).map(([first]) => first ?? "");

/** Words that say nothing about which function is meant. */
export const STOP_WORDS: ReadonlySet<string> = new Set(split(stopWords).flat());
