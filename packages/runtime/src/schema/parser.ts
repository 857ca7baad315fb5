import { isJsonObject, type JsonObject, type JsonValue } from "@patchbay/kit";
import { mapSchema } from "@patchbay/schema";
import { DefinitionError } from "../errors.ts";
import { toJson, withoutPrototypes } from "../json.ts";
import { compileRawSchema, toFault } from "./ajv.ts";
import { withFittingDefaults } from "./defaults.ts";
import { stepsFault, withSteps } from "./patterns.ts";
import { readRawSchema } from "./raw.ts";
import {
  isStandardSchema,
  isZod3,
  isZod4,
  type Parse,
  type Parsed,
  type Schema,
  type StandardIssue,
  type StandardSchema,
  type Zod3Schema,
  type Zod4Schema,
} from "./schema.ts";
import { describesItself } from "./to-json-schema.ts";
import { dropUnlisted } from "./unlisted.ts";
import { toJsonSchema } from "./zod4.ts";

/**
 * Creates the parser for a schema from any library. Drops properties that the schema does not list: zod does so itself;
 * for libraries that keep them, the parser uses their JSON Schema (without one, the library's own rule applies). Raw
 * JSON Schema allows unlisted properties in open objects: the parser keeps them in an input and drops them from an
 * output.
 */
export function createParser(schema: Schema, side: "input" | "output", where: string): Parse {
  if (isZod4(schema) || isZod3(schema)) return zodParser(schema, side);
  if (!isStandardSchema(schema)) return rawParser(schema, { side, where });
  const listed = describesItself(schema) ? writtenBy(schema, side) : undefined;
  const parse = ofOwnMembers(standardParser(schema), listed);
  if (listed === undefined) return parse;
  if (side === "input") return (value) => parse(dropUnlisted(listed, toJson(value)));
  return async (value) => {
    const parsed = await parse(value);
    return parsed.ok ? { ok: true, value: dropUnlisted(listed, toJson(parsed.value)) } : parsed;
  };
}

function zodParser(schema: Zod4Schema | Zod3Schema, side: "input" | "output"): Parse {
  // Zod 3 releases before 3.24 have no `~standard`.
  const parse: Parse = isStandardSchema(schema)
    ? standardParser(schema)
    : async (value) => toParsed(await schema.safeParseAsync(value));
  return ofOwnMembers(parse, writtenBy(schema, side));
}

/** Hides inherited properties from a schema that has a property with such a name, for example `constructor`. */
function ofOwnMembers(parse: Parse, described: JsonObject | undefined): Parse {
  const isInherited = (name: string) => name in Object.prototype;
  const listsInherited = ({ properties }: JsonObject) =>
    isJsonObject(properties) && Object.keys(properties).some(isInherited);
  return described && holds(described, listsInherited) ? (value) => parse(withoutPrototypes(value)) : parse;
}

/** True if the schema or an inner one passes the test. */
function holds(schema: JsonObject, test: (part: JsonObject) => boolean): boolean {
  let found = false;
  mapSchema(schema, (part) => {
    found ||= test(part);
    return part;
  });
  return found;
}

function standardParser(schema: StandardSchema): Parse {
  const read = (result: Awaited<ReturnType<StandardSchema["~standard"]["validate"]>>): Parsed =>
    result.issues === undefined ? { ok: true, value: result.value } : failed(result.issues);
  return (value) => {
    const result = schema["~standard"].validate(value);
    return "then" in result ? Promise.resolve(result).then(read) : read(result);
  };
}

function rawParser(schema: object, { side, where }: { side: "input" | "output"; where: string }): Parse {
  const jsonSchema = readRawSchema(schema, where);
  let check: ReturnType<typeof compileRawSchema>;
  try {
    check = compileRawSchema(jsonSchema);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new DefinitionError(`${where}: ${reason}`, { cause });
  }
  const hasDefaults = holds(jsonSchema, (part) => part["default"] !== undefined);
  const parse = (json: JsonValue): Parsed => {
    const checked = side === "input" ? json : dropUnlisted(jsonSchema, json);
    const errors = check(checked);
    if (errors.length > 0) return { ok: false, faults: errors.map(toFault) };
    if (side === "output" || !hasDefaults) return { ok: true, value: checked };
    const faultsOf = (filled: JsonValue) => check(filled).map(({ instancePath }) => instancePath);
    return { ok: true, value: withFittingDefaults(jsonSchema, checked, faultsOf) };
  };
  return (value) => {
    const json = toJson(value);
    try {
      return withSteps(() => parse(json));
    } catch (error) {
      const message = stepsFault(error);
      if (message === undefined) throw error;
      return { ok: false, faults: [{ path: "", message }] };
    }
  };
}

function toParsed(
  result: { success: true; data: unknown } | { success: false; error: { issues: readonly StandardIssue[] } },
): Parsed {
  return result.success ? { ok: true, value: result.data } : failed(result.error.issues);
}

function failed(issues: readonly StandardIssue[]): Parsed {
  return { ok: false, faults: issues.map(({ message, path = [] }) => ({ path: path.map(toName).join("."), message })) };
}

function toName(step: PropertyKey | { readonly key: PropertyKey }): string {
  return String(typeof step === "object" ? step.key : step);
}

/** The JSON Schema that a library writes. Undefined if it cannot write one, so that no properties are dropped. */
function writtenBy(...given: Parameters<typeof toJsonSchema>): JsonObject | undefined {
  try {
    const written: unknown = JSON.parse(JSON.stringify(toJsonSchema(...given)));
    return isJsonObject(written) ? written : undefined;
  } catch {
    return undefined;
  }
}
