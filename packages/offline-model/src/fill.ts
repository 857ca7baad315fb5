import type { JsonObject, JsonValue } from "@patchbay/protocol";
import type { MadeCall } from "./conversation.ts";
import { buildArguments, type Parameter } from "./parameters.ts";
import { convert, type Evidence, isReference, namedWords, weigh } from "./evidence.ts";
import { chooseFacts, type Fact } from "./facts.ts";
import type { FunctionSet, KnownFunction } from "./function-set.ts";

import { findBoolean, findPhrase, findPlace, findSeries, membersNamed } from "./phrases.ts";
import type { Reading, Unit, Value } from "./reading.ts";
import { accepts } from "./schema.ts";

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
  /** The facts of one call's result. */
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

const MAX_VARIANTS = 8;

interface Slot {
  values: JsonValue[];
  from: "query" | "memory" | "context" | "result";
  strong: boolean;
  units: Unit[];
}

type Strictness = "query" | "memory";

/** Fills a function's arguments by its schema. Results of this run are looked at only where `useResults` says so. */
export function fill(fn: KnownFunction, sources: Sources, { useResults }: { useResults: boolean }): Filling {
  const filler = new Filler(fn, sources);
  filler.fillFromText(sources.clause, "query");
  if (sources.query !== sources.clause) filler.fillFromText(sources.query, "memory");
  const wholeText = filler.takeWholeText(sources.clause);
  const memory = () => {
    for (const reading of sources.history) filler.fillFromText(reading, "memory");
    filler.fillFromFacts(sources.earlier, "memory");
  };
  if (sources.pointsBack) memory();
  filler.fillFromFacts(sources.context, "context");
  if (useResults) filler.fillFromFacts(sources.results, "result");
  // A question with ids of its own is not about what was talked of before.
  if (!sources.pointsBack && (!fn.readOnly || sources.query.units.length === 0)) memory();
  filler.takeDefaults();
  return { ...filler.settle(), wholeText };
}

interface Offer {
  parameter: Parameter;
  unit: Unit;
  /** Those of the unit's values that it is about. */
  values: readonly Value[];
  evidence: Evidence;
}

/** Fills the parameters of one function. A parameter that has a value keeps it. */
class Filler {
  readonly #fn: KnownFunction;
  readonly #sources: Sources;
  readonly #slots = new Map<Parameter, Slot>();

  constructor(fn: KnownFunction, sources: Sources) {
    this.#fn = fn;
    this.#sources = sources;
  }

