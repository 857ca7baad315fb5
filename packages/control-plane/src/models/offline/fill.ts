import type { JsonObject, JsonValue } from "@patchbay/protocol";
import type { MadeCall } from "./conversation.ts";
import { buildArguments } from "./arguments.ts";
import { convert, type Evidence, isReference, namedWords, weigh } from "./evidence.ts";
import { chooseFacts, type Fact } from "./facts.ts";
import type { FunctionSet, KnownFunction } from "./function-set.ts";
import type { Parameter } from "./parameters.ts";
import { findBoolean, findMember, findPhrase, findPlace, findSeries, membersNamed } from "./phrases.ts";
import type { Reading, Unit } from "./reading.ts";
import { accepts } from "./schema.ts";
import type { Value } from "./values.ts";

/** Where arguments may come from, nearest first. */
export interface Sources {
  set: FunctionSet;
  clause: Reading;
  query: Reading;
  /** Earlier queries of the thread, newest first. */
  history: readonly Reading[];
  context: readonly Fact[];
  /** Arguments of earlier calls of the thread. */
  earlier: readonly Fact[];
  results: readonly Fact[];
  /** The facts of one call's result alone. */
  factsFrom(call: MadeCall): readonly Fact[];
  /** Concepts of the whole query. */
  asked: ReadonlySet<string>;
  /** True when the query points back ("its", "that order"). */
  pointsBack: boolean;
}

/** Arguments for one function. More than one variant: the same call for several values of one parameter. */
export interface Filling {
  variants: JsonObject[];
  missing: Parameter[];
  used: ReadonlySet<Unit>;
  /** Parameters that the query itself filled, and how many of those by more than their bare type. */
  filled: ReadonlySet<Parameter>;
  strong: number;
  /** True when a value came from a result of this run, or from the context. */
  chained: boolean;
  fromContext: boolean;
  /** True when an argument is just all that the user wrote. */
  wholeText: boolean;
}

export const MAX_VARIANTS = 8;

interface Slot {
  values: JsonValue[];
  from: "query" | "memory" | "context" | "result";
  strong: boolean;
  units: Unit[];
}

type Slots = Map<Parameter, Slot>;
type Strictness = "query" | "memory";

/** Fills a function's arguments by its schema. Results of this run are looked at only where `useResults` says so. */
export function fill(fn: KnownFunction, sources: Sources, { useResults }: { useResults: boolean }): Filling {
  const slots: Slots = new Map();
  fillFromText(fn, sources.clause, sources, slots, "query");
  if (sources.query !== sources.clause) fillFromText(fn, sources.query, sources, slots, "memory");
  const found = slots.size;
  takeWholeText(fn, sources.clause, slots);
  const wholeText = slots.size > found;
  const memory = () => {
    for (const reading of sources.history) fillFromText(fn, reading, sources, slots, "memory");
    fillFromFacts(fn, sources.earlier, sources, slots, "memory");
  };
  if (sources.pointsBack) memory();
  fillFromFacts(fn, sources.context, sources, slots, "context");
  if (useResults) fillFromFacts(fn, sources.results, sources, slots, "result");
  // A question with ids of its own is not about what was talked of before.
  if (!sources.pointsBack && (!fn.readOnly || sources.query.units.length === 0)) memory();
  takeDefaults(fn, slots);
  return { ...settle(fn, slots), wholeText };
}

function open(fn: KnownFunction, slots: Slots): Parameter[] {
  return fn.parameters.filter((parameter) => !slots.has(parameter));
}

function put(
  slots: Slots,
  parameter: Parameter,
  value: JsonValue | undefined,
  strong: boolean,
  from: Slot["from"] = "query",
): void {
  if (value !== undefined && accepts(parameter.schema, value, parameter.root))
    slots.set(parameter, { values: [value], from, strong, units: [] });
}

