import { createRequire } from "node:module";
import { followRef, isJsonObject, type JsonObject, mapSchema, memberPath } from "@patchbay/protocol";
import type { Schema, StandardSchema, Zod3Schema } from "./schema.ts";
import { z } from "zod";

const require = createRequire(import.meta.url);

interface Definition {
  typeName?: string;
  coerce?: boolean;
  effect?: { type: string };
  unknownKeys?: string;
  catchall?: { _def: { typeName: string } };
}

/** Types of zod 3 without a JSON equivalent. The converter would describe them as something that the schema refuses. */
const NOT_JSON: Record<string, string> = {
  ZodDate: "date",
  ZodBigInt: "bigint",
  ZodMap: "map",
  ZodSet: "set",
  ZodSymbol: "symbol",
  ZodFunction: "function",
  ZodPromise: "promise",
  ZodNaN: "nan",
};

/** Writes a zod 3 schema as JSON Schema. */
export function zod3ToJsonSchema(schema: Zod3Schema, { side, unwritable }: Writing): JsonObject {
  // Loaded on first use, because owners with zod 4 need neither the converter nor the zod 3 that it imports.
  const converter = require("zod-to-json-schema") as typeof import("zod-to-json-schema");
  return converter.zodToJsonSchema(schema as unknown as Parameters<typeof converter.zodToJsonSchema>[0], {
    pipeStrategy: side,
    removeAdditionalStrategy: "strict",
    allowedAdditionalProperties: undefined,
    override(definition, { currentPath }) {
      const { typeName = "", coerce, effect } = definition as Definition;
      // The converter would describe the input of a transform, whose output may be anything.
      if (side === "output" && (effect?.type === "transform" || typeName in NOT_JSON)) return {};
      const kind = NOT_JSON[typeName];
      if (kind !== undefined && coerce !== true) unwritable?.({ path: memberPath(currentPath.slice(1)), kind });
      return converter.ignoreOverride;
    },
    // The converter does not distinguish objects that drop unlisted properties from those that keep them.
    postProcess(jsonSchema, definition) {
      const { typeName, unknownKeys, catchall } = definition as Definition;
      const keepsOthers = typeName === "ZodObject" && unknownKeys === "passthrough";
      if (!jsonSchema || !keepsOthers || catchall?._def.typeName !== "ZodNever") return jsonSchema;
      return { ...jsonSchema, additionalProperties: {} };
    },
  }) as JsonObject;
}

/** The properties of a zod 3 object. None for other schemas. */
export function zod3Members(schema: Zod3Schema): string[] {
  const { shape } = schema._def as { shape?: () => object };
  return Object.keys(shape?.() ?? {});
}

/** The JSON input of coerced types. The converter knows only their output. */
const COERCED: Record<string, JsonObject> = {
  date: { type: "string", format: "date-time" },
  bigint: { type: "integer" },
};

/** Writes a zod 4 or zod mini schema as JSON Schema. Parts without a JSON equivalent accept anything. */
export function zod4ToJsonSchema(schema: Schema, { side, unwritable }: Writing): JsonObject {
  const jsonSchema: unknown = z.toJSONSchema(schema as unknown as z.ZodType, {
    io: side,
    target: "draft-2020-12",
    unrepresentable({ zodSchema, path }) {
      const definition: { type: string; coerce?: boolean } = zodSchema._zod.def;
      const coerced = side === "input" && definition.coerce === true && COERCED[definition.type];
      if (!coerced) unwritable?.({ path: memberPath(path), kind: definition.type });
      return coerced || "any";
    },
  });
  return jsonSchema as JsonObject;
}

/** The properties of a zod 4 object. None for other schemas. */
export function zod4Members(schema: Schema): string[] {
  const { shape } = (schema as unknown as { _zod: { def: { shape?: object } } })._zod.def;
  return Object.keys(shape ?? {});
}

interface Converter {
  input(options: ConverterOptions): unknown;
  output(options: ConverterOptions): unknown;
}

interface ConverterOptions {
  target: "draft-2020-12";
  libraryOptions?: Record<string, unknown>;
}

/** True if the schema can write JSON Schema (`~standard.jsonSchema`). */
export function describesItself(schema: StandardSchema): boolean {
  return converterOf(schema) !== undefined;
}

