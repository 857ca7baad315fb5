import { countOf } from "../../format/numbers.ts";
import type { FieldShape } from "./field-shape.ts";

/** A form's content: typed texts, choices as JSON, and lists and groups of these. Undefined is blank. */
export type Draft = string | readonly Draft[] | { readonly [name: string]: Draft | undefined };

export interface Fault {
  /** Property names and array indexes joined by dots; empty for the whole value. */
  path: string;
  message: string;
}

type JsonObject = Readonly<Record<string, unknown>>;

interface Read {
  /** Undefined if the property is left out. */
  value: unknown;
  faults: Fault[];
}

/** A form's value and faults. The runtime checks what the form cannot, such as an unknown format. */
export function readDraft(shape: FieldShape, draft: Draft | undefined, required = true, path = ""): Read {
  if (isBlank(draft)) return readBlank(shape, required, path);
  const fault = (message: string): Read => ({ value: undefined, faults: [{ path, message }] });
  switch (shape.kind) {
    case "text":
      return checked(draft, textFault(shape, draft as string), path);
    case "number": {
      const value = Number((draft as string).trim());
      if (!Number.isFinite(value)) return fault("Enter a number, for example 12.5");
      return checked(value, numberFault(shape, value), path);
    }
    case "choice":
      return { value: JSON.parse(draft as string) as unknown, faults: [] };
    case "constant":
      return { value: shape.value, faults: [] };
    case "union": {
      const { option, value } = chosenOf(shape, draft);
      return option ? readDraft(option.shape, value, true, path) : readBlank(shape, required, path);
    }
    case "record":
      return readRecord(shape, draft as readonly Draft[], path);
    case "json":
      try {
        return { value: JSON.parse(draft as string) as unknown, faults: [] };
      } catch (error) {
        return fault(`Invalid JSON: ${error instanceof Error ? error.message : String(error)}`);
      }
    case "list":
      return readList(shape, draft as readonly Draft[], path);
    case "group":
      return readGroup(shape, draft as Record<string, Draft | undefined>, path);
  }
}

/** A blank field: left out if optional; if required, an empty list or group, or a fault. */
function readBlank(shape: FieldShape, required: boolean, path: string): Read {
  if (!required) return { value: undefined, faults: [] };
  if (shape.nullable) return { value: null, faults: [] };
  if (shape.kind === "constant") return { value: shape.value, faults: [] };
  if (shape.kind === "group") return readGroup(shape, {}, path);
  if (shape.kind === "list") return readList(shape, [], path);
  if (shape.kind === "record") return readRecord(shape, [], path);
  const message =
    shape.kind === "choice" || shape.kind === "union"
      ? "Choose one"
      : shape.kind === "text" && textFault(shape, "") === undefined
        ? "Required. To send an empty string, use JSON"
        : "Required";
  return { value: undefined, faults: [{ path, message }] };
}

function readList(shape: FieldShape & { kind: "list" }, drafts: readonly Draft[], path: string): Read {
  const items = drafts.map((draft, index) => readDraft(shape.item, draft, true, join(path, String(index))));
  const { minItems, maxItems } = shape;
  const message =
    drafts.length < minItems
      ? `At least ${countOf(minItems, "item")}`
      : maxItems !== undefined && drafts.length > maxItems
        ? `At most ${countOf(maxItems, "item")}`
        : undefined;
  const own = message === undefined ? [] : [{ path, message }];
  return { value: items.map(({ value }) => value), faults: [...own, ...items.flatMap(({ faults }) => faults)] };
}

/** A union's chosen option and its draft. */
export function chosenOf(shape: FieldShape & { kind: "union" }, draft: Draft | undefined) {
  const { option = "", value } = (typeof draft === "object" ? draft : {}) as { option?: string; value?: Draft };
  return { index: option, option: option === "" ? undefined : shape.options[Number(option)], value };
}

/** A record entry's name and draft. */
export function entryOf(draft: Draft): { name: string; value: Draft | undefined } {
  const { name = "", value } = (typeof draft === "object" ? draft : {}) as { name?: string; value?: Draft };
  return { name, value };
}

function readRecord(shape: FieldShape & { kind: "record" }, drafts: readonly Draft[], path: string): Read {
  const entries = drafts.map(entryOf);
  const read = entries.map(({ name, value }, index) => {
    const at = join(path, String(index));
    const repeated = entries.findIndex((other) => other.name === name) < index;
    const message = name === "" ? "Enter a name" : repeated ? `“${name}” is used twice` : nameFault(shape.names, name);
    const own = message === undefined ? [] : [{ path: nameOf(at), message }];
    const { value: item, faults } = readDraft(shape.value, value, true, at);
    return { entry: [name, item] as const, faults: [...own, ...faults] };
  });
  const value = Object.fromEntries(read.map(({ entry }) => entry));
  return { value, faults: read.flatMap(({ faults }) => faults) };
}

/** The path to an entry's name; no property has it. */
export const nameOf = (path: string): string => `${path}#`;

const nameFault = (names: RegExp | undefined, name: string): string | undefined =>
  names === undefined || names.test(name) ? undefined : `The name must match ${names.source}`;

function readGroup(
  shape: FieldShape & { kind: "group" },
  draft: Record<string, Draft | undefined>,
  path: string,
): Read {
  const properties = shape.properties.map(
    ({ name, required, shape: property }) =>
      [name, readDraft(property, own(draft, name), required, join(path, name))] as const,
  );
  const given = properties
    .filter(([, { value }]) => value !== undefined)
    .map(([name, { value }]) => [name, value] as const);
  return { value: Object.fromEntries(given), faults: properties.flatMap(([, { faults }]) => faults) };
}

