import { LIMITS } from "@patchbay/protocol";
import { mapSchema, withoutAnnotations, withoutMark, withoutTexts, withOpenObjects } from "@patchbay/schema";
import { depthOf, nestsDeeper, type JsonObject } from "@patchbay/kit";
import { DefinitionError } from "../errors.ts";
import { checkRefs, readRawSchema } from "./raw.ts";
import { explainUnwritable, findLosses } from "./losses.ts";
import { isRaw, isStandardSchema, isZod3, isZod4, type Schema, type Zod3Schema, type Zod4Schema } from "./schema.ts";
import { describesItself, tidy } from "./to-json-schema.ts";
import { toJsonSchema, versionOf } from "./zod4.ts";

/**
 * The input's JSON Schema 2020-12, as models receive it. Throws `DefinitionError` if it cannot be written as JSON
 * Schema, with a message that begins with `where`.
 */
export function describeInput(schema: Schema, where: string): JsonObject {
  const written = convert(schema, where);
  checkRefs(written, where);
  checkRoot(written, where);
  // The schema may also be an output schema, and models do not need its marks.
  const jsonSchema = mapSchema(written, withoutMark);
  const text = JSON.stringify(jsonSchema);
  const depth = depthOf(text);
  if (depth > LIMITS.jsonDepth)
    throw new DefinitionError(
      `${where}: the JSON Schema nests ${depth} levels, which exceed the limit of ${LIMITS.jsonDepth}. Move inner schemas to "$defs", and refer to them.`,
    );
  const sizeBytes = Buffer.byteLength(text);
  if (sizeBytes > LIMITS.schemaBytes)
    throw new DefinitionError(
      `${where}: the JSON Schema has ${sizeBytes} bytes, which exceed the limit of ${LIMITS.schemaBytes}. Describe less, or split the function in two.`,
    );
  return jsonSchema;
}

/**
 * The JSON Schema 2020-12 for the values that a handler with this output schema may return. Undefined if it cannot be
 * written.
 */
export function describeOutput(schema: Schema): JsonObject | undefined {
  try {
    return convert(schema, "output");
  } catch {
    return undefined;
  }
}

/**
 * The JSON Schema 2020-12 for the results that a function with this output schema sends, without descriptions, and with
 * its marks, to compare it with an earlier one. Parts that JSON Schema cannot express, such as a transform, accept
 * anything. Undefined for a library that cannot write JSON Schema, and above `LIMITS.schemaBytes` or
 * `LIMITS.jsonDepth`.
 */
export function describeResult(schema: Schema): JsonObject | undefined {
  return limited(() =>
    withoutTexts(isRaw(schema) ? readRawSchema(schema, "output") : tidy(toJsonSchema(schema, "output"))),
  );
}

/** The same for a query's context, as it is sent. Raw JSON Schema objects keep members that they do not list. */
export function describeContext(schema: Schema): JsonObject | undefined {
  return limited(() => {
    const written = withoutAnnotations(convert(schema, "context"));
    return isRaw(schema) ? withOpenObjects(written) : written;
  });
}

/** A context or input with its defaults, as it is sent. Undefined as for {@link describeContext}. */
export const describeParsed = (schema: Schema): JsonObject | undefined => limited(() => convert(schema, "schema"));

function limited(write: () => JsonObject): JsonObject | undefined {
  try {
    const jsonSchema = write();
    const text = JSON.stringify(jsonSchema);
    if (Buffer.byteLength(text) > LIMITS.schemaBytes || nestsDeeper(text, LIMITS.jsonDepth)) return undefined;
    return jsonSchema;
  } catch {
    return undefined;
  }
}

/** A schema as plain JSON Schema. */
function convert(schema: Schema, where: string): JsonObject {
  try {
    if (isZod4(schema) || isZod3(schema)) return convertZod(schema, where);
    if (!isStandardSchema(schema)) return readRawSchema(schema, where);
    if (describesItself(schema)) return tidy(toJsonSchema(schema, "input"));
    throw new TypeError(adviceFor(schema["~standard"].vendor));
  } catch (cause) {
    if (cause instanceof DefinitionError) throw cause;
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new DefinitionError(`${where}: the schema cannot be written as JSON Schema: ${reason}`, { cause });
  }
}

/** Refuses a JSON Schema with less information than the schema, because the model would guess the rest. */
function convertZod(schema: Zod4Schema | Zod3Schema, where: string): JsonObject {
  // Before the conversion, because the converters fail on some parts with an error about their own code.
  const { unwritable, foreign } = findLosses(schema);
  if (foreign.length > 0)
    throw new DefinitionError(
      `${where}: ${foreign.join(", ")}: a schema of zod 3 and one of zod 4 cannot contain each other. Write all parts with one of them.`,
    );
  if (unwritable.length > 0) throw new DefinitionError(`${where}: ${unwritable.map(explainUnwritable).join("; ")}.`);
  const jsonSchema = tidy(toJsonSchema(schema, "input"));
  const { missing } = findLosses(schema, jsonSchema);
  if (missing.length === 0) return jsonSchema;
  const named = missing.length > NAMED ? [...missing.slice(0, NAMED), `${missing.length - NAMED} more`] : missing;
  throw new DefinitionError(`${where}: the JSON Schema for the model lacks ${named.join(", ")}. ${remedyFor(schema)}`);
}

/** More would hide what to do. */
const NAMED = 5;

function remedyFor(schema: Zod4Schema | Zod3Schema): string {
  const instead = "or pass raw JSON Schema";
  if (!isZod4(schema)) return `zod 3 cannot write it. Upgrade zod to 4.2 or newer, ${instead}.`;
  const version = `zod ${versionOf(schema)}`;
  if (describesItself(schema)) return `${version} does not write it. Describe this part in another way, ${instead}.`;
  if (schema.meta === undefined)
    return `The schema is of zod mini ${versionOf(schema)}, and another copy of zod converted it. Import z from "zod" instead of "zod/mini", ${instead}.`;
  return `${version} cannot write it. Upgrade zod to 4.2 or newer, ${instead}.`;
}

function adviceFor(vendor: string): string {
  const remedy =
    vendor === "valibot"
      ? "wrap it with toStandardJsonSchema() of @valibot/to-json-schema"
      : "use a release of the library that has it";
  return `${vendor} does not provide one (~standard.jsonSchema is missing). To fix it, ${remedy}, or pass raw JSON Schema.`;
}

/** A call's arguments are always one object, and model providers do not accept a choice at the root. */
/** An object may have choices, which models see as one object with the members of all. The runtime checks them. */
function checkRoot(root: JsonObject, where: string): void {
  const isObject = root["type"] === "object";
  const choice = [...(isObject ? [] : ["anyOf", "oneOf", "allOf"]), "not", "enum"].find((keyword) => keyword in root);
  if (choice !== undefined)
    throw new DefinitionError(
      `${where}: the schema has ${choice} at its root, which models do not accept. Put it inside a property: z.object({ request: z.union([...]) }).`,
    );
  if (!isObject)
    throw new DefinitionError(
      `${where}: the schema must describe an object (type: "object") with the arguments as properties, got ${JSON.stringify(root["type"] ?? "no type")}. Use z.object({}) for a function without arguments.`,
    );
}
