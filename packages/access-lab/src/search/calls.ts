import { canonicalJson, isJsonObject, type JsonObject, type JsonValue } from "@patchbay/kit";
import { withValues } from "./dictionary.ts";
import { domainOf, union } from "./domain.ts";
import type { FunctionFacts, ServiceFacts } from "./facts.ts";
import { inTurns } from "../solve/in-turns.ts";
import type { Call } from "./judge.ts";
import { createRandom, type Random } from "./random.ts";
import { Values } from "./values.ts";

/** One function as one or two service versions define it. */
export interface Side {
  service: ServiceFacts;
  facts: FunctionFacts;
}

/**
 * Every call that the code behind the schemas can tell apart, in all versions. Undefined if there are more than
 * `limit`, or an unknown number.
 */
export function allCalls(sides: readonly Side[], limit: number): Call[] | undefined {
  if (!sides.every(({ facts }) => facts.isBounded)) return undefined;
  const inputs = union(
    sides.map(({ facts }) => domainOf(facts.input, limit)),
    limit,
  );
  const contexts = union(
    sides.map(({ service }) => (service.context ? domainOf(service.context, limit) : undefined)),
    limit,
  );
  if (inputs === undefined || contexts === undefined || inputs.length * contexts.length > limit) return undefined;
  return inputs.flatMap((input) => contexts.flatMap((context) => (isJsonObject(context) ? [{ input, context }] : [])));
}

/**
 * Endless calls: declared arguments with every declared context, then each of these with one place changed, then random
 * ones. The same for the same seed. Never repeats a call.
 */
export function* someCalls(sides: readonly Side[], seed: number): Iterable<Call> {
  const seen = new Set<string>();
  let repeated = 0;
  for (const call of candidates(sides, createRandom(seed))) {
    const text = canonicalJson([call.input, call.context]);
    if (seen.has(text)) {
      if (++repeated > REPEATS) return;
      continue;
    }
    repeated = 0;
    seen.add(text);
    yield call;
  }
}

/** This many repeated calls in a row end the search: a small domain without a known end has no new calls. */
const REPEATS = 2_000;

function* candidates(sides: readonly Side[], random: Random): Iterable<Call> {
  const inputs = distinct(sides.flatMap(({ facts }) => facts.inputs));
  const contexts = distinct(sides.flatMap(({ service }) => service.contexts));
  const makers = sides.map((side) => makersOf(side, { inputs, contexts, random }));
  const declared = distinct<Call>(
    sides.flatMap(({ facts }) => facts.cases.map(({ input, context }) => ({ input, context }))),
  );
  yield* declared;
  for (const input of inputs) for (const context of contexts) yield { input, context };
  for (const { facts } of sides) for (const call of facts.solved) yield* [call, { input: call.input, context: {} }];
  yield* inTurns(
    (declared.length > 0 ? declared : contexts.map((context) => ({ input: makers[0]!.input.sample(), context }))).map(
      (call) => around(call, makers),
    ),
  );
  for (;;) {
    const { input, context } = random.pick(makers)!;
    const base = random.pick(declared);
    const kind = random.below(3);
    if (kind === 0 && base) yield varied(base, { input, context }, random);
    else if (kind === 1 && base) yield { input: base.input, context: asContext(context.sample()) };
    else
      yield {
        input: input.sample(),
        context: random.below(2) === 0 ? asContext(context.sample()) : (random.pick(contexts) ?? {}),
      };
  }
}

interface Makers {
  input: Values;
  context: Values;
}

function makersOf(
  { service, facts }: Side,
  { inputs, contexts, random }: { inputs: readonly JsonValue[]; contexts: readonly JsonObject[]; random: Random },
): Makers {
  const dictionary = withValues(facts.dictionary, [...inputs, ...contexts]);
  const members = [...dictionary.members, ...contexts.flatMap((context) => Object.keys(context))];
  const open = { type: "object", properties: Object.fromEntries(members.map((name) => [name, true])) };
  return {
    input: new Values(facts.input, { dictionary, random, named: service.named }),
    context: new Values(service.context ?? open, { dictionary, random, named: service.named }),
  };
}

/** A call with one place changed, in every way. */
function* around({ input, context }: Call, makers: readonly Makers[]): Iterable<Call> {
  for (const maker of makers) {
    for (const made of maker.input.variations(input)) yield { input: made, context };
    for (const made of maker.context.variations(context)) yield { input, context: asContext(made) };
  }
}

/** A call with two places changed. */
function varied({ input, context }: Call, makers: Makers, random: Random): Call {
  const pick = (values: Iterable<JsonValue>, value: JsonValue) => random.pick([...values]) ?? value;
  const once = pick(makers.input.variations(input), input);
  if (random.below(2) === 0) return { input: pick(makers.input.variations(once), once), context };
  return { input: once, context: asContext(pick(makers.context.variations(context), context)) };
}

const asContext = (value: JsonValue): JsonObject => (isJsonObject(value) ? value : {});

const distinct = <T>(values: readonly T[]): T[] => [
  ...new Map(values.map((value) => [canonicalJson(value), value])).values(),
];
