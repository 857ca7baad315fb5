import { createRequire } from "node:module";
import { canonicalJson, isJsonObject, type JsonObject } from "@patchbay/kit";
import { followRef, mapSchema, MARK } from "@patchbay/schema";
import type { StandardSchema, Zod3Schema } from "./schema.ts";

const require = createRequire(import.meta.url);

interface Definition {
  typeName?: string;
  effect?: { type: string };
  unknownKeys?: string;
  catchall?: { _def: { typeName: string } };
  options?: readonly { _def: Definition; description?: string }[] | Map<unknown, { _def: Definition }>;
  value?: unknown;
  description?: string;
  [MARK]?: readonly string[];
}

/** Writes a zod 3 schema as JSON Schema. */
export function zod3ToJsonSchema(schema: Zod3Schema, side: "input" | "output"): JsonObject {
  // Loaded on first use, because owners with zod 4 need neither the converter nor the zod 3 that it imports.
  const converter = require("zod-to-json-schema") as typeof import("zod-to-json-schema");
  return converter.zodToJsonSchema(schema as unknown as Parameters<typeof converter.zodToJsonSchema>[0], {
    pipeStrategy: side,
    removeAdditionalStrategy: "strict",
    allowedAdditionalProperties: undefined,
    override(definition, refs) {
      const { typeName = "", effect, options, value, description } = definition as Definition;
      // The converter writes `z.literal(null)` as an object.
      if (value === null && typeName === "ZodLiteral")
        return { type: "null", const: null, ...(description === undefined ? {} : { description }) };
      // The converter would describe a transform's input, but its output may be anything.
      if (side === "output" && (effect?.type === "transform" || typeName in ZOD3_NOT_JSON)) return {};
      // The converter joins simple alternatives to one type list, without their descriptions.
      if (typeName !== "ZodUnion" || !Array.isArray(options) || options.every((of) => of.description === undefined))
        return converter.ignoreOverride;
      const anyOf = options.map(({ _def }, i) =>
        converter.parseDef(_def, { ...refs, currentPath: [...refs.currentPath, "anyOf", String(i)] }),
      );
      return { anyOf: anyOf.map((branch) => branch ?? {}), ...(description === undefined ? {} : { description }) };
    },
    // The converter does not distinguish objects that drop unlisted properties from objects that keep them.
    postProcess(jsonSchema, definition) {
      if (!jsonSchema) return jsonSchema;
      const { typeName, unknownKeys, catchall, [MARK]: mark } = definition as Definition;
      const keepsOthers = typeName === "ZodObject" && unknownKeys === "passthrough";
      const isOpen = keepsOthers && catchall?._def.typeName === "ZodNever";
      return {
        ...jsonSchema,
        ...(isOpen && { additionalProperties: {} }),
        ...(side === "output" && mark !== undefined && { [MARK]: mark }),
      };
    },
  }) as JsonObject;
}

/** Zod 3 types without a JSON equivalent. The converter would describe them as something that the schema refuses. */
export const ZOD3_NOT_JSON: Readonly<Record<string, string>> = {
  ZodDate: "date",
  ZodBigInt: "bigint",
  ZodMap: "map",
  ZodSet: "set",
  ZodSymbol: "symbol",
  ZodFunction: "function",
  ZodPromise: "promise",
  ZodNaN: "nan",
};

interface Converter {
  input(options: ConverterOptions): unknown;
  output(options: ConverterOptions): unknown;
}

interface ConverterOptions {
  target: "draft-2020-12";
  libraryOptions: object;
}

/** True if the schema can write JSON Schema (`~standard.jsonSchema`). */
export function describesItself(schema: StandardSchema): boolean {
  return converterOf(schema) !== undefined;
}

/** The JSON Schema that a library writes for its own schema. Throws the library's errors. */
export function standardToJsonSchema(
  schema: StandardSchema,
  side: "input" | "output",
  libraryOptions = side === "input" && schema["~standard"].vendor === "arktype" ? ARKTYPE_STRICT : {},
): JsonObject {
  const written = converterOf(schema)?.[side]({ target: "draft-2020-12", libraryOptions });
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
const ARKTYPE_STRICT: object = {
  fallback: { date: refuse, domain: refuse, proto: refuse, symbolKey: refuse, unit: refuse },
};

/**
 * Converts any library's JSON Schema to the form that models receive: draft 2020-12, without `$schema` and without a
 * reference at the root.
 */
export function tidy(written: JsonObject): JsonObject {
  const copy = JSON.parse(JSON.stringify(written)) as JsonObject;
  return inlineRoot(mapSchema(copy, (schema) => toTypeList(toCurrentItems(withoutNoise(schema)))));
}

/** Removes the dialect, and the rule for record keys that zod 4 writes although every JSON key is a string. */
function withoutNoise(schema: JsonObject): JsonObject {
  const { $schema: _, propertyNames, ...rest } = schema;
  const isRule = propertyNames !== undefined && canonicalJson(propertyNames) !== '{"type":"string"}';
  return isRule ? { ...rest, propertyNames } : rest;
}

/** Converts draft 7 tuples, which are `items: [...]`. */
export function toCurrentItems(schema: JsonObject): JsonObject {
  const { items, additionalItems, ...rest } = schema;
  if (!Array.isArray(items)) return schema;
  return { ...rest, prefixItems: items, ...(additionalItems === undefined ? {} : { items: additionalItems }) };
}

/** Joins alternatives that are only types, such as `string` and `null`, as zod 3 and zod from 4.3 on do. */
function toTypeList(schema: JsonObject): JsonObject {
  const { anyOf, ...rest } = schema;
  if (!Array.isArray(anyOf) || "type" in rest) return schema;
  const types = anyOf.flatMap((of) => (isJsonObject(of) && Object.keys(of).join() === "type" ? [of["type"]!] : []));
  return types.length === anyOf.length ? { type: [...new Set(types.flat())], ...rest } : schema;
}

/** Replaces a root that only refers to a definition (zod's `.meta({ id })`) with the definition. */
function inlineRoot(root: JsonObject): JsonObject {
  const { $ref, ...rest } = root;
  const target = typeof $ref === "string" && $ref !== "#" ? followRef(root, $ref) : undefined;
  return isJsonObject(target) ? { ...target, ...rest } : root;
}
