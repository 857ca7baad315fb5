import { wellFormedJson } from "./well-formed.ts";

/** How deep JSON from outside may nest. */
export const JSON_DEPTH = 64;

/** Any JSON value. */
export type JsonValue = string | number | boolean | null | JsonValue[] | JsonObject;

/** A JSON object. */
export interface JsonObject {
  [property: string]: JsonValue;
}

/** True for an object, false for arrays, null and scalars. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The object without undefined properties, for options that may be absent but not undefined. */
export function present<T extends object>(values: T): { [Name in keyof T]?: Exclude<T[Name], undefined> } {
  const given: Partial<T> = {};
  for (const name in values) if (values[name] !== undefined) given[name] = values[name];
  return given as ReturnType<typeof present<T>>;
}

/** JSON text with each object's properties sorted, so that equal values have equal texts. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const members = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonicalJson(member)}`).join(",")}}`;
}

/** Matches strings too, so that digits in them are skipped. */
const STRING_OR_NUMBER = /"(?:[^"\\]+|\\.)*"|-?\d+(\.\d+)?([eE][+-]?\d+)?/gs;
const SHOWN_UNITS = 40;

/**
 * The first number in a valid JSON text that parsing would change: too large (`1e400`) or too small for a double, or an
 * integer with more digits than a double keeps (`9007199254740993`, `9007199254740993.0`). Rounding a fraction to the
 * nearest double does not count.
 */
export function inexactNumber(json: string): string | undefined {
  for (const [text, fraction, exponent] of json.matchAll(STRING_OR_NUMBER)) {
    if (text.startsWith('"')) continue;
    if (isChanged(text, fraction !== undefined || exponent !== undefined))
      return text.length > SHOWN_UNITS ? `${text.slice(0, SHOWN_UNITS)}…` : text;
  }
  return undefined;
}

function isChanged(text: string, isFraction: boolean): boolean {
  const value = Number(text);
  if (!Number.isFinite(value)) return true;
  if (value === 0) return /[1-9]/.test(text.replace(/[eE].*/, ""));
  if (Math.abs(value) <= Number.MAX_SAFE_INTEGER) return false;
  // A finite double has at most 309 digits, so a long text cannot make this conversion slow.
  return isFraction ? digitsOf(text) !== digitsOf(String(value)) : BigInt(value) !== BigInt(text);
}

/** The digits that decide a value: `1e23` has one, although the nearest double is another integer. */
const digitsOf = (number: string): string =>
  number
    .replace(/[eE].*/, "")
    .replaceAll(/[-.]/g, "")
    .replaceAll(/^0+|0+$/g, "");

/** JSON text in which such numbers are strings: their digits survive parsing. */
export function inexactToText(json: string): string {
  return json.replaceAll(STRING_OR_NUMBER, (text, fraction?: string, exponent?: string) =>
    text.startsWith('"') || !isChanged(text, fraction !== undefined || exponent !== undefined) ? text : `"${text}"`,
  );
}

/** The fault message for a context with such a number. Like `parseJson` messages, it has no subject. */
export function inexactMessage(number: string): string {
  return `holds the number ${number}, which JSON readers cannot keep exactly. Send it as a string`;
}

/** A `parseJson` result. `message` is public and has no subject, such as "is not valid JSON". */
export type ParsedJson = { ok: true; value: unknown } | { ok: false; message: string };

/**
 * Parses JSON without throwing. Drops `__proto__` properties, replaces halves of surrogate pairs by U+FFFD, and refuses
 * nesting deeper than `maxDepth`.
 */
export function parseJson(json: string, maxDepth: number = JSON_DEPTH): ParsedJson {
  const text = wellFormedJson(json);
  if (nestsDeeper(text, maxDepth)) return { ok: false, message: `must not nest deeper than ${maxDepth}` };
  try {
    const value: unknown =
      text.includes("__proto__") || text.includes("\\u")
        ? JSON.parse(text, (key, member: unknown) => (key === "__proto__" ? undefined : member))
        : JSON.parse(text);
    return { ok: true, value };
  } catch {
    return { ok: false, message: "is not valid JSON" };
  }
}

/** Counts brackets outside strings. The result is undefined for invalid JSON, which the parser refuses anyway. */
export const nestsDeeper = (text: string, limit: number): boolean => depthOf(text, limit) > limit;

/** The levels of valid JSON. Stops at the first one above `limit`. */
export function depthOf(text: string, limit = Number.POSITIVE_INFINITY): number {
  let depth = 0;
  let deepest = 0;
  for (let i = 0; i < text.length && deepest <= limit; i++) {
    const unit = text.charCodeAt(i);
    if (unit === 34) i = endOfString(text, i + 1);
    else if (unit === 123 || unit === 91) deepest = Math.max(deepest, ++depth);
    else if (unit === 125 || unit === 93) depth--;
  }
  return deepest;
}

/** The index of the quote that ends a string: the next one with an even number of backslashes before it. */
function endOfString(text: string, start: number): number {
  for (let at = text.indexOf('"', start); at !== -1; at = text.indexOf('"', at + 1)) {
    let before = at;
    while (before > start && text.charCodeAt(before - 1) === 92) before--;
    if ((at - before) % 2 === 0) return at;
  }
  return text.length;
}
