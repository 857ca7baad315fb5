import { type Choice, rankFunctions } from "./match.ts";
import type { JsonObject } from "@patchbay/protocol";
import type { Clause } from "./clauses.ts";
import { callKey, type MadeCall } from "./conversation.ts";
import { fill, type Filling, type Sources } from "./fill.ts";
import type { Parameter } from "./parameters.ts";
import { contentWords } from "./reading.ts";
import { conceptOf, isDoing, isLooking, nameConcepts, stem, type Word } from "./words.ts";
import type { KnownFunction } from "./function-set.ts";
import { isReference } from "./evidence.ts";

export interface PlannedCall {
  fn: KnownFunction;
  arguments: JsonObject;
  /** The function that this call prepares, if it is an intermediate step. */
  towards?: KnownFunction;
}

/** The result for one part of the query. */
export interface Outcome {
  clause: Clause;
  /** Words of the clause that say what is wanted. */
  wanted: Word[];
  choice?: Choice;
  calls: PlannedCall[];
  /** Calls that were made and answer the clause, the most informative first. */
  answered: MadeCall[];
  missing: Parameter[];
  /** Other functions with the same rank, if none could be called. */
  alternatives: Choice[];
}

const MAX_CALLS = 40;

/** Decides the next step for one clause, given the calls so far. Stateless: the same messages lead to the same decision. */
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

/** "My address": without a better match, any lookup that needs only the context. */
function aboutTheAsker({ mood, text, verb }: Clause, sources: Sources): Choice[] {
  if (!/\b(?:my|mine|me|i)\b/iu.test(text) || mood === "conditional" || (verb && !isLooking(verb.concept))) return [];
  if (contentWords(sources.clause).length === 0) return [];
  return sources.set.functions
    .filter((fn) => fn.readOnly && fn.parameters.some(({ required }) => required))
    .map((fn) => ({ fn, filling: fill(fn, sources, { useResults: false }), score: 0, because: ["my"] }))
    .filter(({ filling }) => filling.missing.length === 0 && filling.fromContext);
}

/** The best function, and further ones for values that the clause lists in addition ("order 1 and user 2"). */
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

/** Prefers a function that can be called over a slightly better match that cannot. */
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
  const tried = ({ fn, filling }: Source) => openCalls(made, fn, filling.variants).length === 0;
  for (const parameter of made.length < MAX_CALLS ? filling.missing : []) {
    const source = findSource(fn, parameter, sources, tried);
    const calls = source ? openCalls(made, source.fn, source.filling.variants) : [];
    if (calls.length > 0) return { ...outcome, calls: calls.map((call) => ({ ...call, towards: fn })) };
  }
  return {
    ...outcome,
    missing: filling.missing,
    answered: made.filter((call) => call.result.isError || isLookup(call, outcome, sources)),
  };
}

/** Intermediate results are useful even if the goal was not reached. */
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
  const calls = openCalls(made, fn, variants);
  if (calls.length > 0 && made.length < MAX_CALLS) return { ...outcome, calls };
  const answered = madeOf(made, fn, variants);
  const further = fn.readOnly && made.length < MAX_CALLS ? goFurther(outcome, answered, sources, made) : undefined;
  if (!further) return { ...outcome, answered };
  const shown = answered.filter(({ data }) => typeof data === "object" || further.answered.length === 0);
  return { ...outcome, calls: further.calls, answered: [...further.answered, ...shown] };
}

/** If the results do not answer the question, a function that takes a value of them may. */
function goFurther(
  outcome: Outcome,
  answered: readonly MadeCall[],
  sources: Sources,
  made: readonly MadeCall[],
  depth = 0,
): Pick<Outcome, "calls" | "answered"> | undefined {
  const covered = new Set(answered.flatMap(({ name, data }) => [...nameConcepts(name), ...memberConcepts(data)]));
  const asked = outcome.wanted.filter(({ concept }) => !isLooking(concept) && !isDoing(concept));
  const known = { ...sources, results: answered.flatMap((call) => sources.factsFrom(call)) };
  const missing = asked.filter(({ concept }) => !covered.has(concept));
  const succeeded = answered.filter(({ data }) => data !== undefined);
  if (missing.length === 0 || succeeded.length === 0 || depth > 2) return undefined;
  const bare = succeeded.every(({ data }) => typeof data === "string");
  const done = new Set(answered.map(({ name }) => name));
  const next = sources.set.functions
    .filter((fn) => fn.readOnly && !done.has(fn.name))
    .map((fn) => ({
      fn,
      filling: fill(fn, known, { useResults: true }),
      fit: fitOf(fn, missing, asked) + (bare ? 0.5 : 0),
    }))
    .filter(({ filling, fit }) => filling.missing.length === 0 && filling.chained && fit > 0)
    .toSorted((a, b) => b.fit - a.fit)[0];
  if (!next) return undefined;
  const calls = openCalls(made, next.fn, next.filling.variants);
  if (calls.length > 0) return { calls, answered: [] };
  const results = madeOf(made, next.fn, next.filling.variants);
  const more = goFurther(outcome, [...answered, ...results], sources, made, depth + 1);
  return { calls: more?.calls ?? [], answered: [...(more?.answered ?? []), ...results] };
}

