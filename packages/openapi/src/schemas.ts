import type { JsonObject, JsonValue } from "@patchbay/functions";
import { readForeignSchema, visibleText } from "@patchbay/functions/sources";
import { isJsonObject, present } from "@patchbay/kit";
import { compilePattern, followRef, mapSchema, MOST_PARTS, withoutAnnotations } from "@patchbay/schema";
import { follow, itemsOf, membersOf, textOf } from "./document.ts";

/** An input is what a model writes and an API reads, an output the reverse. */
type Side = "input" | "output";

/**
 * UTF-16 units for a schema with its definitions. If they do not fit, all lose their descriptions, and then the last ones accept
 * any value with their type. An input has at most 64 KiB.
 */
const MOST_UNITS = { input: 48_000, output: 16_000 };

/** Says how a member with bytes is written. */
export const FILE_NOTE = "The text of a file, or a data: URL for other bytes (data:image/png;base64,...).";

/** Marks members that the other side sets. */
const MARKERS = { input: "readOnly", output: "writeOnly" };

interface Converted {
  schema: JsonObject;
  /** Pointers into the document that it refers to. */
  refs: ReadonlySet<string>;
  units: number;
}

/** Writes a document's schemas as JSON Schema 2020-12, each with the definitions that it needs. */
export function createSchemas(root: JsonObject) {
  const known = { input: new Map<string, Converted>(), output: new Map<string, Converted>() };
  const convert = (schema: JsonObject, side: Side): Converted => {
    // In two passes: a member with a marker must be seen before its own schema loses it.
    const kept = mapSchema(schema, (part) => withoutMarked(toCurrent(part), MARKERS[side], root));
    const room = { parts: MOST_PARTS };
    const own = mapSchema(readForeignSchema(kept, "schema", visibleText), (part) =>
      side === "input" ? toInput(part, room) : toOutput(part),
    );
    const refs = new Set<string>();
    mapSchema(own, (part) => {
      if (typeof part["$ref"] === "string") refs.add(part["$ref"]);
      return part;
    });
    return { schema: own, refs, units: JSON.stringify(own).length };
  };
  const component = (ref: string, side: Side): Converted => {
    const before = known[side].get(ref);
    if (before) return before;
    const target = followRef(root, ref);
    if (target === undefined) throw new Error(`its reference ${ref} has no target`);
    const made = convert(isJsonObject(target) ? target : {}, side);
    known[side].set(ref, made);
    return made;
  };
  const compose = (schema: JsonObject, side: Side, hasTexts: boolean): JsonObject => {
    const own = convert(follow(root, schema) ?? {}, side);
    const names = new Map<string, string>();
    const definitions: [string, JsonObject][] = [];
    let left = MOST_UNITS[side] - own.units;
    const refs = new Set(own.refs);
    for (const ref of refs) {
      const target = component(ref, side);
      const found = hasTexts ? target.schema : withoutAnnotations(target.schema);
      const units = hasTexts ? target.units : JSON.stringify(found).length;
      const name = unusedName(ref, new Set(names.values()));
      names.set(ref, name);
      const fits = units <= left;
      if (!fits && hasTexts) return compose(schema, side, false);
      definitions.push([name, fits ? found : present({ type: found["type"] })]);
      if (!fits) continue;
      left -= units;
      for (const one of target.refs) refs.add(one);
    }
    const renamed = (part: JsonObject): JsonObject =>
      typeof part["$ref"] === "string" ? { ...part, $ref: `#/$defs/${names.get(part["$ref"])}` } : part;
    const written = mapSchema(own.schema, renamed);
    if (definitions.length === 0) return written;
    return { ...written, $defs: Object.fromEntries(definitions.map(([name, one]) => [name, mapSchema(one, renamed)])) };
  };
  return (schema: JsonObject, side: Side): JsonObject => compose(schema, side, true);
}

function unusedName(ref: string, taken: ReadonlySet<string>): string {
  const own = ref.slice(ref.lastIndexOf("/") + 1).replaceAll(/[^A-Za-z0-9_.-]/g, "_");
  let name = own;
  for (let count = 2; taken.has(name); count++) name = `${own}_${count}`;
  return name;
}

