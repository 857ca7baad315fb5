import type { Clause } from "./clauses.ts";
import { isReference } from "./evidence.ts";
import { fill, type Filling, type Sources } from "./fill.ts";
import type { KnownFunction } from "./function-set.ts";
import { contentWords } from "./reading.ts";
import { conceptOf, isDoing, isLooking, stem, type Word } from "./words.ts";

/** A function chosen for a clause. */
export interface Choice {
  fn: KnownFunction;
  filling: Filling;
  score: number;
  /** Words of the query that chose it. */
  because: string[];
}

const THRESHOLD = 0.9;
const LIST = conceptOf(stem("list"));

/** The functions that fit a clause, best first. */
export function rankFunctions(clause: Clause, sources: Sources, hints: readonly Word[] = []): Choice[] {
  const words = contentWords(sources.clause);
  const choices = eligible(clause, sources).map((fn) => weighFunction(fn, clause, words, hints, sources));
  return choices
    .filter((choice): choice is Choice => choice !== undefined)
    .toSorted((a, b) => b.score - a.score || a.fn.name.localeCompare(b.fn.name, "en"));
}

/**
 * A function that changes something is eligible only if a command's verb asks for exactly that. If a command asks for a
 * change, a lookup does not answer it.
 */
function eligible({ mood, verb }: Clause, { set, clause: reading }: Sources): KnownFunction[] {
  const asked = verb?.concept ?? "";
  const doers = set.functions.filter((fn) => !fn.readOnly && mood === "command" && fn.actions.has(asked));
  const readers = set.functions.filter((fn) => fn.readOnly);
  if (verb === undefined || isLooking(asked)) return [...readers, ...doers];
  const named = readers.filter((fn) => fn.actions.has(asked));
  if (doers.length > 0 || named.length > 0) return [...doers, ...named];
  // "Add 2 and 3" asks for a sum, although the verb also asks for a change.
  if (reading.expression !== undefined && /^add$/iu.test(verb.text)) return readers.filter(computes);
  return isDoing(asked) || mood === "conditional" ? [] : readers;
}

const computes = ({ parameters }: KnownFunction): boolean => parameters.some(({ kind }) => kind === "expression");

function weighFunction(
  fn: KnownFunction,
  clause: Clause,
  words: readonly Word[],
  hints: readonly Word[],
  sources: Sources,
): Choice | undefined {
  const filling = fill(fn, sources, { useResults: false });
  const filled = new Set([...filling.filled].flatMap((parameter) => parameter.concepts));
  const because = new Map<string, string>();
  let score = 0;
  let named = false;
  let described = 0;
  const seen = new Set<string>();
  for (const [at, word] of [...words, ...hints].entries()) {
    if (seen.has(word.concept)) continue;
    seen.add(word.concept);
    const weight = weighWord(fn, word, filled) * (at < words.length ? 1 : 0.5);
    if (weight === 0) continue;
    if (weight >= 1.5 && !(isLooking(word.concept) && fn.readOnly)) named = true;
    else described += 1;
    score += weight * sources.set.rarity(word.concept);
    because.set(word.concept, word.text);
  }
  if (clause.verb && fn.actions.has(clause.verb.concept) && isDoing(clause.verb.concept)) {
    score += 2;
    named = true;
  }
  const plural = words.some((word) => fn.objects.has(word.concept) && /[^s]s$/iu.test(word.text));
  if (plural && fn.actions.has(LIST)) score += 0.6;
  const evidence = [...filling.used].length > 0 ? filling.strong : filling.strong * 1.5;
  const enough = clause.mood === "statement" || sources.clause.units.length === 0 ? 2 : 1;
  if (!named && described < enough && evidence === 0) return undefined;
  score += Math.min(evidence, 4) * 0.8;
  const least = words.length === 0 ? THRESHOLD / 2 : THRESHOLD;
  if (score < least && !(named && sources.set.functions.length > 20)) return undefined;
  const feasible = feasibility(fn, filling, sources);
  return { fn, filling, score: score + feasible, because: [...because.values()] };
}

/** Arguments at hand support a function; values of the query that it cannot use count against it. */
function feasibility(fn: KnownFunction, { missing, used, filled }: Filling, { clause }: Sources): number {
  const computed = [...filled].some(({ kind }) => kind === "expression");
  const unused = computed ? 0 : clause.units.filter((unit) => !used.has(unit)).length;
  if (missing.length === 0) return 1 - 1.2 * Math.min(unused, 2);
  const first = missing[0];
  const mayBeFound = fn.readOnly && missing.length === 1 && first !== undefined && isReference(first);
  return mayBeFound ? -0.3 : -1 - 0.2 * missing.length;
}

/** The weight of one word of a query for a function. A word of `by_email` counts only where an e-mail was given. */
function weighWord(fn: KnownFunction, { concept, stem }: Word, filled: ReadonlySet<string>): number {
  const exact = fn.stems.has(stem) ? 1 : 0.8;
  if (fn.inputs.has(concept)) return filled.has(concept) ? 2 : 0;
  if (isLooking(concept) && fn.readOnly) return fn.actions.has(concept) ? 0.7 : 0;
  if (fn.actions.has(concept)) return 2 * exact;
  if (fn.objects.has(concept)) return 3 * exact;
  if (filled.has(concept)) return 1.5;
  if (fn.described.has(concept)) return 1;
  return fn.hinted.has(concept) ? 0.4 : 0;
}
