import { type FunctionSet } from "./function-set.ts";
import { shapeOf } from "./parameters.ts";
import { findExpression, findValues, type Value } from "./values.ts";
import { conceptsOf, isStopWord, nameWords, type Word, wordsOf } from "./words.ts";

/** Values said in one breath ("items 12, 14 and 15"), with the words around that tell what they are. */
export interface Unit {
  values: Value[];
  /** Concepts of the words before (and, for numbers, after), and of words within the value itself. */
  labels: ReadonlySet<string>;
  own: ReadonlySet<string>;
  direction?: "from" | "to";
  /** The name that the text gives it, in words: `order id` of "orderId=12" or "order_id: 12". */
  assignedTo?: string;
  /** True after a place word such as "in" or "at". */
  placed: boolean;
  /** True when it goes on a list of things asked for ("order 1 and user 2"). */
  coordinated: boolean;
}

/** A text taken apart: what the filling of arguments looks at. */
export interface Reading {
  text: string;
  words: Word[];
  units: Unit[];
  expression: string | undefined;
}

const FROM = /\b(?:from|since|after|between|starting|old)\b/giu;
const TO = /\b(?:to|into|until|till|before|for|with|by|through|ending|new)\b|->|→/giu;
const PLACED = /\b(?:in|at|near|around|of|on|for|from|to|with|about)\s*$/iu;
const JOINT = /^\s*(?:,|;|&|\/|(?:,\s*)?(?:and|or|plus|as well as))\s*/iu;

export function readText(text: string, set: FunctionSet): Reading {
  const values = findValues(text, (word) => set.common(word));
  const words = wordsOf(text.slice(0, 20_000));
  return { text, words, units: makeUnits(text, values, set), expression: findExpression(text) };
}

function makeUnits(text: string, values: readonly Value[], set: FunctionSet): Unit[] {
  const units: Unit[] = [];
  let before: Value | undefined;
  let lead = "";
  for (const value of values) {
    const gap = text.slice(before?.end ?? 0, value.start);
    const last = units.at(-1);
    const bound = /\bbetween\b[^,.;]*$/iu.test(lead) && /^\s*and\b/iu.test(gap);
    if (bound) units.push({ ...makeUnit(text, gap, value, last), direction: "to", coordinated: false });
    else if (last && before && alike(before, value) && continues(gap, set, last)) last.values.push(value);
    else units.push(makeUnit(text, gap, value, last));
    before = value;
    lead = gap;
  }
  return units;
}

const alike = (a: Value, b: Value) => a.kind === b.kind && (a.kind !== "id" || shapeOf(a.text) === shapeOf(b.text));

/** Between two values of one list stand a joint and at most the list's own label again. */
function continues(gap: string, set: FunctionSet, unit: Unit): boolean {
  if (!JOINT.test(gap) || assignedName(gap) !== undefined) return false;
  return conceptsOf(gap.replace(JOINT, "")).every((word) => unit.labels.has(word) && set.entities.has(word));
}

function makeUnit(text: string, gap: string, value: Value, last: Unit | undefined): Unit {
  const near = gap.split(/[.;!?\n]/u).at(-1) ?? gap;
  const assignedTo = assignedName(gap);
  const labels = labelsOf(near);
  if (value.kind === "number" && assignedTo === undefined)
    labels.push(...conceptsOf(/^[ -]?[\p{L}]+/u.exec(text.slice(value.end))?.[0] ?? ""));
  const repeats = last?.values[0] !== undefined && alike(last.values[0], value) && labels.length === 0;
  const direction = directionOf(near);
  return {
    values: [value],
    labels: repeats ? last.labels : new Set(labels),
    own: new Set(value.kind === "id" ? conceptsOf(value.text.replaceAll("_", " ")) : []),
    placed: PLACED.test(near),
    coordinated: last !== undefined && JOINT.test(gap),
    ...(direction && { direction }),
    ...(assignedTo !== undefined && { assignedTo }),
  };
}

/** The name at the end of "..., orderId=" and "order_id: ", as words. */
function assignedName(gap: string): string | undefined {
  const name = /(?<![\p{L}\p{N}_])([\p{L}_][\p{L}\p{N}_]{0,60})["'`]? ?[:=] ?["'`$€£]?$/u.exec(gap.slice(-80))?.[1];
  return name === undefined ? undefined : nameWords(name).join(" ").toLowerCase();
}

const PREPOSITION = /\b(?:of|for|from|in|on|with|by|to|at|about|into|and|or)\b|->|→|,/iu;
const VAGUE: ReadonlySet<string> = new Set(conceptsOf("id number code no key ref reference named called"));

/** The words that name a value: those since the last preposition, or before it where those say only "id". */
function labelsOf(gap: string): string[] {
  const parts = gap.split(PREPOSITION).map(conceptsOf);
  const last = parts.pop() ?? [];
  const vague = last.length > 0 && last.every((word) => VAGUE.has(word));
  return [...(vague ? (parts.pop() ?? []) : []), ...last].slice(-3);
}

function directionOf(gap: string): "from" | "to" | undefined {
  const tail = gap.split(/\s+/u).slice(-5).join(" ");
  const from = [...tail.matchAll(FROM)].at(-1)?.index ?? -1;
  const to = [...tail.matchAll(TO)].at(-1)?.index ?? -1;
  if (from < 0 && to < 0) return undefined;
  return from > to ? "from" : "to";
}

/** True when the word stands inside a value, so that it is no word of the request itself. */
export function insideValue(reading: Reading, word: Word): boolean {
  return reading.units.some((unit) => unit.values.some((value) => word.start >= value.start && word.end <= value.end));
}

/** The words of a request that say what is wanted: no stop words, nothing inside values. */
export function contentWords(reading: Reading): Word[] {
  return reading.words.filter(
    (word) => !isStopWord(word.text) && !/^\d/u.test(word.text) && !insideValue(reading, word),
  );
}
