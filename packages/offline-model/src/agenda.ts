import type { JsonObject, JsonValue } from "@patchbay/kit";
import type { ModelRequest } from "@patchbay/engine/ports/model-provider";
import { callKey, type Conversation, type MadeCall, readConversation } from "./conversation.ts";
import { factsIn } from "./facts.ts";
import { fill, type Filling, type Sources } from "./fill.ts";
import { type FunctionSet, type KnownFunction, readFunctions } from "./function-set.ts";
import { type Choice, rankFunctions } from "./match.ts";
import type { Parameter } from "./parameters.ts";
import { contentWords, type Mood, readMood, readText } from "./reading.ts";
import { conceptOfWord, isVerb, nameConcepts, type Word } from "./words.ts";

export interface PlannedCall {
  fn: KnownFunction;
  arguments: JsonObject;
}

/** The next step for a query: calls, or an answer. */
interface Decision {
  mood: Mood;
  /** Words that say what is wanted. */
  wanted: Word[];
  choice?: Choice;
  calls: PlannedCall[];
  /** Calls that answer the query, the most informative first. */
  answered: MadeCall[];
  missing: Parameter[];
}

/** Everything that one turn depends on. */
export interface Situation extends Decision {
  conversation: Conversation;
  set: FunctionSet;
}

const POINTS_BACK =
  /\b(?:it|its|that|those|these|this|them|they|their|his|her|him|the same|again)\b|^(?:and|also|what about|how about|then)\b/iu;

/** Reads a request and decides the next step. */
export function readSituation(request: Pick<ModelRequest, "functions" | "messages">): Situation {
  const set = readFunctions(request.functions);
  const conversation = readConversation(request.messages);
  const situation = decideOn(conversation, set);
  const [earlier] = conversation.earlierQueries;
  const asks = situation.choice && situation.mood.kind !== "statement";
  if (earlier === undefined || !conversation.wasAsked || asks) return situation;
  // A statement after an answer that called nothing supplies what that answer asked for.
  const query = `${earlier.replace(/[\s.!?]+$/u, "")}. ${conversation.query}`;
  const supplied = decideOn({ ...conversation, query }, set);
  return supplied.choice ? supplied : situation;
}

function decideOn(conversation: Conversation, set: FunctionSet): Situation {
  const { query: text, earlierQueries, made } = conversation;
  const query = readText(text, set);
  const pointsBack = earlierQueries.length > 0 && POINTS_BACK.test(text);
  const hints = pointsBack ? earlierQueries.flatMap((earlier) => contentWords(readText(earlier, set))) : [];
  const sources = {
    set,
    query,
    context: conversation.context.flatMap((data) => factsIn(data, [])),
    earlier: conversation.earlierArguments.flatMap((data) => factsIn(data, [])),
    results: made.flatMap((call) => factsOf(call, { set })),
    asked: new Set(query.words.map((word) => word.concept)),
    pointsBack,
  };
  return { conversation, set, ...decide(readMood(text, set), sources, made, hints) };
}

const MAX_CALLS = 40;
const MAX_LINKS = 4;
const ID = conceptOfWord("id");

/** The next step for a query. Stateless: the same messages lead to the same decision. */
function decide(mood: Mood, sources: Sources, made: readonly MadeCall[], hints: readonly Word[]): Decision {
  const ranked = rankFunctions(mood, sources, hints);
  const isWithinReach = ({ fn, filling }: Choice) =>
    !fn.readOnly || filling.missing.every((parameter) => prepare(fn, parameter, sources, []).length > 0);
  const choice = ranked.find((candidate) => made.length > 0 || isWithinReach(candidate)) ?? ranked[0];
  const words = contentWords(sources.query);
  if (!choice) return { mood, wanted: words, calls: [], answered: [], missing: [] };
  const labels = new Set(choice.filling.filled.flatMap(({ concepts }) => concepts));
  const wanted = words.filter(({ concept }) => !labels.has(concept) || choice.fn.objects.has(concept));
  return { mood, wanted, choice, ...pursue(choice.fn, wanted, sources, made) };
}

const lookups = ({ set }: Sources): KnownFunction[] => set.functions.filter(({ readOnly }) => readOnly);

/** Calls the function, or first a lookup that yields what it needs, or asks for it. */
function pursue(fn: KnownFunction, wanted: readonly Word[], sources: Sources, made: readonly MadeCall[]) {
  const { missing, variants } = fill(fn, sources, { useResults: fn.readOnly });
  const nothing = { calls: [], answered: [], missing };
  const isExhausted = made.length >= MAX_CALLS;
  if (missing.length === 0) {
    const calls = openCalls(made, fn, variants);
    if (calls.length > 0) return { ...nothing, calls: isExhausted ? [] : calls };
    const answered = madeOf(made, fn, variants);
    const next = fn.readOnly ? nextLookup(answered, wanted, sources) : undefined;
    const further = next ? openCalls(made, next.fn, next.filling.variants) : [];
    if (further.length > 0 && !isExhausted) return { ...nothing, calls: further };
    const results = next ? madeOf(made, next.fn, next.filling.variants) : [];
    const shown = answered.filter(({ data }) => typeof data === "object" || results.length === 0);
    return { ...nothing, answered: [...results, ...shown] };
  }
  if (!fn.readOnly) return nothing;
  for (const parameter of isExhausted ? [] : missing) {
    const calls = prepare(fn, parameter, sources, made);
    if (calls.length > 0) return { ...nothing, missing: [], calls };
  }
  // Intermediate results are useful even without the goal.
  return { ...nothing, answered: [...made] };
}

