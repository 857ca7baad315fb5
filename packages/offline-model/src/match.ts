import { isReference } from "./facts.ts";
import { fill, type Filling, type Sources } from "./fill.ts";
import type { KnownFunction } from "./function-set.ts";
import { contentWords, type Mood } from "./reading.ts";
import { conceptOfWord, isDoing, isLooking, type Word } from "./words.ts";

/** A function that fits a query. */
export interface Choice {
  fn: KnownFunction;
  filling: Filling;
  /** How well the words fit, and whether arguments are known. */
  score: number;
  /** Words in the query that chose it. */
  because: string[];
}

const THRESHOLD = 0.9;
const LIST = conceptOfWord("list");

/** The functions that fit a query, best first. `hints` are words in earlier queries. */
export function rankFunctions(mood: Mood, sources: Sources, hints: readonly Word[]): Choice[] {
  const own = contentWords(sources.query);
  const words = [...Map.groupBy([...own, ...hints], ({ concept }) => concept).values()].flatMap(([word]) => word ?? []);
  const choices = eligible(mood, sources).map((fn) => {
    const filling = fill(fn, sources, { useResults: false });
    return { fn, filling, ...weighWords(words, new Set(hints), fn, filling, mood, sources) };
  });
  const least = own.length === 0 ? THRESHOLD / 2 : THRESHOLD;
  const fitting = choices
    .filter(({ score }) => score >= least)
    .map((choice) => ({ ...choice, score: choice.score + feasibility(choice, sources) }))
    .toSorted((a, b) => b.score - a.score || a.fn.name.localeCompare(b.fn.name, "en"));
  // "My address": without a better match, each lookup that needs only the context.
  const isOwn = ({ fn, filling }: Choice) => fn.readOnly && filling.missing.length === 0 && filling.from.has("context");
  const asksForOwn = own.length > 0 && /\b(?:my|mine|me|i)\b/iu.test(sources.query.text);
  return fitting.length > 0 || !asksForOwn ? fitting : choices.filter(isOwn);
}

/**
 * A function that changes something is eligible only if a command's verb asks for exactly that. If a command asks for a
 * change, a lookup does not answer it.
 */
function eligible({ kind, verb }: Mood, { set, query }: Sources): KnownFunction[] {
  const asked = verb?.concept ?? "";
  const doers = set.functions.filter((fn) => !fn.readOnly && kind === "command" && fn.actions.has(asked));
  const readers = set.functions.filter((fn) => fn.readOnly);
  if (verb === undefined || isLooking(asked)) return [...readers, ...doers];
  const named = readers.filter((fn) => fn.actions.has(asked));
  if (doers.length > 0 || named.length > 0) return [...doers, ...named];
  // "Add 2 and 3" asks for a sum, although the verb also asks for a change.
  if (query.expression !== undefined && /^add$/iu.test(verb.text)) return readers.filter(computes);
  return isDoing(asked) || kind === "conditional" ? [] : readers;
}

const computes = ({ parameters }: KnownFunction): boolean => parameters.some(({ kind }) => kind === "expression");

/** Weighs the words of a query for a function; 0 without a word for its name, two for its description, or a value. */
function weighWords(
  words: readonly Word[],
  hints: ReadonlySet<Word>,
  fn: KnownFunction,
  { filled, used, strong }: Filling,
  { kind, verb }: Mood,
  { query }: Sources,
): { score: number; because: string[] } {
  const given = new Set(filled.flatMap(({ concepts }) => concepts));
  const isCommand = verb !== undefined && isDoing(verb.concept) && fn.actions.has(verb.concept);
  const isPlural = words.some(({ concept, text }) => fn.objects.has(concept) && /[^s]s$/iu.test(text));
  const weights = words
    .map((word) => ({ word, weight: weighWord(fn, word, given) }))
    .filter(({ weight }) => weight > 0);
  const isNamed = isCommand || weights.some(({ weight }) => weight >= 1.5);
  const enough = kind === "statement" || query.units.length === 0 ? 2 : 1;
  const because = weights.map(({ word }) => word.text);
  if (!isNamed && weights.length < enough && strong === 0) return { score: 0, because };
  const scores = weights.map(({ word, weight }) => (hints.has(word) ? weight / 2 : weight));
  const ofVerb = (isCommand ? 2 : 0) + (isPlural && fn.actions.has(LIST) ? 0.6 : 0);
  const ofValues = Math.min(used.size > 0 ? strong : strong * 1.5, 4) * 0.8;
  return { score: scores.reduce((sum, score) => sum + score, ofVerb + ofValues), because };
}

/** Known arguments support a function; values in the query that it cannot use count against it. */
function feasibility({ fn, filling: { missing, used, filled } }: Choice, { query }: Sources): number {
  const computed = filled.some(({ kind }) => kind === "expression");
  const unused = computed ? 0 : query.units.filter((unit) => !used.has(unit)).length;
  if (missing.length === 0) return 1 - 1.2 * Math.min(unused, 2);
  return fn.readOnly && missing.length === 1 && missing.every(isReference) ? -0.3 : -1.2;
}

/** The weight of one word. A word in `by_email` counts only with an e-mail address. */
function weighWord(fn: KnownFunction, { concept }: Word, given: ReadonlySet<string>): number {
  if (fn.inputs.has(concept)) return given.has(concept) ? 2 : 0;
  if (isLooking(concept) && fn.readOnly) return fn.actions.has(concept) ? 0.7 : 0;
  if (fn.actions.has(concept)) return 2;
  if (fn.objects.has(concept)) return 3;
  if (given.has(concept)) return 1.5;
  return fn.described.has(concept) ? 1 : 0;
}
