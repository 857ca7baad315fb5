import { isJsonObject, type JsonObject } from "@patchbay/protocol";
import type { StandardSchema } from "./schema.ts";

interface Converter {
  input(options: ConverterOptions): unknown;
  output(options: ConverterOptions): unknown;
}

interface ConverterOptions {
  target: "draft-2020-12";
  libraryOptions?: Record<string, unknown>;
}

/** True when the schema can write itself as JSON Schema (`~standard.jsonSchema`). */
export function describesItself(schema: StandardSchema): boolean {
  return converterOf(schema) !== undefined;
}

/** The JSON Schema that a library writes of its own schema; throws what the library throws. */
export function standardToJsonSchema(schema: StandardSchema, side: "input" | "output"): JsonObject {
  const strict = side === "input" && schema["~standard"].vendor === "arktype";
  const options: ConverterOptions = { target: "draft-2020-12", ...(strict ? { libraryOptions: ARKTYPE_STRICT } : {}) };
  const written = converterOf(schema)?.[side](options);
  if (!isJsonObject(written)) throw new TypeError("the schema library gave no JSON Schema");
  return written;
}

function converterOf(schema: StandardSchema): Converter | undefined {
  return (schema["~standard"] as { jsonSchema?: Converter }).jsonSchema;
}

function refuse({ code }: { code: string }): never {
  throw new TypeError(`a part of kind "${code}" is nothing that JSON can carry`);
}

/** By itself arktype writes a date or a class as a schema that accepts anything. */
const ARKTYPE_STRICT = {
  fallback: { date: refuse, domain: refuse, proto: refuse, symbolKey: refuse, unit: refuse },
};
