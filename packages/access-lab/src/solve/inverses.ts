import { textsLike } from "@patchbay/schema";
import { type Back, keysOf, truthGoal } from "./terms.ts";

const DAY_MS = 86_400_000;

/** Values near a bound. */
function near(bound: unknown): unknown[] {
  if (bound instanceof Date) return [-DAY_MS, 0, DAY_MS].map((ms) => new Date(Number(bound) + ms));
  if (typeof bound === "string") return [`${bound}a`, bound.slice(0, -1), bound];
  const all = [1, -1, 0, 0.01, -0.01].map((step) => Number(bound) + step);
  return typeof bound === "bigint" ? all.map((value) => BigInt(Math.trunc(value))) : all;
}

type Numbers = (wanted: number, values: readonly [number, number], index: number) => number[];

const TURNS = [0, 1, -1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 100];

const NUMBERS: Readonly<Record<string, Numbers>> = {
  "+": (wanted, values, i) => [wanted - values[1 - i]!],
  "-": (wanted, [left, right], i) => [i === 0 ? wanted + right : left - wanted],
  "*": (wanted, values, i) => [wanted / values[1 - i]!],
  "/": (wanted, [left, right], i) => [i === 0 ? wanted * right : left / wanted],
  "%": (wanted, [left, right], i) =>
    i === 0 ? [wanted, ...TURNS.map((turn) => left - (left % right) + wanted + turn * right)] : [left - wanted],
  "**": (wanted, [left, right], i) => {
    const found = Math.round(i === 0 ? wanted ** (1 / right) : Math.log(wanted) / Math.log(left));
    return [found, -found];
  },
};

/** For operators on bits. */
const bits: Numbers = (wanted, values, i) => {
  const other = values[1 - i]!;
  return [wanted, wanted ^ other, wanted | values[i]!, wanted * 2 ** other, wanted / 2 ** other, values[i]! & wanted];
};

const OTHERS = [true, false].flatMap((truth) => truthGoal(truth).tries);
const OF_TYPE: Readonly<Record<string, unknown>> = { string: "a", number: 1, boolean: true, object: {} };

export const operatorBack =
  (operator: string): Back =>
  (wanted, index, values) => {
    const other = values[1 - index];
    if (/^[!=]==?$/.test(operator)) return operator.startsWith("!") === Boolean(wanted) ? OTHERS : [other];
    if (/^[<>]=?$/.test(operator)) return near(other);
    if (operator === "in") return index === 1 ? withMember(values[1], values[0], wanted) : keysOf(values[1]);
    if (operator === "typeof") return [OF_TYPE[String(wanted)]];
    if (values.length === 1) return [-Number(wanted), ~Number(wanted), wanted, String(wanted)];
    return (NUMBERS[operator] ?? bits)(Number(wanted), [Number(values[0]), Number(values[1])], index);
  };

function withMember(object: unknown, name: unknown, isIn: unknown): unknown[] {
  const { [String(name)]: _, ...rest } = (object ?? {}) as Record<string, unknown>;
  return [isIn ? { ...rest, [String(name)]: "a" } : rest];
}

/** A text with another text in it at a position. */
function placed(text = "", part: string, start = 0): string {
  const from = start < 0 ? Math.max(0, text.length + start) : start;
  return text.padEnd(from, "a").slice(0, from) + part + text.slice(from + part.length);
}

/** `all`: a method's object and its arguments. A failure means that there is no inverse. */
type Inverse = (wanted: never, all: readonly [never, never, never], index: number) => readonly unknown[];

const contains: Inverse = (
  wanted: boolean,
  [list, item]: readonly [unknown[] | string | undefined, unknown, unknown],
) => {
  if (Array.isArray(list)) return wanted ? [[...list, item], [item]] : [list.filter((one) => one !== item)];
  const [text, part] = [list ?? "", String(item)];
  return wanted ? [part, text + part, part + text, [item]] : ["", []];
};
type At = readonly [string | undefined, number?, unknown?];
const cut: Inverse = (wanted: string, [text, start]: At) => [placed(text, wanted, start), wanted];
const named = (values: readonly unknown[]) => Object.fromEntries(values.map((value, i) => [`a${i}`, value]));
const turned: Inverse = (wanted: unknown[]) => [wanted, wanted.toReversed()];
const numberlike: Inverse = () => [1, 0.5, "1", "a", ["a"]];

