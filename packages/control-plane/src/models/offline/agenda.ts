import type { JsonObject } from "@patchbay/protocol";
import { findSource, type Source } from "./chain.ts";
import type { Clause } from "./clauses.ts";
import { callKey, type MadeCall } from "./conversation.ts";
import { fill, MAX_VARIANTS, type Sources } from "./fill.ts";
import { type Choice, rankFunctions } from "./match.ts";
import type { Parameter } from "./parameters.ts";
import { contentWords } from "./reading.ts";
import { conceptOf, isDoing, isLooking, nameWords, stem, type Word } from "./words.ts";
import type { KnownFunction } from "./function-set.ts";

export interface PlannedCall {
  fn: KnownFunction;
  arguments: JsonObject;
  /** The function it is made for, where it is a step on the way. */
  towards?: KnownFunction;
}

/** What became of one thing asked for. */
export interface Outcome {
  clause: Clause;
  /** Words of the clause that say what is wanted. */
  wanted: Word[];
  choice?: Choice;
  calls: PlannedCall[];
  /** Calls that were made and answer the clause, most telling first. */
  answered: MadeCall[];
  missing: Parameter[];
  /** Other functions that would have fitted as well, where none could be called. */
  alternatives: Choice[];
}

const MAX_CALLS = 40;

/** Decides what to do next for one clause, with what was done so far in mind. Stateless: the same messages, the same decision. */
export function decide(clause: Clause, sources: Sources, made: readonly MadeCall[], hints: readonly Word[]): Outcome[] {
  const wanted = contentWords(sources.clause);
  const fitting = rankFunctions(clause, sources, hints);
  const ranked = fitting.length > 0 ? fitting : aboutTheAsker(clause, sources);
  const nothing = { clause, wanted, calls: [], answered: [], missing: [], alternatives: [] };
  const outcomes = chooseTargets(ranked, sources, made).map((choice): Outcome => {
    const telling = wanted.filter(
      ({ concept }) => !isLabel(concept, choice, sources) || choice.fn.objects.has(concept),
    );
    const outcome = pursue({ ...nothing, wanted: telling, choice }, sources, made);
    if (outcome.missing.length === 0) return outcome;
    const rivals = ranked.filter(
      (other) => other !== choice && choice.score - other.score < 1.2 && other.fn.readOnly === choice.fn.readOnly,
    );
    return { ...outcome, alternatives: rivals.slice(0, 3) };
  });
  return outcomes.length > 0 ? outcomes : [nothing];
}

/** "My address": with no better match, whatever can be looked up by the context alone. */
function aboutTheAsker({ mood, text, verb }: Clause, sources: Sources): Choice[] {
  if (!/\b(?:my|mine|me|i)\b/iu.test(text) || mood === "conditional" || (verb && !isLooking(verb.concept))) return [];
  if (contentWords(sources.clause).length === 0) return [];
  return sources.set.functions
    .filter((fn) => fn.readOnly && fn.parameters.some(({ required }) => required))
    .map((fn) => ({ fn, filling: fill(fn, sources, { useResults: false }), score: 0, because: ["my"] }))
    .filter(({ filling }) => filling.missing.length === 0 && filling.fromContext);
}

/** The best function, and further ones for values that the clause lists beside the first one's ("order 1 and user 2"). */
function chooseTargets(ranked: readonly Choice[], sources: Sources, made: readonly MadeCall[]): Choice[] {
  const first = ranked.find((choice) => isWithinReach(choice, sources, made)) ?? ranked[0];
  if (!first) return [];
  const chosen = [first];
  for (const unit of sources.clause.units) {
    if (!unit.coordinated || chosen.some(({ filling }) => filling.used.has(unit))) continue;
    const other = ranked.find(
      ({ fn, filling }) => fn.readOnly && filling.missing.length === 0 && filling.strong > 0 && filling.used.has(unit),
    );
    if (other && !chosen.includes(other)) chosen.push(other);
  }
  return chosen;
}

/** A question nearly as well met by a function that can be called goes there rather than to one that cannot. */
function isWithinReach({ fn, filling }: Choice, sources: Sources, made: readonly MadeCall[]): boolean {
  if (!fn.readOnly || filling.missing.length === 0) return true;
  const complete = fill(fn, sources, { useResults: true });
  return (
    complete.missing.length === 0 ||
    complete.missing.every((parameter) => findSource(fn, parameter, sources, neverTried) !== undefined) ||
    made.length > 0
  );
}

const neverTried = () => false;

function pursue(outcome: Outcome & { choice: Choice }, sources: Sources, made: readonly MadeCall[]): Outcome {
  const { fn } = outcome.choice;
  const filling = fill(fn, sources, { useResults: fn.readOnly });
  if (filling.missing.length === 0) return settle(outcome, fn, filling.variants, sources, made);
  if (!fn.readOnly) return { ...outcome, missing: filling.missing };
  const tried = ({ fn, filling }: Source) => filling.variants.every((input) => wasMade(made, fn, input));
  for (const parameter of made.length < MAX_CALLS ? filling.missing : []) {
    const source = findSource(fn, parameter, sources, tried);
    const calls = source?.filling.variants.filter((input) => !wasMade(made, source.fn, input)) ?? [];
    if (source && calls.length > 0)
      return { ...outcome, calls: calls.map((input) => ({ fn: source.fn, arguments: input, towards: fn })) };
  }
  return {
    ...outcome,
    missing: filling.missing,
    answered: made.filter((call) => call.result.isError || isLookup(call, outcome, sources)),
  };
}

