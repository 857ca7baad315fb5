import { isJsonObject, type JsonObject, type JsonValue, type Steps, takeSteps } from "@patchbay/kit";
import type { Typed } from "./alternatives.ts";
import { followRef, takeSchema } from "./subschemas.ts";

/** Keywords where a smaller number accepts more, where a larger one does, and keywords that must not change. */
const FLOORS = ["minLength", "minItems", "minProperties"];
const CEILINGS = ["maxLength", "maxItems", "maxProperties"];
const FIXED: Readonly<Record<string, readonly string[]>> = {
  string: ["pattern", "format", "contentEncoding", "contentMediaType"],
  number: ["format", "multipleOf"],
  integer: ["format", "multipleOf"],
  array: ["format", "uniqueItems"],
  object: ["format"],
};
const BOUNDED: Readonly<Record<string, string>> = { string: "Length", array: "Items", object: "Properties" };

/** Differences between the own keywords of two alternatives, without properties and items. */
export function ownDifferences(was: Typed, is: Typed): string[] {
  const fixed = FIXED[is.kind]!.flatMap((keyword) => compareFixed(keyword, was.schema[keyword], is.schema[keyword]));
  if (is.kind === "number" || is.kind === "integer") return [...fixed, ...compareRange(was, is)];
  const bounded = BOUNDED[is.kind]!;
  const among = (keywords: readonly string[]) => keywords.filter((keyword) => keyword.endsWith(bounded));
  return [
    ...fixed,
    ...among(FLOORS).flatMap((keyword) => compareBound(keyword, was.schema, is.schema, (a, b) => b >= a, 0)),
    ...among(CEILINGS).flatMap((keyword) => compareBound(keyword, was.schema, is.schema, (a, b) => b <= a, Infinity)),
  ];
}

function compareFixed(keyword: string, was: JsonValue | undefined, is: JsonValue | undefined): string[] {
  if (was === undefined || was === false || was === is) return [];
  if (keyword === "multipleOf" && isMultiple(is, was)) return [];
  return [is === undefined ? `${keyword} ${show(was)} is removed` : `${keyword} ${show(is)} replaces ${show(was)}`];
}

/** True for whole numbers only, because fraction quotients are rounded. */
function isMultiple(value: JsonValue | undefined, of: JsonValue): boolean {
  return Number.isInteger(value) && Number.isInteger(of) && (value as number) % (of as number) === 0;
}

function compareBound(
  keyword: string,
  before: JsonObject,
  after: JsonObject,
  within: (was: number, is: number) => boolean,
  none: number,
): string[] {
  const [was, is] = [before[keyword], after[keyword]] as [number | undefined, number | undefined];
  if (was === undefined || within(was, is ?? none)) return [];
  return [is === undefined ? `${keyword} ${was} is removed` : `${keyword} ${is} replaces ${was}`];
}

/** A number bound. For integers, the first allowed one. */
interface Bound {
  value: number;
  exclusive: boolean;
}

function compareRange(was: Typed, is: Typed): string[] {
  return [
    ...compareSide("minimum", floorOf(was), floorOf(is)),
    ...compareSide("maximum", negated(ceilingOf(was)), negated(ceilingOf(is))),
  ];
}

function compareSide(name: "minimum" | "maximum", was: Bound, is: Bound): string[] {
  if (is.value > was.value || (is.value === was.value && (is.exclusive || !was.exclusive))) return [];
  const shown = ({ value, exclusive }: Bound) =>
    `${name === "minimum" ? value : -value}${exclusive ? " (exclusive)" : ""}`;
  return [
    Number.isFinite(is.value) ? `${name} ${shown(is)} replaces ${shown(was)}` : `${name} ${shown(was)} is removed`,
  ];
}

const negated = ({ value, exclusive }: Bound): Bound => ({ value: -value, exclusive });

function floorOf({ kind, schema }: Typed): Bound {
  const { minimum = -Infinity, exclusiveMinimum = -Infinity } = schema as Record<string, number>;
  const bound = { value: Math.max(minimum, exclusiveMinimum), exclusive: exclusiveMinimum >= minimum };
  if (!Number.isFinite(bound.value)) return { value: -Infinity, exclusive: false };
  if (kind === "number") return bound;
  return { value: bound.exclusive ? Math.floor(bound.value) + 1 : Math.ceil(bound.value), exclusive: false };
}

function ceilingOf(typed: Typed): Bound {
  const { maximum = Infinity, exclusiveMaximum = Infinity } = typed.schema as Record<string, number>;
  return negated(floorOf({ ...typed, schema: { minimum: -maximum, exclusiveMinimum: -exclusiveMaximum } }));
}

const SHOWN_UNITS = 80;

/** A value as JSON in a sentence, shortened. */
export function show(value: JsonValue): string {
  const text = JSON.stringify(typeof value === "string" ? value.slice(0, SHOWN_UNITS + 1) : value);
  return text.length <= SHOWN_UNITS ? text : `${text.slice(0, SHOWN_UNITS)}…`;
}

const BOUNDS = [
  "minimum",
  "maximum",
  "exclusiveMinimum",
  "exclusiveMaximum",
  "minLength",
  "maxLength",
  "minItems",
  "maxItems",
  "minProperties",
  "maxProperties",
];

/** The numbers that limit a schema, also in its branches, without repetitions. */
export function boundsOf(schema: JsonValue, root: JsonObject, steps: Steps): number[] {
  const found = new Set<number>();
  const visit = (part: JsonValue, depth: number): void => {
    if (!isJsonObject(part) || depth > 3) return;
    takeSchema(steps, part);
    takeSteps(steps, BOUNDS.length);
    for (const name of BOUNDS) if (typeof part[name] === "number") found.add(part[name]);
    const { $ref, anyOf, oneOf, allOf } = part;
    if (typeof $ref === "string") visit(followRef(root, $ref) ?? false, depth + 1);
    for (const branches of [anyOf, oneOf, allOf])
      if (Array.isArray(branches)) for (const branch of branches) visit(branch, depth + 1);
  };
  visit(schema, 0);
  takeSteps(steps, found.size);
  return [...found];
}