  #open(): Parameter[] {
    return this.#fn.parameters.filter((parameter) => !this.#slots.has(parameter));
  }

  #put(parameter: Parameter, value: JsonValue | undefined, strong: boolean, from: Slot["from"] = "query"): void {
    if (value !== undefined && accepts(parameter.schema, value, parameter.root))
      this.#slots.set(parameter, { values: [value], from, strong, units: [] });
  }

  fillFromText(reading: Reading, strictness: Strictness): void {
    if (strictness === "query") this.#fillFromWords(reading);
    else if (reading === this.#sources.query)
      for (const parameter of this.#open())
        if (parameter.kind === "enum" && parameter.required)
          this.#put(parameter, membersNamed(parameter, reading, this.#fn)[0], false);
    this.#fillFromUnits(reading, strictness);
    if (strictness === "query") this.#fillFromPhrases(reading);
  }

  #fillFromWords(reading: Reading): void {
    this.#fillSeries(reading);
    for (const parameter of this.#open()) {
      if (parameter.kind === "expression") this.#put(parameter, reading.expression, true);
      if (parameter.kind === "boolean") this.#put(parameter, findBoolean(parameter, reading), true);
      if (parameter.kind !== "enum") continue;
      const members = membersNamed(parameter, reading, this.#fn);
      this.#put(parameter, parameter.many ? members : members[0], parameter.required);
    }
  }

  #fillFromPhrases(reading: Reading): void {
    const stops = new Set(this.#fn.parameters.flatMap((parameter) => parameter.concepts));
    for (const parameter of this.#open())
      this.#put(parameter, many(parameter, findPhrase(parameter, reading, stops)), false);
    for (const parameter of this.#open()) {
      const takesPlace = this.#fn.readOnly && parameter.required && ["word", "search"].includes(parameter.kind);
      if (takesPlace) this.#put(parameter, many(parameter, findPlace(reading)), false);
    }
  }

  #fillSeries(reading: Reading): void {
    const wanted = this.#fn.parameters.filter(
      ({ required, kind, many }) => required && !many && ["word", "zip", "name", "text"].includes(kind),
    );
    const pieces = findSeries(wanted, reading.text);
    for (const [at, parameter] of wanted.entries()) this.#put(parameter, pieces?.[at], false);
  }

  /** The best pair of parameter and value first, then the next best of what is left. */
  #fillFromUnits(reading: Reading, strictness: Strictness): void {
    const used = new Set<Value>();
    const offers = shareLists(this.#fn, this.#offers(reading, strictness));
    for (const offer of offers.toSorted((a, b) => b.evidence.score - a.evidence.score)) {
      const { parameter, values, evidence } = offer;
      const shared = parameter.kind === "first_name" || parameter.kind === "last_name";
      const slot = this.#slots.get(parameter);
      if (!shared && values.some((value) => used.has(value))) continue;
      if (slot === undefined) this.#place(offer, strictness);
      else if (
        this.#fn.readOnly &&
        !parameter.many &&
        strictness === "query" &&
        evidence.strong &&
        isAlike(slot, offer)
      )
        extend(slot, offer);
      else continue;
      for (const value of values) used.add(value);
    }
  }

  #offers(reading: Reading, strictness: Strictness): Offer[] {
    const fn = this.#fn;
    const names = new Set(fn.parameters.map(namedWords));
    return this.#open().flatMap((parameter) => {
      if (strictness === "memory" && !parameter.required) return [];
      const hasCounterpart = fn.parameters.some(
        (other) =>
          other.direction === "to" && other.many === parameter.many && other.entity.join() === parameter.entity.join(),
      );
      const near = { entities: this.#sources.set.entities, objects: fn.objects, hasCounterpart, names };
      return reading.units.flatMap((unit) => {
        const evidence = weigh(parameter, unit, near);
        const fits = evidence && evidence.score >= least(fn, parameter, evidence, strictness);
        return fits ? [{ parameter, unit, values: unit.values, evidence }] : [];
      });
    });
  }

  #place({ parameter, unit, evidence, values }: Offer, strictness: Strictness): void {
    const converted = convertAll(parameter, values);
    this.#store(parameter, converted, { from: strictness, strong: evidence.strong, units: [unit] });
  }

  /** One value for each variant of the call, or one list for a parameter that takes many. */
  #store(parameter: Parameter, values: JsonValue[], how: Omit<Slot, "values">): void {
    const given = parameter.many ? [values] : values;
    const fitting = given.filter((value) => accepts(parameter.schema, value, parameter.root));
    if (fitting.length > 0) this.#slots.set(parameter, { values: fitting, ...how });
  }

  fillFromFacts(facts: readonly Fact[], from: Slot["from"]): void {
    for (const parameter of this.#open()) {
      if (!parameter.required || facts.length === 0) continue;
      const values = chooseFacts(parameter, facts, this.#fn, this.#sources.asked);
      const given = parameter.many || from === "result" ? values : values.slice(0, 1);
      if (values.length > 0) this.#store(parameter, given, { from, strong: false, units: [] });
    }
  }

  /** Gives a function that asks for one free text and nothing else what the user wrote; true if it did. */
  takeWholeText(reading: Reading): boolean {
    const [only, ...more] = this.#fn.parameters.filter(({ required }) => required);
    if (only === undefined || more.length > 0 || this.#slots.has(only) || !["text", "search"].includes(only.kind))
      return false;
    const most = typeof only.one.maxLength === "number" ? only.one.maxLength : 8000;
    this.#put(only, many(only, reading.text.trim().slice(0, most)), false);
    return this.#slots.has(only);
  }

  takeDefaults(): void {
    for (const parameter of this.#open())
      if (parameter.required) this.#put(parameter, parameter.schema.default, false, "memory");
  }

  settle(): Omit<Filling, "wholeText"> {
    const { parameters } = this.#fn;
    const slots = [...this.#slots];
    const root = parameters[0]?.root ?? {};
    const missing = this.#open().filter(({ required }) => required);
    const lead = parameters.find((parameter) => (this.#slots.get(parameter)?.values.length ?? 0) > 1);
    const count = lead ? (this.#slots.get(lead)?.values.length ?? 1) : 1;
    const variants = Array.from({ length: Math.min(count, MAX_VARIANTS) }, (_, at) => this.#assemble(lead, at, root));
    const valid = missing.length > 0 ? [] : variants.filter((variant) => accepts(root, variant, root));
    const asked = slots.filter(([, slot]) => slot.from === "query");
    return {
      variants: valid,
      missing: missing.length > 0 || valid.length > 0 ? missing : parameters.filter(({ required }) => required),
      used: new Set(asked.flatMap(([, slot]) => slot.units)),
      filled: new Set(asked.map(([parameter]) => parameter)),
      strong: asked.filter(([, slot]) => slot.strong).length,
      chained: slots.some(([, slot]) => slot.from === "result"),
      fromContext: slots.some(([, slot]) => slot.from === "context"),
    };
  }

  /** The arguments of variant `at`, which differ in the values of `lead`. */
  #assemble(lead: Parameter | undefined, at: number, root: JsonObject): JsonObject {
    const values = this.#fn.parameters.flatMap((parameter): [Parameter, JsonValue][] => {
      const value = this.#slots.get(parameter)?.values[parameter === lead ? at : 0];
      return value === undefined ? [] : [[parameter, value]];
    });
    return buildArguments(values, this.#fn.parameters, root);
  }
}

function many(parameter: Parameter, text: string | undefined): JsonValue | undefined {
  return text !== undefined && parameter.many ? text.split(/\s*(?:,|\band\b)\s*/u).filter(Boolean) : text;
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

const convertAll = (parameter: Parameter, values: readonly Value[]): JsonValue[] =>
  values.map((value) => convert(parameter, value)).filter((value) => value !== undefined);

function extend(slot: Slot, { parameter, unit, values }: Offer): void {
  slot.values.push(...convertAll(parameter, values).filter((value) => !slot.values.includes(value)));
  slot.units.push(unit);
}
