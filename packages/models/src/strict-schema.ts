import { isJsonObject, type JsonObject, type JsonValue, oncePer, readArguments } from "@patchbay/kit";
import { mapSchema } from "@patchbay/schema";
import type { ModelFunction } from "@patchbay/engine/ports/model-provider";
import { requiredOf, wireSchema } from "./wire-schema.ts";

/**
 * What all providers accept in a strict schema. Each supports keywords that others lack, and refuses the whole request
 * for a keyword that it lacks: https://developers.openai.com/api/docs/guides/structured-outputs,
 * https://platform.claude.com/docs/en/build-with-claude/structured-outputs (2026-11-22).
 */
const ANNOTATIONS = ["title", "description"];
const CHOICE = ["anyOf", ...ANNOTATIONS];
const OBJECT = ["type", "properties", "required", "additionalProperties", ...ANNOTATIONS];
const LIST = ["type", "items", ...ANNOTATIONS];
const SCALAR = ["type", "enum", ...ANNOTATIONS];
const SCALARS: unknown[] = ["string", "number", "integer", "boolean", "null"];
/** Of one function for OpenAI, and of a request's functions together for Claude. */
const MOST = { members: 100, "optional members": 24, choices: 16, "fixed values": 250, characters: 15_000 };
const MOST_LEVELS = 5;
/** Claude's limit for a request. */
const MOST_FUNCTIONS = 20;

type Counts = Record<keyof typeof MOST, number>;

const NONE: Counts = { members: 0, "optional members": 0, choices: 0, "fixed values": 0, characters: 0 };
const LIMITS = Object.entries(MOST) as [keyof Counts, number][];
const excessIn = (...counts: Counts[]) =>
  LIMITS.find(([what, most]) => counts.reduce((sum, one) => sum + one[what], 0) > most);

const examined = oncePer((inputSchema: JsonObject) => {
  const wire = wireSchema(inputSchema);
  const counts = { ...NONE, characters: JSON.stringify(wire).length };
  const fault = faultOf(wire, { path: "its input", level: 1, counts });
  const excess = excessIn(counts);
  return { counts, fault: fault ?? (excess && `its input has more than ${excess[1]} ${excess[0]}`) };
});

/** Why providers cannot be asked to write only arguments that meet the function's schema; undefined when they can. */
export function strictFault({ inputSchema }: Pick<ModelFunction, "inputSchema">): string | undefined {
  return examined(inputSchema).fault;
}

/** Those functions that can be strict in one request for Claude and Gemini. From the last, which may be the answer's. */
export const strictTogether = oncePer((functions: readonly ModelFunction[]): ReadonlySet<ModelFunction> => {
  const strict = new Map<ModelFunction, Counts>();
  for (const one of functions.toReversed()) {
    const { fault, counts } = examined(one.inputSchema);
    if (fault === undefined && strict.size < MOST_FUNCTIONS && !excessIn(counts, ...strict.values()))
      strict.set(one, counts);
  }
  return new Set(strict.keys());
});

/**
 * OpenAI wants each member of a strict schema required: the model writes null for an optional one. The null is removed
 * before the arguments are recorded or checked, so a call is the same as without strict.
 */
export const strictParameters = oncePer((functions: readonly ModelFunction[]) => {
  const strict = new Map(functions.filter((one) => !strictFault(one)).map((one) => [one.name, one.inputSchema]));
  return {
    /** The schema to send; undefined for a function that is not strict. */
    schemaOf({ name }: ModelFunction): JsonObject | undefined {
      const schema = strict.get(name);
      return schema && mapSchema(wireSchema(schema), requireAll);
    },
    fromWire(functionName: string, text: string): string {
      const schema = strict.get(functionName);
      const read = schema && text.includes("null") ? readArguments(text) : undefined;
      return read?.ok ? JSON.stringify(withoutNulls(read.value as JsonValue, wireSchema(schema!))) : text;
    },
  };
});

function requireAll(schema: JsonObject): JsonObject {
  const { properties } = schema;
  if (!isJsonObject(properties)) return schema;
  const needed = requiredOf(schema);
  const members = Object.entries(properties).map(([name, member]): [string, JsonValue] =>
    needed.includes(name) ? [name, member] : [name, { anyOf: [member, { type: "null" }] }],
  );
  return { ...schema, properties: Object.fromEntries(members), required: Object.keys(properties) };
}

