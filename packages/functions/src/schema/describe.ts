import {
  followRef,
  isJsonObject,
  LIMITS,
  mapSchema,
  memberPath,
  withoutAnnotations,
  type JsonObject,
} from "@patchbay/protocol";
import { DefinitionError } from "../errors.ts";
import { MARK } from "../redaction/visible-to.ts";
import { readRawSchema } from "./raw.ts";
import { isStandardSchema, isZod3, isZod4, type Schema } from "./schema.ts";
import {
  describesItself,
  explainUnwritable,
  standardToJsonSchema,
  tidy,
  type Unwritable,
  zod3Members,
  zod3ToJsonSchema,
  zod4Members,
  zod4ToJsonSchema,
} from "./to-json-schema.ts";

/**
 * The JSON Schema 2020-12 of the input of `schema`, as models receive it. Throws `DefinitionError` if it cannot be written as JSON
 * Schema, with a message that begins with `where`.
 */
export function describeInput(schema: Schema, where: string): JsonObject {
  const { jsonSchema: written, members } = convert(schema, where);
  const jsonSchema = mapSchema(written, withoutMark);
  checkRefs(jsonSchema, where);
  checkRoot(jsonSchema, where);
  const { properties } = jsonSchema;
  const lost = members.filter((name) => !isJsonObject(properties) || !Object.hasOwn(properties, name));
  if (lost.length > 0)
    throw new DefinitionError(
      `${where}: the schema describes ${lost.join(", ")}, but its JSON Schema does not. Pass raw JSON Schema instead.`,
    );
  const sizeBytes = Buffer.byteLength(JSON.stringify(jsonSchema));
  if (sizeBytes > LIMITS.schemaBytes)
    throw new DefinitionError(
      `${where}: the JSON Schema has ${sizeBytes} bytes, which exceed the limit of ${LIMITS.schemaBytes}. Describe less, or split the function in two.`,
    );
  return jsonSchema;
}

/** The JSON Schema 2020-12 of the values that a handler with this output schema may return. Undefined if it cannot be written. */
export function describeOutput(schema: Schema): JsonObject | undefined {
  try {
    return convert(schema, "output").jsonSchema;
  } catch {
    return undefined;
  }
}

/**
 * The JSON Schema 2020-12 of the results that a function with this output schema sends, without descriptions, to compare it with an
 * earlier one. Parts that JSON Schema cannot express, such as a transform, accept anything. Undefined for a library that cannot
 * write JSON Schema, and above `LIMITS.schemaBytes`.
 */
export function describeResult(schema: Schema): JsonObject | undefined {
  try {
    const jsonSchema = withoutAnnotations(writeResult(schema));
    return Buffer.byteLength(JSON.stringify(jsonSchema)) <= LIMITS.schemaBytes ? jsonSchema : undefined;
  } catch {
    return undefined;
  }
}

function writeResult(schema: Schema): JsonObject {
  if (isZod4(schema)) return tidy(zod4ToJsonSchema(schema, { side: "output" }));
  if (isZod3(schema)) return tidy(zod3ToJsonSchema(schema, { side: "output" }));
  return isStandardSchema(schema) ? tidy(standardToJsonSchema(schema, "output")) : readRawSchema(schema, "output");
}

/** A schema as plain JSON Schema, and the properties that its library lists. */
function convert(schema: Schema, where: string): { jsonSchema: JsonObject; members: string[] } {
  const unwritable: Unwritable[] = [];
  const note = (part: Unwritable) => void unwritable.push(part);
  try {
    const written = write(schema, where, note);
    if (unwritable.length === 0) return written;
  } catch (cause) {
    if (cause instanceof DefinitionError) throw cause;
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new DefinitionError(`${where}: the schema cannot be written as JSON Schema: ${reason}`, { cause });
  }
  throw new DefinitionError(`${where}: ${unwritable.map(explainUnwritable).join("; ")}.`);
}

function write(
  schema: Schema,
  where: string,
  note: (part: Unwritable) => void,
): { jsonSchema: JsonObject; members: string[] } {
  if (isZod4(schema))
    return {
      jsonSchema: tidy(zod4ToJsonSchema(schema, { side: "input", unwritable: note })),
      members: zod4Members(schema),
    };
  if (isZod3(schema))
    return {
      jsonSchema: tidy(zod3ToJsonSchema(schema, { side: "input", unwritable: note })),
      members: zod3Members(schema),
    };
  if (!isStandardSchema(schema)) return { jsonSchema: readRawSchema(schema, where), members: [] };
  if (describesItself(schema)) return { jsonSchema: tidy(standardToJsonSchema(schema, "input")), members: [] };
  throw new TypeError(adviceFor(schema["~standard"].vendor));
}

function adviceFor(vendor: string): string {
  const remedy =
    vendor === "valibot"
      ? "wrap it with toStandardJsonSchema() of @valibot/to-json-schema"
      : "use a release of the library that has it";
  return `${vendor} does not provide one (~standard.jsonSchema is missing). To fix it, ${remedy}, or pass raw JSON Schema.`;
}

/** Removes marks, because the schema may also be used as an output schema, and models do not need the marks. */
function withoutMark(schema: JsonObject): JsonObject {
  const { [MARK]: _, ...rest } = schema;
  return rest;
}

function checkRefs(root: JsonObject, where: string): void {
  mapSchema(root, (schema, path) => {
    for (const keyword of ["$ref", "$dynamicRef"]) {
      const ref = schema[keyword];
      if (typeof ref === "string" && followRef(root, ref) === undefined)
        throw new DefinitionError(
          `${where}: ${keyword} "${ref}" at "${memberPath(path)}" has no target. A reference must point to a schema within this one, such as "#/$defs/Address".`,
        );
    }
    return schema;
  });
}

/** The arguments of a call are always one object, and model providers do not accept a choice at the root. */
function checkRoot(root: JsonObject, where: string): void {
  const choice = ["anyOf", "oneOf", "allOf", "not", "enum"].find((keyword) => keyword in root);
  if (choice !== undefined)
    throw new DefinitionError(
      `${where}: the schema has ${choice} at its root, which models do not accept. Put it inside a property: z.object({ request: z.union([...]) }).`,
    );
  if (root["type"] !== "object")
    throw new DefinitionError(
      `${where}: the schema must describe an object (type: "object") with the arguments as properties, got ${JSON.stringify(root["type"] ?? "no type")}. Use z.object({}) for a function without arguments.`,
    );
}
