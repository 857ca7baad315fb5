import { isJsonObject, type Fault, type JsonObject } from "@patchbay/protocol";
import { DefinitionError } from "../errors.ts";
import { toJson } from "../json.ts";
import { compileRawSchema } from "./ajv.ts";
import { rawJsonSchema } from "./describe.ts";
import { isStandardSchema, isZod3, isZod4, type Schema, type StandardIssue, type StandardSchema } from "./schema.ts";
import { describesItself, standardToJsonSchema } from "./standard.ts";
import { dropUnlisted } from "./unlisted.ts";

export type Parsed = { ok: true; value: unknown } | { ok: false; faults: Fault[] };

/** Checks a value and makes of it what the schema makes. May throw what a refinement of the owner's throws. */
export type Parse = (value: unknown) => Parsed | Promise<Parsed>;

/**
 * The one way to run a schema, whatever its library. Members that the schema does not list are left out: by zod itself, and by
 * its JSON Schema for libraries that would let them pass (where such a library has no JSON Schema, its own rule stands).
 */
export function createParser(schema: Schema, side: "input" | "output", where: string): Parse {
  if (!isStandardSchema(schema)) {
    return isZod3(schema) ? async (value) => toParsed(await schema.safeParseAsync(value)) : rawParser(schema, where);
  }
  if (isZod4(schema) || isZod3(schema) || !describesItself(schema)) return standardParser(schema);

  const parse = standardParser(schema);
  const listed = listedMembers(schema, side);
  if (listed === undefined) return parse;
  if (side === "input") return (value) => parse(dropUnlisted(listed, toJson(value)));
  return async (value) => {
    const parsed = await parse(value);
    return parsed.ok ? { ok: true, value: dropUnlisted(listed, toJson(parsed.value)) } : parsed;
  };
}

function standardParser(schema: StandardSchema): Parse {
  const read = (result: Awaited<ReturnType<StandardSchema["~standard"]["validate"]>>): Parsed =>
    result.issues === undefined ? { ok: true, value: result.value } : failed(result.issues);
  return (value) => {
    const result = schema["~standard"].validate(value);
    return "then" in result ? Promise.resolve(result).then(read) : read(result);
  };
}

function rawParser(schema: object, where: string): Parse {
  const jsonSchema = rawJsonSchema(schema);
  let check: (value: ReturnType<typeof toJson>) => Fault[];
  try {
    check = compileRawSchema(jsonSchema);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new DefinitionError(`${where}: this is no JSON Schema of draft 2020-12: ${reason}`, { cause });
  }
  return (value) => {
    const listed = dropUnlisted(jsonSchema, toJson(value));
    const faults = check(listed);
    return faults.length === 0 ? { ok: true, value: listed } : { ok: false, faults };
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

/** What of an output cannot be described is not cut either. */
function listedMembers(schema: StandardSchema, side: "input" | "output"): JsonObject | undefined {
  try {
    const listed: unknown = JSON.parse(JSON.stringify(standardToJsonSchema(schema, side)));
    return isJsonObject(listed) ? listed : undefined;
  } catch {
    return undefined;
  }
}
