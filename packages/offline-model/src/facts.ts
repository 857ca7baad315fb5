import { isJsonObject, type JsonObject, type JsonValue } from "@patchbay/kit";
import type { KnownFunction } from "./function-set.ts";
import { type Parameter, type ParameterKind, shapeOf } from "./parameters.ts";
import type { Unit, Value, ValueKind } from "./reading.ts";
import { accepts } from "./schema.ts";
import { conceptsOf, nameConcepts } from "./words.ts";

/** A value in a result or in the context, with the meaning that its place has. It is data and never a request. */
export interface Fact {
  value: string | number;
  /** Concepts in its member's name, or in an outer name if its own says only "id". */
  about: readonly string[];
  /** Concepts in the texts of its record or, if `keyed`, in its member's name, which is data: the query must contain all. */
  beside: ReadonlySet<string>;
  keyed: boolean;
}

const MAX_FACTS = 4000;
const MAX_DEPTH = 8;
const VAGUE = new Set(
  nameConcepts("id ids identifier key code number uuid ref value result results items data list records"),
);
const NO_TEXT: ReadonlySet<string> = new Set();

/** Every string and number in a JSON value. `subject` is what the whole is about if no name says so. */
export function factsIn(data: JsonValue, subject: readonly string[]): Fact[] {
  const facts: Fact[] = [];
  const walk = (
    node: JsonValue,
    about: readonly string[],
    beside: ReadonlySet<string>,
    keyed: boolean,
    depth: number,
  ) => {
    if (depth > MAX_DEPTH || facts.length >= MAX_FACTS) return;
    if (Array.isArray(node)) for (const item of node) walk(item, about, beside, false, depth + 1);
    else if (isJsonObject(node)) walkObject(node, about, depth);
    else if (typeof node === "number" || (typeof node === "string" && node !== "" && node.length <= 500))
      facts.push({ value: node, about, beside, keyed });
  };
  const walkObject = (node: JsonObject, about: readonly string[], depth: number) => {
    const texts = Object.values(node).filter((value) => typeof value === "string");
    const beside = new Set(texts.flatMap((text) => (text.length < 200 ? conceptsOf(text) : [])));
    for (const [key, value] of Object.entries(node)) {
      const telling = nameConcepts(key).filter((concept) => !VAGUE.has(concept));
      const outer = telling.length === 0 ? about : telling;
      if (isDataKey(key) && typeof value === "string") walk(value, about, new Set(nameConcepts(key)), true, depth + 1);
      walk(value, outer, beside, false, depth + 1);
    }
  };
  walk(data, subject, NO_TEXT, false, 0);
  return facts;
}

/** Keys such as "T-Shirt" or "ord_123" are data, keys such as "orderId" are names. */
export const isDataKey = (key: string): boolean => /^\p{Lu}|[\s\d]/u.test(key);

/** The values that suit a parameter best, in their order. */
export function chooseFacts(
  parameter: Parameter,
  facts: readonly Fact[],
  fn: KnownFunction,
  asked: ReadonlySet<string>,
): (string | number)[] {
  const rated = facts.map((fact) => ({ ...fact, score: rate(parameter, fact, fn, asked) }));
  const best = rated.reduce((most, { score }) => Math.max(most, score), 1);
  return [...new Set(rated.filter(({ score }) => score === best).map(({ value }) => value))];
}

/** 0 for a fact that does not suit the parameter. */
function rate(parameter: Parameter, fact: Fact, fn: KnownFunction, asked: ReadonlySet<string>): number {
  const { value, about, beside, keyed } = fact;
  const wanted = parameter.entity.length > 0 ? parameter.entity : [...fn.objects];
  const shared = wanted.filter((concept) => about.includes(concept)).length;
  const same = shared === wanted.length && shared === about.length;
  if (shared === 0 || (!isReference(parameter) && !same)) return 0;
  const isName = isReference(parameter) && parameter.kind !== "word" && !/^\S*[\d_]\S*$/u.test(String(value));
  const named = [...beside].filter((word) => asked.has(word)).length;
  if (isName || (keyed && named < beside.size) || !accepts(parameter.one, value, parameter.root)) return 0;
  return (same ? 3 : 2) + Math.min(named, 3);
}

/** How well a kind of value suits a kind of parameter, without further evidence. */
const FITS: Partial<Record<ParameterKind, Partial<Record<ValueKind, number>>>> = {
  id: { id: 1, uuid: 1, number: 0, quoted: 0.5, name: 0 },
  uuid: { uuid: 2 },
  number: { number: 1, id: 0 },
  email: { email: 2 },
  url: { url: 2 },
  date: { date: 2 },
  phone: { phone: 2 },
  zip: { number: 2, id: 0.5 },
  name: { name: 1.5, quoted: 1 },
  first_name: { name: 1.5 },
  last_name: { name: 1.5 },
  word: { name: 1, quoted: 1, id: 0, number: -1 },
  text: { quoted: 1.5 },
  search: { quoted: 1.5, name: 1.2 },
};

/**
 * How well a list of values suits a parameter: below 1 it does not, from 2 more than the type supports it. A parameter whose
 * name is only "id" is about the function's `objects`, or is named by itself: 'for id "r-17"'.
 */
export function weigh(parameter: Parameter, { values: [value], labels }: Unit, objects: ReadonlySet<string>): number {
  const base = value && FITS[parameter.kind]?.[value.kind];
  if (value === undefined || base === undefined || convert(parameter, value) === undefined) return 0;
  const isNamed = labels.size > 0 && [...labels].every((label) => parameter.concepts.includes(label));
  const about = parameter.entity.length > 0 ? new Set(parameter.entity) : isNamed ? labels : objects;
  const hits = [...about].filter((word) => labels.has(word)).length;
  return base + (hits > 0 ? 2.5 + hits / 2 : 0) + formScore(parameter, value);
}

/** True for a parameter that identifies a record, by text or by number. */
export const isReference = ({ kind, name }: Parameter): boolean =>
  kind === "id" || kind === "uuid" || /(?:^|_|[a-z])ids?$/iu.test(name);

function formScore({ kind, one, shapes }: Parameter, { text }: Value): number {
  if (typeof one.pattern === "string") return 3;
  if (kind !== "id" || shapes.length === 0) return 0;
  return shapes.includes(shapeOf(text)) ? 3 : -2;
}

/** A value in a form that the parameter's schema accepts, if there is one. */
export function convert({ kind, one, root }: Parameter, { kind: valueKind, text }: Value): string | number | undefined {
  const forms = (): (string | number)[] => {
    if (kind === "number") return [Number(text)];
    if (kind === "id" && (valueKind === "quoted" || valueKind === "name") && /\s/u.test(text)) return [];
    if (kind === "first_name") return [text.split(" ")[0] ?? text];
    if (kind === "last_name") return text.includes(" ") ? [text.split(" ").slice(1).join(" ")] : [];
    if (kind === "date") return [text, text.slice(0, 10), `${text.slice(0, 10)}T00:00:00Z`];
    return text.startsWith("#") ? [text, text.slice(1)] : [text];
  };
  return forms().find((form) => accepts(one, form, root));
}
