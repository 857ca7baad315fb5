import type { FieldShape } from "./field-shape.ts";

/** What stands in a form: texts as they are typed, the JSON of what was chosen, lists and groups of these. Absent is blank. */
export type Draft = string | readonly Draft[] | { readonly [name: string]: Draft | undefined };

export interface Fault {
  /** Names and positions with dots between them, empty for the whole. */
  path: string;
  message: string;
}

type Members = Readonly<Record<string, unknown>>;

interface Read {
  /** Undefined where the member is left out. */
  value: unknown;
  faults: Fault[];
}

/** The value that a form stands for, and what is wrong with it. Patterns and formats are left to the owner's side. */
export function readDraft(shape: FieldShape, draft: Draft | undefined, required = true, path = ""): Read {
  if (isBlank(draft)) return readBlank(shape, required, path);
  const fault = (message: string): Read => ({ value: undefined, faults: [{ path, message }] });
  switch (shape.kind) {
    case "text":
      return checked(draft, lengthFault(shape, draft as string), path);
    case "number": {
      const value = Number((draft as string).trim());
      if (!Number.isFinite(value)) return fault("Write a number, such as 12.5");
      return checked(value, numberFault(shape, value), path);
    }
    case "choice":
      return { value: JSON.parse(draft as string) as unknown, faults: [] };
    case "json":
      try {
        return { value: JSON.parse(draft as string) as unknown, faults: [] };
      } catch (error) {
        return fault(`This is not JSON: ${error instanceof Error ? error.message : "it cannot be read"}`);
      }
    case "list":
      return readList(shape, draft as readonly Draft[], path);
    case "group":
      return readGroup(shape, draft as Record<string, Draft | undefined>, path);
  }
}

/** A text that must be there is the empty one; anything else that must be there is missing. */
function readBlank(shape: FieldShape, required: boolean, path: string): Read {
  if (!required) return { value: undefined, faults: [] };
  if (shape.nullable) return { value: null, faults: [] };
  if (shape.kind === "group") return readGroup(shape, {}, path);
  if (shape.kind === "list") return readList(shape, [], path);
  if (shape.kind === "text") return checked("", lengthFault(shape, ""), path);
  const message = shape.kind === "choice" ? "Choose one" : "This is needed";
  return { value: undefined, faults: [{ path, message }] };
}

function readList(shape: FieldShape & { kind: "list" }, drafts: readonly Draft[], path: string): Read {
  const items = drafts.map((draft, index) => readDraft(shape.item, draft, true, join(path, String(index))));
  const { minItems, maxItems } = shape;
  const message =
    drafts.length < minItems
      ? `At least ${minItems} needed`
      : maxItems !== undefined && drafts.length > maxItems
        ? `At most ${maxItems} may be given`
        : undefined;
  const own = message === undefined ? [] : [{ path, message }];
  return { value: items.map(({ value }) => value), faults: [...own, ...items.flatMap(({ faults }) => faults)] };
}

function readGroup(
  shape: FieldShape & { kind: "group" },
  draft: Record<string, Draft | undefined>,
  path: string,
): Read {
  const members = shape.members.map(
    ({ name, required, shape: member }) =>
      [name, readDraft(member, own(draft, name), required, join(path, name))] as const,
  );
  const given = members
    .filter(([, { value }]) => value !== undefined)
    .map(([name, { value }]) => [name, value] as const);
  return { value: Object.fromEntries(given), faults: members.flatMap(([, { faults }]) => faults) };
}

const checked = (value: unknown, message: string | undefined, path: string): Read => ({
  value,
  faults: message === undefined ? [] : [{ path, message }],
});

function lengthFault({ minLength, maxLength }: FieldShape & { kind: "text" }, text: string): string | undefined {
  if (text.length < minLength) return minLength === 1 ? "This is needed" : `At least ${minLength} characters`;
  return maxLength !== undefined && text.length > maxLength
    ? `At most ${maxLength} characters, and these are ${text.length}`
    : undefined;
}

function numberFault(
  { integer, minimum, maximum }: FieldShape & { kind: "number" },
  value: number,
): string | undefined {
  if (integer && !Number.isInteger(value)) return "Write a whole number";
  if (minimum !== undefined && value < minimum) return `At least ${minimum}`;
  return maximum !== undefined && value > maximum ? `At most ${maximum}` : undefined;
}

/** The form of a value, and the first place of it that the form cannot show as it is. */
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
    shape.members.map(({ name, shape: member }) => [name, write(member, own(value as Members, name))]),
  );
}

/** Where two JSON values differ first; undefined where they are alike. */
function firstDifference(a: unknown, b: unknown, path: string): string | undefined {
  if (Object.is(a, b)) return undefined;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return path;
  if (Array.isArray(a) !== Array.isArray(b)) return path;
  for (const name of new Set([...Object.keys(a), ...Object.keys(b)])) {
    const found = firstDifference(own(a as Members, name), own(b as Members, name), join(path, name));
    if (found !== undefined) return found;
  }
  return undefined;
}

/** True where nothing was typed or chosen, at any depth. */
function isBlank(draft: Draft | undefined): boolean {
  if (draft === undefined || draft === "") return true;
  if (typeof draft === "string") return false;
  return Array.isArray(draft) ? draft.length === 0 : Object.values(draft).every(isBlank);
}

/** A member by its name, never one that every object has. */
function own<Value>(object: Readonly<Record<string, Value>>, name: string): Value | undefined {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}

export const join = (path: string, name: string): string => (path === "" ? name : `${path}.${name}`);
