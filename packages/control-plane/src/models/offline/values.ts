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
const COUNTS: Readonly<Record<string, number>> = {
  two: 2,
  three: 3,
  four: 4,
  five: 5,
  six: 6,
  seven: 7,
  eight: 8,
  nine: 9,
  ten: 10,
};
const MAX_VALUES = 64;
const MAX_TEXT = 20_000;

type Reader = [RegExp, (match: RegExpExecArray) => Omit<Value, "start" | "end"> | undefined];

const plain = (kind: ValueKind) => (match: RegExpExecArray) => ({ kind, text: match[1] ?? match[0] });

/** In order of certainty: what one reader took, later ones do not see. */
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
  const number = COUNTS[word.toLowerCase()] ?? 0;
  return { kind: "number", text: String(number), number };
}

/** Every typed value of a text, in order, none overlapping. `common` tells words that are no proper names. */
export function findValues(full: string, common: (word: string) => boolean): Value[] {
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

const OPERATORS: readonly [RegExp, string][] = [
  [/\bplus\b/giu, "+"],
  [/\bminus\b/giu, "-"],
  [/\b(?:times|multiplied by)\b|×|(?<=\d\s?)x(?=\s?\d)/giu, "*"],
  [/\b(?:divided by|over)\b|÷/giu, "/"],
];

const DATE = /^(?:\d{4}-\d\d-\d\d|\d{1,2}\/\d{1,2}\/\d{2,4})$/u;

/** The longest arithmetic expression of a text, if it holds one. */
export function findExpression(full: string): string | undefined {
  let text = full.slice(0, MAX_TEXT);
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
