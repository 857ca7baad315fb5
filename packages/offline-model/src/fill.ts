import type { JsonObject, JsonValue } from "@patchbay/kit";
import { chooseFacts, convert, type Fact, isReference, weigh } from "./facts.ts";
import type { FunctionSet, KnownFunction } from "./function-set.ts";
import type { Parameter } from "./parameters.ts";
import { findBoolean, findPhrase, membersNamed } from "./phrases.ts";
import type { Reading, Unit, Value } from "./reading.ts";
import { accepts } from "./schema.ts";

/** Where arguments come from, nearest first. */
export interface Sources {
  set: FunctionSet;
  query: Reading;
  context: readonly Fact[];
  /** Arguments in earlier calls of the thread, newest first. */
  earlier: readonly Fact[];
  results: readonly Fact[];
  /** Concepts in the query. */
  asked: ReadonlySet<string>;
  /** True for a query such as "cancel it". */
  pointsBack: boolean;
}

type Source = "query" | "whole text" | "memory" | "context" | "result";

/** Arguments for one function. */
export interface Filling {
  /** More than one if the query or a result lists several values for one parameter. */
  variants: JsonObject[];
  missing: Parameter[];
  used: ReadonlySet<Unit>;
  /** Parameters that the query filled, and how many by more than their type. */
  filled: readonly Parameter[];
  strong: number;
  from: ReadonlySet<Source>;
}

const MAX_VARIANTS = 8;
const STRONG = 2;

/** Fills arguments by the input schema. Uses results only for lookups, so that data never chooses what changes. */
export function fill(fn: KnownFunction, sources: Sources, { useResults }: { useResults: boolean }): Filling {
  const { query, context, results, earlier, pointsBack } = sources;
  const filler = new Filler(fn, sources);
  filler.fillFromQuery();
  filler.fillFromFacts(context, "context");
  if (useResults) filler.fillFromFacts(results, "result");
  // A lookup with values in its query does not continue the thread.
  if (pointsBack || !fn.readOnly || query.units.length === 0) filler.fillFromFacts(earlier, "memory");
  return filler.settle();
}

/** Fills the parameters of one function. The first source for a parameter decides. */
class Filler {
  readonly #fn: KnownFunction;
  readonly #sources: Sources;
  readonly #values = new Map<Parameter, JsonValue[]>();
  readonly #from = new Map<Parameter, Source>();
  readonly #used = new Set<Unit>();
  readonly #strong = new Set<Parameter>();

  constructor(fn: KnownFunction, sources: Sources) {
    this.#fn = fn;
    this.#sources = sources;
  }

  #open(): Parameter[] {
    return this.#fn.parameters.filter((parameter) => !this.#values.has(parameter));
  }

  /** Puts one value for each variant of the call, or one list for a parameter that takes many. */
  #put(parameter: Parameter, values: readonly (JsonValue | undefined)[], from: Source, isStrong = false): boolean {
    const known = [...new Set(values)].filter((value) => value !== undefined);
    const given = parameter.many && known.length > 0 ? [known] : known;
    const fitting = given.filter((value) => accepts(parameter.schema, value, parameter.root));
    if (fitting.length === 0) return false;
    this.#values.set(parameter, fitting);
    this.#from.set(parameter, from);
    if (isStrong) this.#strong.add(parameter);
    return true;
  }

  fillFromQuery(): void {
    const { query } = this.#sources;
    for (const parameter of this.#open()) {
      if (parameter.kind === "expression") this.#put(parameter, [query.expression], "query", true);
      if (parameter.kind === "boolean") this.#put(parameter, [findBoolean(parameter, query)], "query", true);
      if (parameter.kind !== "enum") continue;
      const members = membersNamed(parameter, query, this.#fn);
      this.#put(parameter, parameter.many ? members : members.slice(0, 1), "query", parameter.required);
    }
    this.#fillFromUnits();
    for (const parameter of this.#open())
      this.#put(parameter, [findPhrase(parameter, query.text, this.#fn.readOnly)], "query");
    const [only, ...more] = this.#fn.parameters.filter(({ required }) => required);
    if (only && more.length === 0 && !this.#values.has(only) && /^(?:text|search)$/u.test(only.kind))
      this.#put(only, [query.text.trim().slice(0, 8000)], "whole text");
  }

  /** Fills by the best pair of parameter and list first, then the next best. */
  #fillFromUnits(): void {
    const offers = this.#open().flatMap((parameter) =>
      this.#sources.query.units
        .map((unit) => ({ parameter, unit, score: weigh(parameter, unit, this.#fn.objects) }))
        .filter(({ score }) => score >= (parameter.required ? 1 : STRONG)),
    );
    const used = new Set<Value>();
    for (const { parameter, unit, score } of offers.toSorted((a, b) => b.score - a.score)) {
      const isPart = parameter.kind === "first_name" || parameter.kind === "last_name";
      const free = unit.values.filter((value) => isPart || !used.has(value));
      const takes = this.#sharesList(parameter, free) ? free.slice(0, 1) : free;
      const converted = takes.map((value) => convert(parameter, value));
      if (this.#values.has(parameter) || !this.#put(parameter, converted, "query", score >= STRONG)) continue;
      this.#used.add(unit);
      for (const value of takes) used.add(value);
    }
  }

  /** "add 2 and 3": a list fills as many parameters of one kind as it has values. Those for records never share a list. */
  #sharesList({ kind, many }: Parameter, { length }: readonly Value[]): boolean {
    const alike = this.#open().filter((other) => other.required && other.kind === kind && !other.many);
    return !many && length > 1 && alike.length === length && !alike.some(isReference);
  }

  fillFromFacts(facts: readonly Fact[], from: "memory" | "context" | "result"): void {
    for (const parameter of this.#open().filter(({ required }) => required)) {
      const values = chooseFacts(parameter, facts, this.#fn, this.#sources.asked);
      this.#put(parameter, parameter.many || from === "result" ? values : values.slice(0, 1), from);
    }
  }

  settle(): Filling {
    const { parameters, schema } = this.#fn;
    for (const parameter of this.#open())
      if (parameter.required) this.#put(parameter, [parameter.schema.default], "memory");
    const open = this.#open().filter(({ required }) => required);
    const valuesOf = (parameter: Parameter) => this.#values.get(parameter) ?? [];
    const lead = parameters.find((parameter) => valuesOf(parameter).length > 1);
    const count = Math.min(lead ? valuesOf(lead).length : 1, MAX_VARIANTS);
    const variants = Array.from({ length: count }, (_, at): JsonObject => {
      const given = parameters.map((parameter) => [parameter.name, valuesOf(parameter)[parameter === lead ? at : 0]]);
      return Object.fromEntries(given.filter(([, value]) => value !== undefined)) as JsonObject;
    }).filter((variant) => open.length === 0 && accepts(schema, variant, schema));
    return {
      variants,
      missing: open.length > 0 || variants.length > 0 ? open : parameters.filter(({ required }) => required),
      used: this.#used,
      filled: parameters.filter((parameter) => /query|text/u.test(this.#from.get(parameter) ?? "")),
      strong: this.#strong.size,
      from: new Set(this.#from.values()),
    };
  }
}
