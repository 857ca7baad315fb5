import { countOf } from "../format/numbers.ts";
import type { FieldShape } from "./field-shape.ts";

/** The content of a form: typed texts, choices as JSON, and lists and groups of these. Undefined is blank. */
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

/** The value of a form and its faults. Formats without a pattern are not checked here; the runtime checks them. */
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
  if (shape.kind === "group") return readGroup(shape, {}, path);
  if (shape.kind === "list") return readList(shape, [], path);
  const message =
    shape.kind === "choice"
      ? "Choose one"
      : shape.kind === "text" && shape.minLength === 0
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
  if (pattern === undefined || pattern.test(text)) return undefined;
  return format === undefined ? `Must match ${pattern.source}` : `Not a valid ${format}`;
}

function numberFault(
  { integer, minimum, maximum }: FieldShape & { kind: "number" },
  value: number,
): string | undefined {
  if (integer && !Number.isInteger(value)) return "Enter a whole number";
  if (minimum !== undefined && value < minimum) return `At least ${minimum}`;
  return maximum !== undefined && value > maximum ? `At most ${maximum}` : undefined;
}

/** The draft of a value, and the path of the first property that the form cannot represent. */
export function draftOf(shape: FieldShape, value: unknown): { draft: Draft | undefined; unfit: string | undefined } {
  const draft = write(shape, value);
  return { draft, unfit: firstDifference(value, readDraft(shape, draft).value, "") };
}

function write(shape: FieldShape, value: unknown): Draft | undefined {
  if (value === undefined) return undefined;
  if (shape.kind === "json") return JSON.stringify(value, null, 2);
  if (value === null) return undefined;
  if (shape.kind === "list")
    return Array.isArray(value) ? value.map((item) => write(shape.item, item) ?? "") : undefined;
  if (shape.kind === "choice") return JSON.stringify(value);
  if (typeof value === "string" || typeof value === "number") return shape.kind === "group" ? undefined : String(value);
  if (shape.kind !== "group" || typeof value !== "object") return undefined;
  return Object.fromEntries(
    shape.properties.map(({ name, shape: property }) => [name, write(property, own(value as JsonObject, name))]),
  );
}

/** The path of the first difference of two JSON values; undefined if they are equal. */
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

/** True if every field is empty, at any depth. */
function isBlank(draft: Draft | undefined): boolean {
  if (draft === undefined || draft === "") return true;
  if (typeof draft === "string") return false;
  return Array.isArray(draft) ? draft.length === 0 : Object.values(draft).every(isBlank);
}

/** An own property by name: `constructor` of a plain object is undefined. */
function own<Value>(object: Readonly<Record<string, Value>>, name: string): Value | undefined {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}

export const join = (path: string, name: string): string => (path === "" ? name : `${path}.${name}`);