/** In a choice, at most one option has optional members. */
function withoutNulls(value: JsonValue, schema: JsonValue | undefined): JsonValue {
  if (!isJsonObject(schema)) return value;
  const { anyOf, items, properties } = schema;
  if (Array.isArray(anyOf)) return anyOf.reduce<JsonValue>(withoutNulls, value);
  if (Array.isArray(value)) return value.map((item) => withoutNulls(item, items));
  if (!isJsonObject(value) || !isJsonObject(properties)) return value;
  const needed = requiredOf(schema);
  const members = Object.entries(value).flatMap(([name, member]): [string, JsonValue][] => {
    if (!Object.hasOwn(properties, name)) return [[name, member]];
    return member === null && !needed.includes(name) ? [] : [[name, withoutNulls(member, properties[name])]];
  });
  return Object.fromEntries(members);
}

type Place = { path: string; level: number; counts: Counts };

function faultOf(schema: JsonValue | undefined, place: Place): string | undefined {
  const { path, level, counts } = place;
  if (!isJsonObject(schema)) return `${path} takes any value`;
  if (level > MOST_LEVELS) return `${path} is nested in more than ${MOST_LEVELS} levels`;
  const { type, anyOf, items } = schema;
  if (Array.isArray(type) && !isScalar(schema)) return `${path} has an object or a list among several types`;
  const known = anyOf ? CHOICE : type === "object" ? OBJECT : type === "array" ? LIST : SCALAR;
  const keyword = Object.keys(schema).find((one) => !known.includes(one));
  if (keyword !== undefined) return `${path} has the keyword ${keyword}`;
  if (Array.isArray(anyOf)) return choiceFault(anyOf, place);
  if (type === "object") return objectFault(schema, place);
  if (type === "array") return faultOf(items, { path: `${path}[]`, level: level + 1, counts });
  return scalarFault(schema, place);
}

const firstOf = (faults: (string | undefined)[]) => faults.find((fault) => fault !== undefined);

function choiceFault(options: JsonValue[], place: Place): string | undefined {
  const { path, counts } = place;
  counts.choices++;
  const before = counts["optional members"];
  const fault = firstOf(options.map((option) => faultOf(option, place)));
  if (
    fault !== undefined ||
    counts["optional members"] === before ||
    options.filter((one) => !isScalar(one)).length < 2
  )
    return fault;
  return `${path} is a choice between objects with optional members`;
}

function objectFault(schema: JsonObject, { path, level, counts }: Place): string | undefined {
  const { properties, additionalProperties } = schema;
  if (additionalProperties !== false || !isJsonObject(properties))
    return `${path} allows members that it does not list`;
  const needed = requiredOf(schema);
  const unlisted = needed.find((name) => !Object.hasOwn(properties, name));
  if (unlisted !== undefined) return `${path} requires ${unlisted}, which it does not list`;
  const members = Object.entries(properties);
  counts.members += members.length;
  return firstOf(
    members.map(([name, member]) => {
      const at = level === 1 ? name : `${path}.${name}`;
      if (!needed.includes(name)) counts["optional members"]++;
      // A model that must write each member could only write null, which differs from an absent one for the function.
      if (!needed.includes(name) && takesNull(member)) return `${at} is optional and can also be null`;
      return faultOf(member, { path: at, level: level + 1, counts });
    }),
  );
}

function scalarFault(schema: JsonObject, { path, counts }: Place): string | undefined {
  const { type, enum: values } = schema;
  if (!isScalar(schema)) return `${path} has no type`;
  if (Array.isArray(type)) counts.choices++;
  if (values === undefined) return undefined;
  const types = [type].flat();
  const isUsable = Array.isArray(values) && values.length > 0 && new Set(values).size === values.length;
  if (!isUsable || !values.every((value) => types.some((one) => isOf(one, value))))
    return `${path} has no fixed values, one twice, or one that its type does not allow`;
  counts["fixed values"] += values.length;
  return undefined;
}

const isScalar = (schema: JsonValue): boolean =>
  isJsonObject(schema) && [schema["type"]].flat().every((type) => SCALARS.includes(type));

const takesNull = (schema: JsonValue): boolean =>
  isJsonObject(schema) &&
  ([schema["type"]].flat().includes("null") ||
    (Array.isArray(schema["anyOf"]) && schema["anyOf"].some((option) => takesNull(option))));

function isOf(type: JsonValue | undefined, value: JsonValue): boolean {
  if (type === "null") return value === null;
  return type === "integer" ? Number.isInteger(value) : typeof value === type;
}