/** OpenAPI 3.0 has `nullable` also next to references and compositions, and one `example`. */
function toCurrent({ nullable, example, required, ...part }: JsonObject): JsonObject {
  const current = {
    ...part,
    ...(Array.isArray(required) && { required }),
    ...(example !== undefined && { examples: [example] }),
  };
  if (nullable !== true) return current;
  const { description, examples: _, ...rest } = current as JsonObject;
  if (rest["type"] !== undefined) return { ...current, nullable };
  if (Object.keys(rest).length === 0) return current;
  return { ...(description !== undefined && { description }), anyOf: [rest, { type: "null" }] };
}

/** A schema without members that have the marker. */
function withoutMarked(part: JsonObject, marker: string, root: JsonObject): JsonObject {
  const isMarked = (member: JsonValue) => {
    const target =
      isJsonObject(member) && typeof member["$ref"] === "string" ? followRef(root, member["$ref"]) : member;
    return [member, target].some((one) => isJsonObject(one) && one[marker] === true);
  };
  const kept = membersOf(part["properties"]).filter(([, member]) => !isMarked(member));
  if (kept.length === membersOf(part["properties"]).length) return part;
  const removed = Object.keys(part["properties"] as JsonObject).filter((name) => !kept.some(([own]) => own === name));
  const required = itemsOf(part["required"]).filter((name) => !removed.includes(name as string));
  return { ...part, properties: Object.fromEntries(kept), ...(part["required"] !== undefined && { required }) };
}

/**
 * What a model may write. The API fills in defaults: sent with a change, they would replace values that are set. Several
 * alternatives may match, because the API has a discriminator. It also checks patterns in other dialects.
 */
function toInput(whole: JsonObject, room: { parts: number }): JsonObject {
  const { default: fallback, examples, description, oneOf, pattern, $id: _, $anchor: __, ...part } = whole;
  const [example] = itemsOf(examples);
  const notes = [
    textOf(description)
      .trim()
      .replace(/[\p{L}\p{N})"']$/u, "$&."),
    isScalar(fallback) && `Default: ${JSON.stringify(fallback)}.`,
    isScalar(example) && `Example: ${JSON.stringify(example)}.`,
    part["format"] === "binary" && FILE_NOTE,
  ].filter((note) => note !== false && note !== "");
  return {
    ...part,
    ...(notes.length > 0 && { description: notes.join(" ") }),
    ...(oneOf !== undefined && { anyOf: [...itemsOf(part["anyOf"]), ...itemsOf(oneOf)] }),
    ...(typeof pattern === "string" && isMatchable(pattern, room) && { pattern }),
  };
}

const isScalar = (value: JsonValue | undefined): boolean =>
  typeof value === "number" || typeof value === "boolean" || (typeof value === "string" && value.length < 100);

function isMatchable(pattern: string, room: { parts: number }): boolean {
  try {
    void new RegExp(pattern, "u");
    compilePattern(pattern, room);
    return true;
  } catch {
    return false;
  }
}

const SHAPE = new Set(
  "type properties patternProperties additionalProperties items prefixItems allOf anyOf oneOf $ref $defs".split(" "),
);

/**
 * An answer's form: its members, and which are objects and lists. Leaves out bounds, required members and scalar types, because
 * a call that changed something must not fail for them.
 */
function toOutput(part: JsonObject): JsonObject {
  const { type, oneOf, additionalProperties, ...rest } = Object.fromEntries(
    Object.entries(part).filter(([keyword]) => SHAPE.has(keyword)),
  );
  const types = new Set([type ?? []].flat().flatMap((one) => (one === "object" || one === "array" ? one : SCALARS)));
  // PHP writes an empty object as an empty list.
  const isObject = types.has("object") && !types.has("array");
  return {
    ...rest,
    ...(types.size > 0 && { type: [...types.add("null"), ...(isObject ? ["array"] : [])] }),
    ...(isObject && { maxItems: 0 }),
    ...(oneOf !== undefined && { anyOf: [...itemsOf(rest["anyOf"]), ...itemsOf(oneOf)] }),
    // Then members that the schema does not list are dropped, where they would make the answer invalid.
    ...(additionalProperties !== undefined && additionalProperties !== false && { additionalProperties }),
  };
}

const SCALARS = ["string", "number", "boolean"];
