import type { FunctionSet } from "./function-set.ts";
import { shapeOf } from "./parameters.ts";
import { conceptsOf, isStopWord, nameWords, type Word, wordsOf } from "./words.ts";

/** Values in one list ("items 12, 14 and 15"), with the words around them that label them. */
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
  /** True if it continues a list ("order 1 and user 2"). */
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

/** Two values of one list are separated by a comma or "and", and at most the list's label. */
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

/** True if the word is inside a value, and so not a word of the request. */
function insideValue(reading: Reading, word: Word): boolean {
  return reading.units.some((unit) => unit.values.some((value) => word.start >= value.start && word.end <= value.end));
}

/** The words of a request that say what is wanted: no stop words, nothing inside values. */
export function contentWords(reading: Reading): Word[] {
  return reading.words.filter(
    (word) => !isStopWord(word.text) && !/^\d/u.test(word.text) && !insideValue(reading, word),
  );
}

export type ValueKind = "quoted" | "url" | "email" | "uuid" | "date" | "time" | "phone" | "id" | "number" | "name";

/** A typed value found in a text. `text` is the value as it would be passed on, without quotes around it. */
export interface Value {
  kind: ValueKind;
  text: string;
  start: number;
  end: number;
  number?: number;
  /** True for an amount of money. */
  money?: boolean;
}

const MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split(" ");
const COUNTS = "zero one two three four five six seven eight nine ten".split(" ");
const MAX_VALUES = 64;
const MAX_TEXT = 20_000;

type Reader = [RegExp, (match: RegExpExecArray) => Omit<Value, "start" | "end"> | undefined];

const plain = (kind: ValueKind) => (match: RegExpExecArray) => ({ kind, text: match[1] ?? match[0] });

