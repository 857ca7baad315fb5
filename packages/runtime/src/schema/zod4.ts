import { createRequire } from "node:module";
import { type JsonObject } from "@patchbay/kit";
import { MARK } from "@patchbay/schema";
import { isZod3, isZod4, type StandardSchema, type Zod3Schema, type Zod4Schema } from "./schema.ts";
import { describesItself, standardToJsonSchema, zod3ToJsonSchema } from "./to-json-schema.ts";

const require = createRequire(import.meta.url);

/**
 * Writes a zod 4 or zod mini schema as JSON Schema. Parts without a JSON equivalent accept anything. From zod 4.2 on,
 * the schema converts itself. Another zod copy would miss its descriptions and types, because releases keep them at
 * different places.
 */
function zod4ToJsonSchema(schema: Zod4Schema, side: "input" | "output"): JsonObject {
  const options = { unrepresentable: "any", override: (part: Written) => correct(part, side) };
  if (describesItself(schema)) return standardToJsonSchema(schema, side, options);
  // Loaded on first use, because only zod mini and releases before 4.2 need it.
  const { toJSONSchema } = require("zod/v4/core") as {
    toJSONSchema: (schema: Zod4Schema, options: object) => JsonObject;
  };
  const metadata = { get: readMetadata };
  return toJSONSchema(schema, { ...options, io: side, target: "draft-2020-12", metadata });
}

/** The JSON Schema of a schema from a library. Throws the library's errors. */
export function toJsonSchema(schema: StandardSchema | Zod3Schema | Zod4Schema, side: "input" | "output"): JsonObject {
  if (isZod4(schema)) return zod4ToJsonSchema(schema, side);
  return isZod3(schema) ? zod3ToJsonSchema(schema, side) : standardToJsonSchema(schema, side);
}

/** A schema part and its JSON Schema, which may be changed. */
interface Written {
  zodSchema: Zod4Schema;
  jsonSchema: JsonObject;
}

/** JSON input for coerced types. Zod knows only their output. */
const COERCED: Readonly<Record<string, JsonObject>> = {
  date: { type: "string", format: "date-time" },
  bigint: { type: "integer" },
};

/** Formats with a standard meaning. Zod repeats them as a long pattern. */
const STANDARD_FORMATS = new Set("date date-time duration email hostname ipv4 ipv6 uuid".split(" "));

/** Zod checks that it writes as a format next to their pattern. */
const CHECKS = new Set("ends_with includes lowercase starts_with uppercase".split(" "));

/** Gives all zod releases the same output. The newest one knows most. */
function correct({ zodSchema, jsonSchema }: Written, side: "input" | "output"): void {
  const { type, coerce, values = [], keyType, discriminator } = zodSchema._zod.def;
  if (side === "input" && coerce === true && type in COERCED) Object.assign(jsonSchema, COERCED[type]);
  if (type === "literal" && values.length > 1 && values.every((value) => typeof value === "boolean"))
    jsonSchema["type"] = "boolean";
  if (side === "output") copyMark(zodSchema, jsonSchema);
  if (type === "string") correctFormat(zodSchema, jsonSchema);
  if (type === "tuple") correctLength(zodSchema, jsonSchema, side);
  if (type === "record" && keyType !== undefined) correctKeys(zodSchema, jsonSchema, side);
  if (discriminator !== undefined && jsonSchema["anyOf"] !== undefined) {
    jsonSchema["oneOf"] = jsonSchema["anyOf"];
    delete jsonSchema["anyOf"];
  }
  if (jsonSchema["id"] !== undefined && jsonSchema["id"] === readMetadata(zodSchema)?.["id"]) delete jsonSchema["id"];
}

/** `visibleTo` keeps the mark in the definition. A part within a wrapper has the same JSON Schema as the wrapper. */
function copyMark(zodSchema: Zod4Schema, jsonSchema: JsonObject): void {
  const mark = (zodSchema._zod.def as { [MARK]?: string[] })[MARK];
  if (Array.isArray(mark)) jsonSchema[MARK] = both(mark, jsonSchema[MARK]);
}

/** The roles that two marks on one part share. */
export function both(roles: readonly string[], other: unknown): string[] {
  return Array.isArray(other) ? roles.filter((role) => other.includes(role)) : [...roles];
}