/** Results on the way to a goal that was not reached still tell something. */
function isLookup(call: MadeCall, { wanted }: Outcome, sources: Sources): boolean {
  const fn = sources.set.functions.find(({ name }) => name === call.name);
  return (
    fn !== undefined &&
    (fn.objects.size === 0 || wanted.some(({ concept }) => fn.objects.has(concept)) || wanted.length === 0)
  );
}

function settle(
  outcome: Outcome & { choice: Choice },
  fn: KnownFunction,
  variants: readonly JsonObject[],
  sources: Sources,
  made: readonly MadeCall[],
): Outcome {
  const open = variants.filter((input) => !wasMade(made, fn, input)).slice(0, MAX_VARIANTS);
  if (open.length > 0 && made.length < MAX_CALLS)
    return { ...outcome, calls: open.map((input) => ({ fn, arguments: input })) };
  const answered = variants.flatMap((input) => made.find(({ key }) => key === callKey(fn.name, input)) ?? []);
  const further = fn.readOnly && made.length < MAX_CALLS ? goFurther(outcome, answered, sources, made) : undefined;
  if (!further) return { ...outcome, answered };
  const shown = answered.filter(({ data }) => typeof data === "object" || further.answered.length === 0);
  return { ...outcome, calls: further.calls, answered: [...further.answered, ...shown] };
}

/** Where the results do not speak of what was asked, a function that takes something out of them may. */
function goFurther(
  outcome: Outcome,
  answered: readonly MadeCall[],
  sources: Sources,
  made: readonly MadeCall[],
  depth = 0,
): Pick<Outcome, "calls" | "answered"> | undefined {
  const told = new Set(
    answered.flatMap(({ name, data }) => [
      ...nameWords(name).map((word) => conceptOf(stem(word))),
      ...memberConcepts(data),
    ]),
  );
  const asked = outcome.wanted.filter(({ concept }) => !isLooking(concept) && !isDoing(concept));
  const known = { ...sources, results: answered.flatMap((call) => sources.factsFrom(call)) };
  const untold = asked.filter(({ concept }) => !told.has(concept));
  const succeeded = answered.filter(({ data }) => data !== undefined);
  if (untold.length === 0 || succeeded.length === 0 || depth > 2) return undefined;
  const bare = succeeded.every(({ data }) => typeof data === "string");
  const done = new Set(answered.map(({ name }) => name));
  const next = sources.set.functions
    .filter((fn) => fn.readOnly && !done.has(fn.name))
    .map((fn) => ({
      fn,
      filling: fill(fn, known, { useResults: true }),
      fit: fitOf(fn, untold, asked) + (bare ? 0.5 : 0),
    }))
    .filter(({ filling, fit }) => filling.missing.length === 0 && filling.chained && fit > 0)
    .toSorted((a, b) => b.fit - a.fit)[0];
  if (!next) return undefined;
  const calls = next.filling.variants
    .filter((input) => !wasMade(made, next.fn, input))
    .map((input) => ({ fn: next.fn, arguments: input }));
  if (calls.length > 0) return { calls, answered: [] };
  const results = next.filling.variants.flatMap(
    (input) => made.find(({ key }) => key === callKey(next.fn.name, input)) ?? [],
  );
  const more = goFurther(outcome, [...answered, ...results], sources, made, depth + 1);
  return { calls: more?.calls ?? [], answered: [...(more?.answered ?? []), ...results] };
}

function fitOf(fn: KnownFunction, untold: readonly Word[], asked: readonly Word[]): number {
  const says = (words: readonly Word[]) =>
    words.filter(({ concept }) => !takes(fn, concept) && (fn.objects.has(concept) || fn.described.has(concept))).length;
  return says(untold) * 2 + (says(asked) > 0 && asked.some(({ concept }) => fn.objects.has(concept)) ? 1 : 0);
}

const takes = (fn: KnownFunction, concept: string) =>
  fn.inputs.has(concept) || fn.parameters.some(({ concepts }) => concepts.includes(concept) && concepts.length === 1);

/** True for a word that only says what a value of the query is ("zip 19122"). */
function isLabel(concept: string, choice: Choice, sources: Sources): boolean {
  return (
    [...choice.filling.filled].some(({ concepts }) => concepts.includes(concept)) ||
    sources.clause.units.some((unit) => unit.own.has(concept))
  );
}

/** Concepts of all member names within a value. */
export function memberConcepts(data: MadeCall["data"], depth = 0): string[] {
  if (typeof data !== "object" || data === null || depth > 5) return [];
  if (Array.isArray(data)) return data.slice(0, 5).flatMap((item) => memberConcepts(item, depth + 1));
  return Object.entries(data)
    .slice(0, 100)
    .flatMap(([name, member]) => [
      ...nameWords(name).map((word) => conceptOf(stem(word))),
      ...memberConcepts(member, depth + 1),
    ]);
}

function wasMade(made: readonly MadeCall[], fn: KnownFunction, input: JsonObject): boolean {
  const key = callKey(fn.name, input);
  return made.some((call) => call.key === key);
}
