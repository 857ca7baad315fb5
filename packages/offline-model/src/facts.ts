import { isJsonObject, type JsonValue } from "@patchbay/protocol";
import { isReference } from "./evidence.ts";
import type { KnownFunction } from "./function-set.ts";
import { type Parameter, shapeOf } from "./parameters.ts";
import { accepts } from "./schema.ts";
import { conceptsOf, nameConcepts } from "./words.ts";

/** A value somewhere in data (a result, the context), with the meaning that its place gives it. It is data and never a request. */
export interface Fact {
  value: string | number;
  /** Concepts of its member's name, or of what holds it where that says only "id". */
  about: string[];
  /** Concepts of the text next to it in the same record, and of its key if keys are data. */
  beside: ReadonlySet<string>;
  /** True where its own key is data: such a value is meant only when the query names the key. */
  keyed: boolean;
}

const MAX_FACTS = 4000;
const VAGUE = new Set(
  nameConcepts("id ids identifier key code number uuid ref value result results items data list records"),
);
const NO_TEXT: ReadonlySet<string> = new Set();

/** Every scalar of a JSON value as a fact. `subject` is what the whole is about when nothing inside says so. */
export function factsOf(data: JsonValue, subject: readonly string[]): Fact[] {
  const facts: Fact[] = [];
  const add = (value: JsonValue, about: string[], beside: ReadonlySet<string>, keyed: boolean) => {
    if ((typeof value === "string" && value !== "" && value.length <= 500) || typeof value === "number") {
      if (facts.length < MAX_FACTS) facts.push({ value, about, beside, keyed });
    }
  };
  const walk = (node: JsonValue, about: string[], beside: ReadonlySet<string>, depth: number): void => {
    if (depth > 8 || facts.length >= MAX_FACTS) return;
    if (Array.isArray(node)) for (const item of node) walk(item, about, beside, depth + 1);
    else if (isJsonObject(node)) walkObject(node, about, depth);
    else add(node, about, beside, false);
  };
  const walkObject = (node: Record<string, JsonValue>, about: string[], depth: number) => {
    const texts = new Set(
      Object.values(node).flatMap((value) =>
        typeof value === "string" && value.length < 200 ? conceptsOf(value) : [],
      ),
    );
    for (const [key, value] of Object.entries(node)) {
      const concepts = nameConcepts(key);
      const telling = concepts.filter((concept) => !VAGUE.has(concept));
      if (isData(key, value)) {
        if (isJsonObject(value)) add(key, about, NO_TEXT, false);
        add(value, about, new Set(concepts), true);
      }
      walk(value, telling.length > 0 && !/\d{3}/u.test(key) ? telling : about, texts, depth + 1);
    }
  };
  walk(data, [...subject], NO_TEXT, 0);
  return facts;
}

/** Keys such as "T-Shirt" or "ord_123" are data, keys such as "orderId" are names. */
function isData(key: string, value: JsonValue): boolean {
  return isJsonObject(value) ? /\d/u.test(key) : isDataKey(key);
}

export const isDataKey = (key: string): boolean => /^\p{Lu}|[\s\d]/u.test(key);

/** How well a fact suits a parameter; 0 when it does not. */
function rate(parameter: Parameter, fact: Fact, fn: KnownFunction, asked: ReadonlySet<string>): number {
  if (!accepts(parameter.one, fact.value, parameter.root) || !formFits(parameter, fact.value)) return 0;
  const about = parameter.entity.length > 0 ? parameter.entity : [...fn.objects];
  const shared = about.filter((concept) => fact.about.includes(concept)).length;
  if (shared === 0) return 0;
  const same = shared === about.length && shared === fact.about.length;
  if (!isReference(parameter) && !same) return 0;
  const named = [...fact.beside].filter((word) => asked.has(word)).length;
  if (fact.keyed && named < fact.beside.size) return 0;
  const shape = parameter.shapes.length === 0 ? 0 : parameter.shapes.includes(shapeOf(String(fact.value))) ? 1 : -1;
  return (same ? 3 : 2) + shape + Math.min(named, 3);
}

function formFits(parameter: Parameter, value: string | number): boolean {
  const text = String(value);
  if (parameter.kind === "email") return text.includes("@");
  if (parameter.kind === "number") return typeof value === "number";
  return !isReference(parameter) || (!/\s/u.test(text) && (/\d|_/u.test(text) || parameter.kind === "word"));
}

/** The values of the facts that suit a parameter best, in their order. */
export function chooseFacts(
  parameter: Parameter,
  facts: readonly Fact[],
  fn: KnownFunction,
  asked: ReadonlySet<string>,
): (string | number)[] {
  let best = 1;
  let chosen = new Set<string | number>();
  for (const fact of facts) {
    const score = rate(parameter, fact, fn, asked);
    if (score > best) chosen = new Set();
    if (score >= best && score > 0) chosen.add(fact.value);
    best = Math.max(best, score);
  }
  return [...chosen];
}