/** True if a value for the schema may be absent. */
function isOptional(schema: object | undefined, side: "input" | "output"): boolean {
  const { optin, optout } = (schema as Zod4Schema)._zod;
  return (side === "input" ? optin : optout) !== undefined;
}

/** Older releases do not write how many items a tuple has. */
function correctLength(schema: Zod4Schema, jsonSchema: JsonObject, side: "input" | "output"): void {
  const { items = [], rest } = schema._zod.def;
  const required = items.findLastIndex((item) => !isOptional(item, side)) + 1;
  if (required > 0) jsonSchema["minItems"] ??= required;
  if (!rest) {
    jsonSchema["items"] ??= false;
    jsonSchema["maxItems"] ??= items.length;
  }
}

/** Older releases do not write that a record has all keys in an enum. */
function correctKeys(schema: Zod4Schema, jsonSchema: JsonObject, side: "input" | "output"): void {
  const { keyType, valueType, partial } = schema._zod.def;
  const keys = [...((keyType as Zod4Schema)._zod.values ?? [])].filter((key) => typeof key !== "symbol");
  if (keys.length > 0 && partial !== true && !(side === "input" && isOptional(valueType, side)))
    jsonSchema["required"] ??= keys.map(String);
}

interface FormatDefinition {
  check?: string;
  format?: string;
  pattern?: RegExp;
  offset?: boolean;
  local?: boolean;
  precision?: number;
}

function correctFormat(schema: Zod4Schema, jsonSchema: JsonObject): void {
  for (const part of [schema, ...(schema._zod.def.checks ?? [])]) {
    const { check, format, pattern, offset, local, precision } = part._zod.def as FormatDefinition;
    if (check !== "string_format" || pattern === undefined) continue;
    if (CHECKS.has(jsonSchema["format"] as string)) delete jsonSchema["format"];
    // The standard's format requires an offset and seconds, which these do not have. Releases before 4.6 write it nevertheless.
    const isLax = format === "time" || local === true || precision === -1;
    if (isLax) delete jsonSchema["format"];
    else if (jsonSchema["pattern"] === pattern.source && STANDARD_FORMATS.has(jsonSchema["format"] as string)) {
      // Any pattern other than the format's own adds a constraint, such as an address's domain.
      const plain = new part._zod.constr({ type: "string", check, format, abort: false, offset });
      if ((plain._zod.def as FormatDefinition).pattern?.source === pattern.source) delete jsonSchema["pattern"];
    }
  }
}

/** A part's metadata (`.describe()`, `.meta()`). Throws if it cannot be read. */
export function metadataOf(part: Zod4Schema): Readonly<Record<string, unknown>> {
  const metadata = readMetadata(part);
  if (metadata !== undefined) return metadata;
  throw new TypeError(
    `a schema of "zod/mini" ${versionOf(part)} keeps its descriptions where other packages cannot read them. Upgrade zod to 4.2 or newer, or import z from "zod" instead of "zod/mini".`,
  );
}

function readMetadata(part: Zod4Schema): Readonly<Record<string, unknown>> | undefined {
  if (part.meta !== undefined) return part.meta() ?? {};
  // Zod mini schemas have no method for it. From 4.1.13 on, all zod copies share one registry.
  const { minor, patch } = part._zod.version;
  if (minor < 1 || (minor === 1 && patch < 13)) return undefined;
  const { __zod_globalRegistry: registry } = globalThis as { __zod_globalRegistry?: { get(part: object): object } };
  return (registry?.get(part) ?? {}) as Readonly<Record<string, unknown>>;
}

/** A copy of a schema with more definition members, which methods such as `.min(1)` copy, unlike its metadata. */
export function withDefinition<S extends Zod4Schema>(schema: S, members: object): S {
  // An object's shape may be a getter.
  const copied = Object.defineProperties({}, Object.getOwnPropertyDescriptors(schema._zod.def));
  return schema.clone(Object.assign(copied, members), { parent: true }) as S;
}

export function versionOf({ _zod: { version } }: Zod4Schema): string {
  return `${version.major}.${version.minor}.${version.patch}`;
}