function fillFromText(
  fn: KnownFunction,
  reading: Reading,
  sources: Sources,
  slots: Slots,
  strictness: Strictness,
): void {
  const own = strictness === "query";
  if (own) fillSeries(fn, reading, slots);
  for (const parameter of own ? open(fn, slots) : []) {
    if (parameter.kind === "expression") put(slots, parameter, reading.expression, true);
    if (parameter.kind === "boolean") put(slots, parameter, findBoolean(parameter, reading), true);
    if (parameter.kind === "enum")
      put(
        slots,
        parameter,
        parameter.many ? membersNamed(parameter, reading, fn) : findMember(parameter, reading, fn),
        parameter.required,
      );
  }
  for (const parameter of own ? [] : open(fn, slots)) {
    if (parameter.kind === "enum" && parameter.required && reading === sources.query)
      put(slots, parameter, findMember(parameter, reading, fn), false);
  }
  fillFromUnits(fn, reading, sources, slots, strictness);
  if (!own) return;
  const stops = new Set(fn.parameters.flatMap((parameter) => parameter.concepts));
  for (const parameter of open(fn, slots))
    put(slots, parameter, many(parameter, findPhrase(parameter, reading, stops)), false);
  for (const parameter of open(fn, slots)) {
    const place =
      fn.readOnly && parameter.required && (parameter.kind === "word" || parameter.kind === "search")
        ? findPlace(reading)
        : undefined;
    put(slots, parameter, many(parameter, place), false);
  }
}

function many(parameter: Parameter, text: string | undefined): JsonValue | undefined {
  return text !== undefined && parameter.many ? text.split(/\s*(?:,|\band\b)\s*/u).filter(Boolean) : text;
}

function fillSeries(fn: KnownFunction, reading: Reading, slots: Slots): void {
  const wanted = fn.parameters.filter(
    ({ required, kind, many }) => required && !many && ["word", "zip", "name", "text"].includes(kind),
  );
  const pieces = findSeries(wanted, reading.text);
  for (const [at, parameter] of wanted.entries()) put(slots, parameter, pieces?.[at], false);
}

interface Offer {
  parameter: Parameter;
  unit: Unit;
  /** Those of the unit's values that it is about. */
  values: readonly Value[];
  evidence: Evidence;
}

/** The best pair of parameter and value first, then the next best of what is left. */
function fillFromUnits(
  fn: KnownFunction,
  reading: Reading,
  sources: Sources,
  slots: Slots,
  strictness: Strictness,
): void {
  const offers: Offer[] = [];
  const names = new Set(fn.parameters.map(namedWords));
  for (const parameter of open(fn, slots)) {
    if (strictness === "memory" && !parameter.required) continue;
    const hasCounterpart = fn.parameters.some(
      (other) =>
        other.direction === "to" && other.many === parameter.many && other.entity.join() === parameter.entity.join(),
    );
    for (const unit of reading.units) {
      const near = { entities: sources.set.entities, objects: fn.objects, hasCounterpart, names };
      const evidence = weigh(parameter, unit, near);
      if (evidence && evidence.score >= least(fn, parameter, evidence, strictness))
        offers.push({ parameter, unit, values: unit.values, evidence });
    }
  }
  const used = new Set<Value>();
  const sorted = shareLists(fn, offers).toSorted((a, b) => b.evidence.score - a.evidence.score);
  for (const offer of sorted) {
    const { parameter, values, evidence } = offer;
    const shared = parameter.kind === "first_name" || parameter.kind === "last_name";
    const slot = slots.get(parameter);
    if (!shared && values.some((value) => used.has(value))) continue;
    if (slot === undefined) place(slots, offer, strictness);
    else if (fn.readOnly && !parameter.many && strictness === "query" && evidence.strong && isAlike(slot, offer))
      extend(slot, offer);
    else continue;
    for (const value of values) used.add(value);
  }
}

/**
 * "add 2 and 3": a list gives one value to each parameter, in order, where it has as many values as there are required
 * parameters that it suits best and equally well. Parameters that name records take their values only by name.
 */
function shareLists(fn: KnownFunction, offers: readonly Offer[]): Offer[] {
  return [...Map.groupBy(offers, ({ unit }) => unit)].flatMap(([unit, its]) => {
    const best = Math.max(...its.map(({ evidence }) => evidence.score));
    const takers = its.filter(({ parameter, evidence }) => evidence.score === best && parameter.required);
    const { length: count } = unit.values;
    const fits = count > 1 && takers.length === count;
    if (!fits || takers.some(({ parameter }) => parameter.many || isReference(parameter))) return its;
    const inOrder = takers.toSorted((a, b) => fn.parameters.indexOf(a.parameter) - fn.parameters.indexOf(b.parameter));
    return inOrder.map((offer, at) => ({ ...offer, values: unit.values.slice(at, at + 1) }));
  });
}

