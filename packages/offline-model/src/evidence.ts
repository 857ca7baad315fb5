import type { JsonValue } from "@patchbay/protocol";
import { type Parameter, type ParameterKind, shapeOf } from "./parameters.ts";
import type { Unit, Value, ValueKind } from "./reading.ts";
import { accepts } from "./schema.ts";

import { nameWords } from "./words.ts";

/** How well a value of a text suits a parameter; below 1 it does not. */
export interface Evidence {
  score: number;
  /** True if more than the type supports it: a label, a form, a format. */
  strong: boolean;
}

type Fit = Partial<Record<ValueKind, number>>;

/** The weight of a kind of value for a kind of parameter, without further evidence. */
const FITS: Partial<Record<ParameterKind, Fit>> = {
  id: { id: 1, uuid: 1, number: 0, quoted: 0.5, name: 0 },
  uuid: { uuid: 2 },
  number: { number: 1, id: 0 },
  email: { email: 2 },
  url: { url: 2 },
  date: { date: 2 },
  time: { time: 2 },
  phone: { phone: 2, id: 0, number: 0 },
  zip: { number: 1, id: 0.5, quoted: 0 },
  name: { name: 1.5, quoted: 1 },
  first_name: { name: 1.5 },
  last_name: { name: 1.5 },
  word: { name: 0.5, quoted: 1, id: 0, number: -1 },
  text: { quoted: 1.5 },
  search: { quoted: 1.5, name: 1.2 },
};

interface Neighbours {
  /** What parameters of any function are about. */
  entities: ReadonlySet<string>;
  /** Concepts for a parameter whose name is only "id". */
  objects: ReadonlySet<string>;
  /** True when another parameter of the same kind is the new one of the two. */
  hasCounterpart: boolean;
  /** Names of the function's parameters, in words. */
  names: ReadonlySet<string>;
}

/** Weighs a unit of values for a parameter; undefined when it cannot be one. */
export function weigh(parameter: Parameter, unit: Unit, near: Neighbours): Evidence | undefined {
  const value = unit.values[0];
  const base = value && FITS[parameter.kind]?.[value.kind];
  if (value === undefined || base === undefined || convert(parameter, value) === undefined) return undefined;
  if (unit.assignedTo !== undefined && near.names.has(unit.assignedTo))
    return unit.assignedTo === namedWords(parameter) ? { score: 10, strong: true } : undefined;
  const about = parameter.entity.length > 0 ? new Set(parameter.entity) : near.objects;
  const hits = [...about].filter((word) => unit.labels.has(word) || unit.own.has(word)).length;
  const foreign = [...unit.labels].some((word) => near.entities.has(word) && !about.has(word));
  const labelled = hits > 0 ? 2.5 + hits / 2 : parameter.kind === "number" && isReference(parameter) ? -1 : 0;
  const conflict = hits === 0 && foreign && base < 1.2 ? -3 : 0;
  const form = formOf(parameter, value);
  const place = unit.placed && value.kind === "name" && parameter.kind === "word" ? 1 : 0;
  const money = value.money && /amount|price|total|cost|budget|fee/u.test(parameter.name) ? 2 : 0;
  return {
    score: base + labelled + conflict + form + place + money + directionScore(parameter, unit, near),
    strong: labelled > 0 || form > 0 || base >= 2 || money > 0,
  };
}

/** A parameter's own name as the words that a text may assign a value to. */
export function namedWords({ name }: Parameter): string {
  return nameWords(name).join(" ").toLowerCase();
}

/** True for a parameter that names a record, be it by text or by number. */
export function isReference({ kind, name }: Parameter): boolean {
  return kind === "id" || kind === "uuid" || /(?:^|_|[a-z])ids?$/iu.test(name);
}

function formOf({ kind, one, shapes }: Parameter, value: Value): number {
  const pattern = typeof one.pattern === "string" ? 3 : 0;
  if (kind === "zip" && /^\d{5}$/u.test(value.text)) return pattern + 1;
  if (kind !== "id" || shapes.length === 0) return pattern;
  return shapes.includes(shapeOf(value.text)) ? pattern + 3 : pattern - 2;
}

function directionScore({ direction, many }: Parameter, unit: Unit, { hasCounterpart }: Neighbours): number {
  if (direction === undefined) return hasCounterpart && many && unit.direction === "to" ? -2 : 0;
  if (unit.direction === undefined) return direction === "to" ? -1 : 0;
  return unit.direction === direction ? 2 : -2;
}

/** A value as the parameter's schema wants it; undefined when it cannot be made so. */
export function convert(parameter: Parameter, value: Value): JsonValue | undefined {
  const { one, root } = parameter;
  const candidates: JsonValue[] =
    parameter.kind === "number" ? [value.number ?? Number(value.text)] : textForms(parameter, value);
  return candidates.find((candidate) => accepts(one, candidate, root));
}

function textForms({ kind, one }: Parameter, { kind: valueKind, text }: Value): JsonValue[] {
  if (kind === "id" && (valueKind === "quoted" || valueKind === "name") && /\s/u.test(text)) return [];
  if (kind === "first_name") return [text.split(" ")[0] ?? text];
  if (kind === "last_name") return text.includes(" ") ? [text.split(" ").slice(1).join(" ")] : [];
  if (kind !== "date") return text.startsWith("#") ? [text, text.slice(1)] : [text];
  const dateTime = text.includes(":")
    ? text.replace(" ", "T").replace(/(T\d\d:\d\d)(?!:)/u, "$1:00")
    : `${text}T00:00:00`;
  const zoned = /(?:Z|[+-]\d\d:?\d\d)$/u.test(dateTime) ? dateTime : `${dateTime}Z`;
  return one.format === "date-time" ? [zoned] : [text, text.slice(0, 10)];
}