/** In order of certainty: later readers skip what an earlier one took. */
const READERS: readonly Reader[] = [
  [/["“”]([^"“”\n]{1,4000})["“”]/gu, plain("quoted")],
  [/(?<![\p{L}\p{N}])['‘]([^'\n]{1,4000}?)['’](?![\p{L}\p{N}])/gu, plain("quoted")],
  [/`([^`\n]{1,4000})`/gu, plain("quoted")],
  [/\bhttps?:\/\/[^\s<>"'`)\]]+[^\s<>"'`)\].,;:!?]/giu, plain("url")],
  [/(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){0,8}/giu, plain("email")],
  [/\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/giu, plain("uuid")],
  [/\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?(?![\w-])/giu, plain("date")],
  [/\b(\d{1,2})(?:st|nd|rd|th)? ([a-z]{3,9}) (\d{4})\b/giu, (m) => writtenDate(m[1], m[2], m[3])],
  [/\b([a-z]{3,9}) (\d{1,2})(?:st|nd|rd|th)?,? (\d{4})\b/giu, (m) => writtenDate(m[2], m[1], m[3])],
  [/\b(?:[01]?\d|2[0-3]):[0-5]\d(?::[0-5]\d)?\b/gu, (m) => ({ kind: "time", text: m[0].padStart(5, "0") })],
  [/\+\d[\d ().-]{5,18}\d\b/gu, plain("phone")],
  [/(?<!\w)#?[\p{L}\p{N}][\p{L}\p{N}_-]*[\p{L}\p{N}]|#\p{N}/gu, readId],
  [
    /(?<![\p{L}\p{N}_.])([$€£]?) ?(-?\d+(?:,\d{3})*(?:\.\d+)?)(?=( ?(?:usd|eur|gbp|dollars?|euros?|€))?)/giu,
    readNumber,
  ],
  [/\b(?:two|three|four|five|six|seven|eight|nine|ten)\b/giu, (m) => count(m[0])],
];

function writtenDate(day = "", month = "", year = ""): Omit<Value, "start" | "end"> | undefined {
  const at = MONTHS.indexOf(month.slice(0, 3).toLowerCase());
  if (at < 0 || Number(day) < 1 || Number(day) > 31) return undefined;
  return { kind: "date", text: `${year}-${String(at + 1).padStart(2, "0")}-${day.padStart(2, "0")}` };
}

function readId(match: RegExpExecArray): Omit<Value, "start" | "end"> | undefined {
  const text = match[0];
  if (!/\d/u.test(text)) return undefined;
  if (text.startsWith("#") || /^\d{6,}$/u.test(text)) return { kind: "id", text };
  if (/^\d/u.test(text) && /^\d+\p{L}{0,4}$/u.test(text)) return undefined;
  return /\p{L}/u.test(text) || /^\d+[-_]\d/u.test(text) ? { kind: "id", text } : undefined;
}

function readNumber(match: RegExpExecArray): Omit<Value, "start" | "end"> {
  const text = (match[2] ?? "").replaceAll(",", "");
  const money = Boolean(match[1]) || match[3] !== undefined;
  return { kind: "number", text, number: Number(text), money };
}

function count(word: string): Omit<Value, "start" | "end"> {
  const number = COUNTS.indexOf(word.toLowerCase());
  return { kind: "number", text: String(number), number };
}

/** Every typed value of a text, in order, none overlapping. `common` recognises words that are not proper names. */
function findValues(full: string, common: (word: string) => boolean): Value[] {
  let text = full.slice(0, MAX_TEXT);
  const found: Value[] = [];
  const take = (value: Omit<Value, "start" | "end">, start: number, end: number) => {
    found.push({ ...value, start, end });
    text = text.slice(0, start) + "\u0000".repeat(end - start) + text.slice(end);
  };
  for (const [pattern, read] of READERS) {
    for (const match of text.matchAll(pattern)) {
      if (found.length >= MAX_VALUES) break;
      const value = read(match);
      const lead = match[0].length - match[0].trimStart().length;
      if (value) take(value, match.index + lead, match.index + match[0].length);
    }
  }
  for (const name of findNames(text, common)) if (found.length < MAX_VALUES * 2) take(name, name.start, name.end);
  return found.toSorted((a, b) => a.start - b.start);
}

/** Runs of capitalised words that are not the usual words of a request. */
function findNames(text: string, common: (word: string) => boolean): Value[] {
  const names: Value[] = [];
  for (const run of text.matchAll(/\p{Lu}[\p{L}'’.-]*\p{L}(?: \p{Lu}[\p{L}'’-]+)*/gu)) {
    let start = run.index;
    const words = run[0].replace(/['’]s$/u, "").split(" ");
    while (words[0] !== undefined && common(words[0])) start += (words.shift() ?? "").length + 1;
    while (words.length > 0 && common(words.at(-1) ?? "")) words.pop();
    const name = words.join(" ");
    if (name.length > 1) names.push({ kind: "name", text: name, start, end: start + name.length });
  }
  return names;
}

/** A sum as a command: "add 2, 3 and 4". */
const SUM =
  /\b(?:add(?: up)?|sum(?: up| of)?)(?: the)?(?: numbers)?\s+(\d[\d.]*(?:(?:\s*,\s*(?:and\s+)?|\s+(?:and|to|with)\s+)\d[\d.]*)+)/giu;
const asSum = (_: string, numbers: string): string => numbers.split(/[^\d.]+/u).join(" + ");

const OPERATORS: readonly [RegExp, string][] = [
  [/\bsubtract\s+(\d[\d.]*)\s+from\s+(\d[\d.]*)/giu, "$2 - $1"],
  [/\bmultiply\s+(\d[\d.]*)\s+(?:by|with|and)\s+(\d[\d.]*)/giu, "$1 * $2"],
  [/\bdivide\s+(\d[\d.]*)\s+by\s+(\d[\d.]*)/giu, "$1 / $2"],
  [/\bplus\b/giu, "+"],
  [/\bminus\b/giu, "-"],
  [/\b(?:times|multiplied by)\b|×|(?<=\d\s?)x(?=\s?\d)/giu, "*"],
  [/\b(?:divided by|over)\b|÷/giu, "/"],
];

const DATE = /^(?:\d{4}-\d\d-\d\d|\d{1,2}\/\d{1,2}\/\d{2,4})$/u;

/** The longest arithmetic expression of a text, if it holds one. */
function findExpression(full: string): string | undefined {
  let text = full.slice(0, MAX_TEXT).replace(SUM, asSum);
  for (const [words, sign] of OPERATORS) text = text.replace(words, sign);
  const runs = [...text.matchAll(/(?<![\p{L}\p{N}_#.-])[-+(]{0,20}\s{0,5}\d[\d\s.+\-*/()^%]{0,400}/gu)].map((run) =>
    balanced(run[0]),
  );
  return runs
    .filter((run) => /\d\s*[-+*/^%]\s*[-+(]*\s*[\d.(]|\)\s*[-+*/]/u.test(run) && !DATE.test(run))
    .toSorted((a, b) => b.length - a.length)[0];
}

function balanced(run: string): string {
  let text = run.trim().replace(/[\s.+\-*/(^%]+$/u, "");
  const count = (sign: string) => text.split(sign).length - 1;
  while (text.endsWith(")") && count(")") > count("(")) text = text.slice(0, -1).trimEnd();
  while (text.startsWith("(") && count("(") > count(")")) text = text.slice(1).trimStart();
  return text;
}