function least(fn: KnownFunction, parameter: Parameter, { strong }: Evidence, strictness: Strictness): number {
  if (strictness === "memory") return strong ? 2 : Number.POSITIVE_INFINITY;
  if (parameter.required) return 1;
  return fn.readOnly && parameter.kind === "word" ? 1.5 : 2;
}

function isAlike(slot: Slot, { values }: Offer): boolean {
  return slot.units[0]?.values[0]?.kind === values[0]?.kind;
}

function place(slots: Slots, { parameter, unit, evidence, ...offer }: Offer, strictness: Strictness): void {
  const values = offer.values.map((value) => convert(parameter, value)).filter((value) => value !== undefined);
  const given = parameter.many ? [values] : values;
  const fitting = given.filter((value) => accepts(parameter.schema, value, parameter.root));
  const from = strictness === "query" ? "query" : "memory";
  if (fitting.length > 0) slots.set(parameter, { values: fitting, from, strong: evidence.strong, units: [unit] });
}

function extend(slot: Slot, { parameter, unit, ...offer }: Offer): void {
  const values = offer.values.map((value) => convert(parameter, value)).filter((value) => value !== undefined);
  slot.values.push(...values.filter((value) => !slot.values.includes(value)));
  slot.units.push(unit);
}

function fillFromFacts(
  fn: KnownFunction,
  facts: readonly Fact[],
  sources: Sources,
  slots: Slots,
  from: Slot["from"],
): void {
  for (const parameter of open(fn, slots)) {
    if (!parameter.required || facts.length === 0) continue;
    const values = chooseFacts(parameter, facts, fn, sources.asked);
    const given = parameter.many ? [values] : from === "result" ? values : values.slice(0, 1);
    const fitting = given.filter((value) => accepts(parameter.schema, value, parameter.root));
    if (values.length > 0 && fitting.length > 0)
      slots.set(parameter, { values: fitting, from, strong: false, units: [] });
  }
}

/** A function that asks for one free text and nothing else is given what the user wrote. */
function takeWholeText(fn: KnownFunction, reading: Reading, slots: Slots): void {
  const needed = fn.parameters.filter(({ required }) => required);
  const [only] = needed;
  if (only === undefined || needed.length !== 1 || slots.has(only) || !["text", "search"].includes(only.kind)) return;
  const most = typeof only.one.maxLength === "number" ? only.one.maxLength : 8000;
  put(slots, only, many(only, reading.text.trim().slice(0, most)), false);
}

function takeDefaults(fn: KnownFunction, slots: Slots): void {
  for (const parameter of open(fn, slots))
    if (parameter.required) put(slots, parameter, parameter.schema.default, false, "memory");
}

function settle(fn: KnownFunction, slots: Slots): Omit<Filling, "wholeText"> {
  const root = fn.parameters[0]?.root ?? {};
  const missing = fn.parameters.filter((parameter) => parameter.required && !slots.has(parameter));
  const lead = fn.parameters.find((parameter) => (slots.get(parameter)?.values.length ?? 0) > 1);
  const count = lead ? (slots.get(lead)?.values.length ?? 1) : 1;
  const variants = Array.from({ length: Math.min(count, MAX_VARIANTS) }, (_, at) =>
    assemble(fn, slots, lead, at, root),
  );
  const valid = missing.length > 0 ? [] : variants.filter((variant) => accepts(root, variant, root));
  const asked = [...slots].filter(([, slot]) => slot.from === "query");
  return {
    variants: valid,
    missing: missing.length > 0 || valid.length > 0 ? missing : fn.parameters.filter(({ required }) => required),
    used: new Set(asked.flatMap(([, slot]) => slot.units)),
    filled: new Set(asked.map(([parameter]) => parameter)),
    strong: asked.filter(([, slot]) => slot.strong).length,
    chained: [...slots.values()].some((slot) => slot.from === "result"),
    fromContext: [...slots.values()].some((slot) => slot.from === "context"),
  };
}

function assemble(
  fn: KnownFunction,
  slots: Slots,
  lead: Parameter | undefined,
  at: number,
  root: JsonObject,
): JsonObject {
  const values = fn.parameters.flatMap((parameter): [Parameter, JsonValue][] => {
    const value = slots.get(parameter)?.values[parameter === lead ? at : 0];
    return value === undefined ? [] : [[parameter, value]];
  });
  return buildArguments(values, fn.parameters, root);
}