const checked = (value: unknown, message: string | undefined, path: string): Read => ({
  value,
  faults: message === undefined ? [] : [{ path, message }],
});

function textFault(
  { minLength, maxLength, pattern, format }: FieldShape & { kind: "text" },
  text: string,
): string | undefined {
  if (text.length < minLength) return `At least ${minLength} characters`;
  if (maxLength !== undefined && text.length > maxLength) return `At most ${maxLength} characters, got ${text.length}`;
  const known = format === undefined ? undefined : FORMATS[format];
  const isFormat = pattern ? pattern.test(text) : (known?.test(text) ?? true);
  if (isFormat) return undefined;
  if (format === undefined) return `Must match ${pattern?.source}`;
  return `Not a valid ${format}${known ? `, for example ${known.example}` : ""}`;
}

const matching = (pattern: RegExp) => (text: string) => pattern.test(text);
const isTime = (text: string): boolean => !Number.isNaN(Date.parse(text));

/**
 * Formats for texts without a pattern, checked as loosely as the loosest validator: what the form refuses, no runtime
 * accepts.
 */
const FORMATS: Partial<Record<string, { test: (text: string) => boolean; example: string }>> = {
  date: { test: (text) => /^\d{4}-\d\d-\d\d$/.test(text) && isTime(text), example: "2026-12-31" },
  "date-time": {
    test: (text) => /^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d/.test(text) && isTime(text),
    example: "2026-12-31T23:59:00Z",
  },
  time: { test: matching(/^\d\d:\d\d(:\d\d)?/), example: "23:59:00Z" },
  email: { test: matching(/^[^\s@]+@[^\s@]+$/), example: "ann@example.com" },
  uri: { test: (text) => URL.canParse(text), example: "https://example.com/page" },
  uuid: {
    test: matching(/^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i),
    example: "123e4567-e89b-12d3-a456-426614174000",
  },
  ipv4: { test: matching(/^\d{1,3}(\.\d{1,3}){3}$/), example: "192.0.2.1" },
};

function numberFault(
  { integer, minimum, maximum, above, below, multipleOf }: FieldShape & { kind: "number" },
  value: number,
): string | undefined {
  if (integer && !Number.isInteger(value)) return "Enter a whole number";
  if (minimum !== undefined && value < minimum) return `At least ${minimum}`;
  if (maximum !== undefined && value > maximum) return `At most ${maximum}`;
  if (above !== undefined && value <= above) return `More than ${above}`;
  if (below !== undefined && value >= below) return `Less than ${below}`;
  return multipleOf === undefined || isMultiple(value, multipleOf) ? undefined : `Must be a multiple of ${multipleOf}`;
}

/** 0.3 / 0.1 is not whole in binary fractions. */
const isMultiple = (value: number, of: number): boolean => Math.abs(value / of - Math.round(value / of)) < 1e-9;

/** A value's draft, and the path to the first property that the form cannot represent. */
export function draftOf(shape: FieldShape, value: unknown): { draft: Draft | undefined; unfit: string | undefined } {
  const draft = write(shape, value);
  return { draft, unfit: firstDifference(value, readDraft(shape, draft).value, "") };
}

function write(shape: FieldShape, value: unknown): Draft | undefined {
  if (value === undefined) return undefined;
  if (shape.kind === "json") return JSON.stringify(value, null, 2);
  if (shape.kind === "union") {
    const index = shape.options.findIndex((option) => fits(option.shape, value));
    const option = shape.options[index];
    return option && { option: String(index), value: write(option.shape, value) };
  }
  if (value === null || shape.kind === "constant") return undefined;
  if (shape.kind === "record" && typeof value === "object")
    return Object.entries(value).map(([name, item]) => ({ name, value: write(shape.value, item) }));
  if (shape.kind === "list")
    return Array.isArray(value) ? value.map((item) => write(shape.item, item) ?? "") : undefined;
  if (shape.kind === "choice") return JSON.stringify(value);
  if (typeof value === "string" || typeof value === "number")
    return shape.kind === "text" || shape.kind === "number" ? String(value) : undefined;
  if (shape.kind !== "group" || typeof value !== "object") return undefined;
  return Object.fromEntries(
    shape.properties.map(({ name, shape: property }) => [name, write(property, own(value as JsonObject, name))]),
  );
}

/** Whether a union's option is the one for a value. */
function fits(shape: FieldShape, value: unknown): boolean {
  const read = readDraft(shape, write(shape, value));
  return read.faults.length === 0 && firstDifference(value, read.value, "") === undefined;
}

/** The path to the first difference between two JSON values; undefined if they are equal. */
function firstDifference(a: unknown, b: unknown, path: string): string | undefined {
  if (Object.is(a, b)) return undefined;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return path;
  if (Array.isArray(a) !== Array.isArray(b)) return path;
  for (const name of new Set([...Object.keys(a), ...Object.keys(b)])) {
    const found = firstDifference(own(a as JsonObject, name), own(b as JsonObject, name), join(path, name));
    if (found !== undefined) return found;
  }
  return undefined;
}

/** An empty text or list. A group is given as soon as it has a draft. */
const isBlank = (draft: Draft | undefined): boolean =>
  draft === undefined || draft === "" || (Array.isArray(draft) && draft.length === 0);

/** An own property by name: `constructor` is undefined on a plain object. */
function own<Value>(object: Readonly<Record<string, Value>>, name: string): Value | undefined {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}

export const join = (path: string, name: string): string => (path === "" ? name : `${path}.${name}`);