/** By the name of a function or method that is not the owner's: values of its object, and of its first argument. */
const INVERSES: Readonly<Record<string, Inverse>> = {
  includes: contains,
  startsWith: contains,
  endsWith: contains,
  has: contains,
  at: cut,
  charAt: cut,
  slice: cut,
  substring: cut,
  indexOf: (wanted: number, [, item]) => ["a".repeat(wanted) + String(item)],
  charCodeAt: (wanted: number, [text, i]: At) => [placed(text, String.fromCharCode(wanted), i)],
  split: (wanted: string[], [, separator]) => [wanted.join(separator)],
  join: (wanted: string, [, separator = ","]: readonly [unknown, string?, unknown?]) => [wanted.split(separator)],
  toUpperCase: (wanted: string) => [wanted, wanted.toLowerCase()],
  toLowerCase: (wanted: string) => [wanted, wanted.toUpperCase()],
  trim: (wanted: string) => [wanted, ` ${wanted}`],
  sort: turned,
  toSorted: turned,
  reverse: turned,
  toReversed: turned,
  toString: (wanted: string, all: Parameters<Inverse>[1]) => [
    Buffer.from(wanted, all[1]),
    Number.parseInt(wanted, all[1]),
    wanted,
  ],
  get: (wanted: string, [from, key]) => {
    const { constructor: Collection } = from as { constructor: new (from: unknown) => Map<unknown, unknown> };
    const made = new Collection(from);
    made.set(key, wanted);
    return [made];
  },
  parse: (wanted) => [JSON.stringify(wanted), ...casts(wanted)],
  stringify: (wanted: string) => [JSON.parse(wanted)],
  ...Object.fromEntries(
    [
      [encodeURIComponent, decodeURIComponent],
      [encodeURI, decodeURI],
      [btoa, atob],
    ].flatMap(([make, read]) => [
      [make!.name, (wanted: never) => [read!(wanted)]],
      [read!.name, (wanted: never) => [make!(wanted)]],
    ]),
  ),
  from: (wanted: Buffer, [, , encoding]) => [wanted.toString(encoding), wanted],
  parseInt: (wanted: number, [, , radix]) => [wanted.toString(radix), wanted],
  Boolean: (wanted: boolean) => truthGoal(wanted).tries,
  keys: (wanted: string[]) => [Object.fromEntries(wanted.map((name) => [name, "a"])), named(wanted)],
  values: (wanted: unknown[]) => [named(wanted)],
  entries: (wanted: [string, unknown][]) => [Object.fromEntries(wanted)],
  fromEntries: (wanted: object) => [Object.entries(wanted)],
  hasOwn: (wanted, [, object, name], i) => (i === 1 ? withMember(object, name, wanted) : keysOf(object)),
  canParse: () => ["https://example.com/", "a"],
  isInteger: numberlike,
  isNaN: numberlike,
  isArray: numberlike,
};

const TYPES = { Array, BigInt, Boolean, Buffer, Date, Map, Number, Object, RegExp, Set, String, URL, URLSearchParams };
const SPACES = { JSON, Math, NaN, Infinity, undefined };
const PARSERS = { parseInt, parseFloat, isNaN, isFinite, structuredClone, atob, btoa };
const CODERS = { encodeURI, decodeURI, encodeURIComponent, decodeURIComponent };
/** What the language offers by name. Clock, network and random numbers are not there. */
export const GLOBALS: Readonly<Record<string, unknown>> = { ...TYPES, ...SPACES, ...PARSERS, ...CODERS };

const isNamespace = (from: unknown) => typeof from === "function" || from === GLOBALS || from === JSON || from === Math;

export const methodBack =
  (name: string): Back =>
  (wanted, index, all) => {
    const [from, first] = all;
    if (from instanceof RegExp) return matchesOf(from, wanted);
    if (first instanceof RegExp && typeof wanted !== "string") return matchesOf(first, wanted);
    if (index > 0 && !isNamespace(from)) return keysOf(from);
    if (from instanceof Date && name.startsWith("get")) return datesWith(from, name, Number(wanted));
    const inverse = Object.hasOwn(INVERSES, name) ? INVERSES[name] : undefined;
    return inverse ? inverse(wanted as never, all as never, index) : casts(wanted);
  };

/** Values that become the wanted one when they are parsed, rounded or copied. */
function casts(wanted: unknown): unknown[] {
  const is = Number(wanted);
  const numbers = [is, -is, is + 0.5, is ** 2, Math.sqrt(is), 10 ** is, 2 ** is, Math.exp(is), Math.log(is)];
  const date = new Date(is);
  const dates = Number.isNaN(Number(date)) ? [] : [date, date.toISOString(), date.toISOString().slice(0, 10)];
  const isList = wanted instanceof Set || wanted instanceof Map || Array.isArray(wanted);
  const items: unknown[] = isList ? [...(wanted as Iterable<unknown>)] : [];
  return [wanted, String(wanted), ...(isList ? [items, items.join("")] : []), ...numbers, ...dates];
}

/** Texts that a pattern matches, with wanted groups. */
function matchesOf(pattern: RegExp, groups: unknown): string[] {
  return textsLike(pattern.source).flatMap((text) => {
    const found = text.match(pattern);
    const wanted = Object.entries(groups ?? {}).filter(([i]) => found?.[Number(i)] !== undefined);
    return [text, ...wanted.map(([i, group]) => text.replace(found![Number(i)]!, String(group)))];
  });
}

/** Dates of which one part has a value. */
function datesWith(from: Date, getter: string, wanted: number): Date[] {
  const date = Number.isNaN(Number(from)) ? new Date("2026-01-31T12:00:00Z") : new Date(from);
  const parts = date as unknown as Record<string, (value?: number) => number>;
  // A weekday has no setter.
  if (getter.endsWith("Day")) date.setUTCDate(date.getUTCDate() + wanted - parts[getter]!());
  else parts[getter.replace("get", "set")]!(wanted);
  return [date];
}
