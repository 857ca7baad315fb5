import type { FunctionSet } from "./function-set.ts";
import { shapeOf } from "./parameters.ts";
import { conceptsOf, isLooking, isStopWord, isVerb, nameConcepts, nameWords, type Word, wordsOf } from "./words.ts";

export type ValueKind = "quoted" | "url" | "email" | "uuid" | "date" | "phone" | "id" | "number" | "name";

/** A typed value in a text, without its quotes. */
export interface Value {
  kind: ValueKind;
  text: string;
  start: number;
  end: number;
}

/** Values in one list ("items 12, 14 and 15"), with the concepts before it, after a number, or within an id. */
export interface Unit {
  values: Value[];
  labels: ReadonlySet<string>;
}

/** A text with its words, values and arithmetic expression. */
export interface Reading {
  text: string;
  words: Word[];
  units: Unit[];
  expression: string | undefined;
}

const MAX_TEXT = 20_000;
const MAX_VALUES = 64;
const JOINT = /^\s*(?:,|;|&|(?:,\s*)?(?:and|or|plus))\s*/iu;
/** The name at the end of "…, orderId=" or "order_id: ". */
const ASSIGNED = /([\p{L}\p{N}_]{1,60})["']? ?[:=] ?$/u;
const PREPOSITION = /\b(?:of|for|from|in|on|with|by|to|at|about|into|and|or)\b|,/iu;

export function readText(full: string, set: FunctionSet): Reading {
  const text = full.slice(0, MAX_TEXT);
  const values = findValues(text, set);
  return { text, words: wordsOf(text), units: makeUnits(text, values, set), expression: findExpression(text) };
}

/** Groups values into lists: a comma or "and" joins two values, with at most their label between them. */
function makeUnits(text: string, values: readonly Value[], { entities }: FunctionSet): Unit[] {
  const units: Unit[] = [];
  for (const [at, value] of values.entries()) {
    const before = values[at - 1];
    const last = units.at(-1);
    const gap = text.slice(before?.end ?? 0, value.start);
    const isJoined = (word: string) => last?.labels.has(word) && entities.has(word);
    const isList =
      JOINT.test(gap) && !ASSIGNED.test(gap.slice(-80)) && conceptsOf(gap.replace(JOINT, "")).every(isJoined);
    if (before && last && alike(before, value) && isList) last.values.push(value);
    else units.push({ values: [value], labels: new Set(labelsOf(gap, text, value)) });
  }
  return units;
}

const alike = (a: Value, b: Value) => a.kind === b.kind && (a.kind !== "id" || shapeOf(a.text) === shapeOf(b.text));

function labelsOf(gap: string, text: string, { kind, text: own, end }: Value): string[] {
  const assigned = ASSIGNED.exec(gap.slice(-80))?.[1];
  if (assigned !== undefined) return nameConcepts(assigned);
  const before =
    gap
      .split(/[.;!?\n]/u)
      .at(-1)
      ?.split(PREPOSITION)
      .at(-1) ?? "";
  const after = kind === "number" ? (/^[ -]?\p{L}+/u.exec(text.slice(end))?.[0] ?? "") : "";
  return [before, after, kind === "id" ? own : ""].flatMap((part) => conceptsOf(nameWords(part).join(" ")).slice(-3));
}

/** The words that may choose a function: no stop words, and nothing within values. */
export function contentWords({ words, units }: Reading): Word[] {
  const values = units.flatMap((unit) => unit.values);
  const isFree = ({ start, end }: Word) => !values.some((value) => start >= value.start && end <= value.end);
  return words.filter((word) => !isStopWord(word.text) && !/^\d/u.test(word.text) && isFree(word));
}

/** The most certain form first: later ones skip what an earlier one took. A group is the value without its quotes. */
const FORMS: readonly [ValueKind, RegExp][] = [
  ["quoted", /["“”]([^"“”\n]{1,4000})["“”]/gu],
  ["quoted", /(?<![\p{L}\p{N}])['‘]([^'\n]{1,4000}?)['’](?![\p{L}\p{N}])/gu],
  ["url", /\bhttps?:\/\/[^\s<>"'`)\]]+[^\s<>"'`)\].,;:!?]/giu],
  ["email", /(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){0,8}/giu],
  ["uuid", /\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/giu],
  ["date", /\b\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)?)?(?![\w-])/giu],
  ["phone", /\+\d[\d ().-]{5,18}\d\b/gu],
  ["id", /#\d+|(?<!\w)#?[\p{L}\p{N}][\p{L}\p{N}_-]*[\p{L}\p{N}]/gu],
  ["number", /(?<![\p{L}\p{N}_.])-?\d+(?:,\d{3})*(?:\.\d+)?/gu],
  ["name", /\p{Lu}[\p{L}'’.-]*\p{L}(?: \p{Lu}[\p{L}'’-]+)*/gu],
];

/** A short number is a count, an amount or a year; an id has other characters, or at least six digits. */
const isId = (text: string) => /\d/u.test(text) && (/^(?:#.*|\d{6,})$/u.test(text) || !/^\d+\p{L}{0,4}$/u.test(text));

/** All values in a text, in order, without overlaps. */
function findValues(full: string, { common }: FunctionSet): Value[] {
  let text = full;
  const found: Value[] = [];
  for (const [kind, form] of FORMS) {
    for (const match of text.matchAll(form)) {
      const value: Value = { kind, text: match[1] ?? match[0], start: match.index, end: match.index + match[0].length };
      if (kind === "number") value.text = value.text.replaceAll(",", "");
      if (kind === "name") trimName(value, common);
      if (value.text === "" || (kind === "id" && !isId(value.text)) || found.length >= MAX_VALUES) continue;
      found.push(value);
      text = text.slice(0, value.start) + "\u0000".repeat(value.end - value.start) + text.slice(value.end);
    }
  }
  return found.toSorted((a, b) => a.start - b.start);
}

/** Removes the usual words in requests at both ends: "Show Ada Lovelace's" names Ada Lovelace. */
function trimName(value: Value, common: (word: string) => boolean): void {
  const words = value.text.replace(/['’]s$/u, "").split(" ");
  while (words[0] !== undefined && common(words[0])) value.start += (words.shift() ?? "").length + 1;
  while (words.length > 0 && common(words.at(-1) ?? "")) words.pop();
  value.text = words.join(" ");
  value.end = value.start + value.text.length;
}

const OPERATORS: readonly [RegExp, string][] = [
  [/\bplus\b|(?<=\badd \d[\d.]* )and\b/giu, "+"],
  [/\bminus\b/giu, "-"],
  [/\b(?:times|multiplied by)\b|×/giu, "*"],
  [/\bdivided by\b|÷/giu, "/"],
];

/** The longest arithmetic expression in a text, such as "12 * (3 + 4)" or "add 2 and 3". */
function findExpression(full: string): string | undefined {
  const text = OPERATORS.reduce((rest, [words, sign]) => rest.replace(words, sign), full);
  return [...text.matchAll(/(?<![\p{L}\p{N}_#.-])[-(]{0,20}\d[\d\s.+\-*/()^%]{0,400}/gu)]
    .map(([run]) => run.replace(/[\s.+\-*/(^%]+$/u, ""))
    .filter((run) => /\d[\s)]*[-+*/^%][\s(-]*\d/u.test(run) && !/^\d{4}-\d\d-\d\d$/u.test(run))
    .toSorted((a, b) => b.length - a.length)[0];
}

/** What a query asks for: a `command` has a verb in its plain form; word matching cannot decide the "if" of a `conditional` one. */
export interface Mood {
  kind: "command" | "conditional" | "question" | "statement";
  /** The verb that heads a command. */
  verb?: Word;
}

/** Polite words before a request. */
const OPENING = new RegExp(
  `^(?:(?:${[
    "and|then|also|now|just|please|kindly|so|ok|okay|hi|hello|hey|thanks|first|next|but|yes",
    "(?:can|could|would|will) you|help me(?: to)?|let(?:['’]s| us)",
    "(?:i|we)(?:['’]d| would)? (?:like|love|want|need)(?: you)?(?: to| an?)?",
  ].join("|")})\\b[\\s,:!.]*)+`,
  "iu",
);
const QUESTION =
  /^(?:what|which|who|whom|whose|where|when|why|how|is|are|was|were|has|have|had|did|does|do|may|should|am|(?:can|could|would|will) (?!you\b))/iu;
const CONDITION = /\b(?:if|unless|provided|in case|as long as|once|only when|whenever)\b(?! (?:possible|needed))/iu;
const MAX_SENTENCES = 8;

/** Reads the first sentence with a question or a command. */
export function readMood(query: string, set: FunctionSet): Mood {
  const text = query.replace(/["“][^"”]*["”]/gu, "_");
  for (const sentence of text.split(/[.!?]+\s+|[;\n]+/u, MAX_SENTENCES)) {
    const start = sentence.trimStart().replace(OPENING, "");
    if (QUESTION.test(start)) return { kind: "question" };
    const verb = verbIn(start, set);
    if (verb) return { kind: CONDITION.test(text) && !isLooking(verb.concept) ? "conditional" : "command", verb };
  }
  return { kind: text.trimEnd().endsWith("?") ? "question" : "statement" };
}

/** The verb that heads a sentence, in its plain form: "cancel", not "cancelled" or "cancelling". */
function verbIn(text: string, { functions }: FunctionSet): Word | undefined {
  const word = wordsOf(text.slice(0, 60))[0];
  if (!word || word.start > 2 || !/^\p{L}+$/u.test(word.text) || /(?:ing|[^e]ed)$/iu.test(word.text)) return undefined;
  return isVerb(word.concept) || functions.some(({ actions }) => actions.has(word.concept)) ? word : undefined;
}