/** The JSON Schema that a library writes for its own schema. Throws the errors of the library. */
export function standardToJsonSchema(schema: StandardSchema, side: "input" | "output"): JsonObject {
  const strict = side === "input" && schema["~standard"].vendor === "arktype";
  const options: ConverterOptions = { target: "draft-2020-12", ...(strict ? { libraryOptions: ARKTYPE_STRICT } : {}) };
  const written = converterOf(schema)?.[side](options);
  if (!isJsonObject(written)) throw new TypeError("the schema library did not return a JSON Schema");
  return written;
}

function converterOf(schema: StandardSchema): Converter | undefined {
  return (schema["~standard"] as { jsonSchema?: Converter }).jsonSchema;
}

function refuse({ code }: { code: string }): never {
  throw new TypeError(`a part of kind "${code}" has no JSON equivalent`);
}

/** Without these options, arktype writes a date or a class as a schema that accepts anything. */
const ARKTYPE_STRICT = {
  fallback: { date: refuse, domain: refuse, proto: refuse, symbolKey: refuse, unit: refuse },
};

/** A part of a schema that JSON Schema cannot express. */
export interface Unwritable {
  path: string;
  kind: string;
}

/** Options for writing JSON Schema: for the values that a schema accepts, or for those that it outputs. */
interface Writing {
  side: "input" | "output";
  /** Called for each part without a JSON equivalent. */
  unwritable?: (part: Unwritable) => void;
}

const INSTEAD: Record<string, string> = {
  date: "take text and convert it: z.iso.datetime(), z.coerce.date(), or z.string().pipe(z.coerce.date())",
  bigint: "take an integer or its text: z.int(), or z.string().transform(BigInt)",
  map: "take an object: z.record(z.string(), ...)",
  set: "take an array: z.array(...)",
  transform: "put a schema before it: z.string().transform(...)",
  custom: "describe what it accepts with a built-in schema and refine that: z.string().refine(...)",
  undefined: "make the property optional: .optional()",
};

export function explainUnwritable({ path, kind }: Unwritable): string {
  const where = path === "" ? "the schema itself" : `"${path}"`;
  return `${where} is of kind "${kind}", which JSON does not have; ${INSTEAD[kind] ?? "use a kind that JSON has"}`;
}

const { regexes } = z;

/**
 * The patterns that zod adds to a format. They repeat the format at length. Any other pattern adds a constraint, such as the domain
 * of an address.
 */
const SPELT_OUT: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries({
    date: [regexes.date],
    "date-time": [regexes.datetime({}), regexes.datetime({ offset: true })],
    duration: [regexes.duration],
    email: [regexes.email],
    hostname: [regexes.hostname],
    ipv4: [regexes.ipv4],
    ipv6: [regexes.ipv6],
    time: [regexes.time({})],
    uuid: [regexes.uuid(), regexes.guid],
  }).map(([format, patterns]) => [format, patterns.map(({ source }) => source)]),
);

/** Converts the JSON Schema of any library to the form that models receive: draft 2020-12, without `$schema` and without a reference at the root. */
export function tidy(written: JsonObject): JsonObject {
  const copy = JSON.parse(JSON.stringify(written)) as JsonObject;
  return inlineRoot(mapSchema(copy, (schema) => toCurrentItems(withoutNoise(schema))));
}

function withoutNoise(schema: JsonObject): JsonObject {
  const { format, pattern } = schema;
  const spelt = SPELT_OUT.get(format as string)?.includes(pattern as string) === true;
  const noise = ["$schema", ...(spelt ? ["pattern"] : [])];
  return Object.fromEntries(Object.entries(schema).filter(([keyword]) => !noise.includes(keyword)));
}

/** Converts the tuples of draft 7, which are `items: [...]`. */
export function toCurrentItems(schema: JsonObject): JsonObject {
  const { items, additionalItems, ...rest } = schema;
  if (!Array.isArray(items)) return schema;
  return { ...rest, prefixItems: items, ...(additionalItems === undefined ? {} : { items: additionalItems }) };
}

/** Replaces a root that only refers to a definition (zod's `.meta({ id })`) with that definition. */
function inlineRoot(root: JsonObject): JsonObject {
  const { $ref, ...rest } = root;
  const target = typeof $ref === "string" && $ref !== "#" ? followRef(root, $ref) : undefined;
  return isJsonObject(target) ? { ...target, ...rest } : root;
}