/** If the results do not contain what was asked for, a lookup whose words do, and that takes a value in them. */
function nextLookup(answered: readonly MadeCall[], wanted: readonly Word[], sources: Sources) {
  const covered = new Set(answered.flatMap(({ name, data }) => [...nameConcepts(name), ...memberConcepts(data)]));
  const missing = wanted.map(({ concept }) => concept).filter((concept) => !isVerb(concept) && !covered.has(concept));
  const known = { ...sources, results: answered.flatMap((call) => factsOf(call, sources)) };
  const fitOf = ({ objects, described, inputs }: KnownFunction) =>
    wanted.filter(({ concept }) => objects.has(concept) && !inputs.has(concept)).length +
    missing.filter((concept) => described.has(concept) && !inputs.has(concept)).length;
  // After a bare id, any lookup may say more.
  const least = answered.every(({ data }) => typeof data === "string") ? 0 : 1;
  return (missing.length > 0 ? lookups(sources) : [])
    .filter((fn) => fitOf(fn) >= least && !answered.some(({ name }) => name === fn.name))
    .map((fn) => ({ fn, filling: fill(fn, known, { useResults: true }) }))
    .filter(({ filling }) => filling.missing.length === 0 && filling.from.has("result"))
    .toSorted((a, b) => fitOf(b.fn) - fitOf(a.fn))[0];
}

/** Concepts in all member names within a result. */
const memberConcepts = (data: JsonValue = null): string[] =>
  [...JSON.stringify(data).matchAll(/"([^"]{1,60})":/gu)].flatMap(([, name = ""]) => nameConcepts(name));

/** The facts in a call's result. Without other names they are about the function's objects: `find_user_id_by_email` finds a user. */
function factsOf({ name, data }: MadeCall, { set }: Pick<Sources, "set">) {
  const fn = set.functions.find((known) => known.name === name);
  return data === undefined
    ? []
    : factsIn(
        data,
        [...(fn?.objects ?? [])].filter((concept) => concept !== ID),
      );
}

/** The calls of a function with these arguments that were made. */
const madeOf = (made: readonly MadeCall[], { name }: KnownFunction, variants: readonly JsonObject[]): MadeCall[] =>
  variants.flatMap((input) => made.find(({ key }) => key === callKey(name, input)) ?? []);

/** Those that were not made yet. */
const openCalls = (made: readonly MadeCall[], fn: KnownFunction, variants: readonly JsonObject[]): PlannedCall[] =>
  variants.filter((input) => madeOf(made, fn, [input]).length === 0).map((input) => ({ fn, arguments: input }));

/**
 * The calls to make first, so that a result contains a value for `parameter`: those of the best lookup that yields it and
 * can be called now, or those that this lookup needs first. Empty if every way was tried.
 */
function prepare(
  fn: KnownFunction,
  parameter: Parameter,
  sources: Sources,
  made: readonly MadeCall[],
  path: readonly KnownFunction[] = [fn],
): PlannedCall[] {
  if (path.length > MAX_LINKS || /name|expression|text|search/u.test(parameter.kind)) return [];
  const links = lookups(sources)
    .filter((other) => !path.includes(other) && other.parameters.every(({ kind }) => kind !== "text"))
    .map((other) => {
      const filling = fill(other, sources, { useResults: true });
      return { other, filling, rank: rankLink(filling, rateYield(other, parameter, fn)) };
    })
    .filter(({ rank }) => rank !== undefined)
    .toSorted((a, b) => (b.rank ?? 0) - (a.rank ?? 0));
  for (const { other, filling } of links) {
    const [first, ...more] = filling.missing;
    const isNext = first !== undefined && more.length === 0;
    const calls = isNext
      ? prepare(other, first, sources, made, [...path, other])
      : openCalls(made, other, filling.variants);
    if (calls.length > 0) return calls;
  }
  return [];
}

/** Undefined for a guess: a call that neither yields the parameter nor is supported by the query or a result. */
function rankLink({ missing, strong, from }: Filling, yields: number): number | undefined {
  const isSupported = missing.length === 0 && (strong > 0 || from.has("result"));
  return from.has("whole text") || (yields === 0 && !isSupported) ? undefined : yields + strong - missing.length;
}

/** How clearly a function's words say that it yields a parameter of `fn`. */
function rateYield(other: KnownFunction, parameter: Parameter, fn: KnownFunction): number {
  const about = parameter.entity.length > 0 ? parameter.entity : [...fn.objects];
  const needsItself = other.parameters.some((own) => own.required && own.entity.join() === parameter.entity.join());
  const share = (words: ReadonlySet<string>) => about.filter((concept) => words.has(concept)).length / about.length;
  return about.length === 0 || needsItself ? 0 : 2 * share(other.objects) + share(other.described);
}