function fitOf(fn: KnownFunction, missing: readonly Word[], asked: readonly Word[]): number {
  const says = (words: readonly Word[]) =>
    words.filter(({ concept }) => !takes(fn, concept) && (fn.objects.has(concept) || fn.described.has(concept))).length;
  return says(missing) * 2 + (says(asked) > 0 && asked.some(({ concept }) => fn.objects.has(concept)) ? 1 : 0);
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
function memberConcepts(data: MadeCall["data"], depth = 0): string[] {
  if (typeof data !== "object" || data === null || depth > 5) return [];
  if (Array.isArray(data)) return data.slice(0, 5).flatMap((item) => memberConcepts(item, depth + 1));
  return Object.entries(data)
    .slice(0, 100)
    .flatMap(([name, member]) => [...nameConcepts(name), ...memberConcepts(member, depth + 1)]);
}

/** The calls of a function with these arguments that were made. */
function madeOf(made: readonly MadeCall[], { name }: KnownFunction, variants: readonly JsonObject[]): MadeCall[] {
  return variants.flatMap((input) => made.find(({ key }) => key === callKey(name, input)) ?? []);
}

/** Those that were not made yet. */
function openCalls(made: readonly MadeCall[], fn: KnownFunction, variants: readonly JsonObject[]): PlannedCall[] {
  const open = variants.filter((input) => madeOf(made, fn, [input]).length === 0);
  return open.map((input) => ({ fn, arguments: input }));
}

/** A function whose result may contain a value that another one needs, with its arguments. */
interface Source {
  fn: KnownFunction;
  filling: Filling;
}

const ID = conceptOf(stem("id"));
const MAX_LINKS = 4;

/**
 * The calls to make first so that `parameter` of `fn` becomes known: the best function that yields it and can be called
 * now, or the calls that this function needs first. Undefined if every way was tried.
 */
function findSource(
  fn: KnownFunction,
  parameter: Parameter,
  sources: Sources,
  tried: (source: Source) => boolean,
  path: readonly KnownFunction[] = [fn],
): Source | undefined {
  if (
    path.length > MAX_LINKS ||
    ["name", "first_name", "last_name", "expression", "text", "search"].includes(parameter.kind)
  )
    return undefined;
  const about = parameter.entity.length > 0 ? parameter.entity : [...fn.objects];
  const links = sources.set.functions
    .filter((other) => other.readOnly && !path.includes(other) && other.parameters.every((own) => own.kind !== "text"))
    .map((other) => ({
      other,
      yields: rateYield(other, about, parameter),
      filling: fill(other, sources, { useResults: true }),
    }))
    .filter(({ yields, filling }) => !filling.wholeText && (yields > 0 || tellsSomething(filling)))
    .toSorted((a, b) => rank(b) - rank(a));
  for (const { other, filling } of links) {
    const ready = { fn: other, filling };
    if (filling.missing.length === 0) {
      if (!tried(ready)) return ready;
      continue;
    }
    const [first, ...more] = filling.missing;
    if (!first || more.length > 0) continue;
    const before = findSource(other, first, sources, tried, [...path, other]);
    if (before) return before;
  }
  return undefined;
}

const rank = ({ yields, filling }: { yields: number; filling: Filling }) =>
  yields + (filling.missing.length === 0 ? 1.5 : 0) + Math.min(filling.strong, 2) - filling.missing.length;

/** True if the query or a result supports the call, so that it is not a guess. */
const tellsSomething = (filling: Filling) => filling.missing.length === 0 && (filling.strong > 0 || filling.chained);

/** How clearly a function's words say that it yields what a parameter is about. */
function rateYield(other: KnownFunction, about: readonly string[], parameter: Parameter): number {
  if (about.length === 0) return 0;
  const named = about.filter((concept) => other.objects.has(concept)).length / about.length;
  const says = about.filter((concept) => other.described.has(concept)).length / about.length;
  const needsItself = other.parameters.some((own) => own.required && own.entity.join() === parameter.entity.join());
  if (needsItself) return 0;
  if (!isReference(parameter) && named < 1 && says < 1) return 0;
  return named * (other.objects.has(ID) ? 3 : 2) + says;
}
