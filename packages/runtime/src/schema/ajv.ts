import { createRequire } from "node:module";
import { canonicalJson, isJsonObject, type JsonObject, type JsonValue } from "@patchbay/kit";
import { mapSchema, MOST_PARTS } from "@patchbay/schema";
import { type Fault } from "@patchbay/protocol";
import type { ErrorObject, SchemaValidateFunction } from "ajv";
import { linearMatcher } from "./patterns.ts";
import { placeOf } from "./raw.ts";

const require = createRequire(import.meta.url);

/**
 * Compiles raw JSON Schema 2020-12. Throws if it is invalid. Loads Ajv on first use, because owners who use zod do not need it.
 */
export function compileRawSchema(schema: JsonObject): (value: JsonValue) => readonly ErrorObject[] {
  compiler ??= loadCompiler();
  refuseInvalid(schema, compiler);
  const validate = compileAndRemove(compiler, schema);
  return (value) => {
    try {
      return validate(value) ? [] : (validate.errors ?? []);
    } catch (error) {
      // For example `{ "$defs": { "a": { "allOf": [{ "$ref": "#/$defs/a" }] } } }`, which no value can end.
      if (error instanceof RangeError) return [ENDLESS];
      throw error;
    }
  };
}

const ENDLESS: ErrorObject = {
  instancePath: "",
  schemaPath: "#",
  keyword: "$ref",
  params: {},
  message: "cannot be checked, because its schema refers to itself without end",
};

type Compiler = ReturnType<typeof loadCompiler>;

let compiler: Compiler | undefined;

/** Throws one fault as a sentence. Ajv would repeat it for each vocabulary with the keyword. */
function refuseInvalid(schema: JsonObject, compiler: Compiler): void {
  const room = { parts: MOST_PARTS };
  mapSchema(schema, (part, path) => {
    const { pattern, patternProperties } = part;
    for (const text of [pattern, ...Object.keys(isJsonObject(patternProperties) ? patternProperties : {})]) {
      const reason = typeof text === "string" ? patternFault(text, room) : undefined;
      if (reason !== undefined) throw new TypeError(`${placeOf(path)}: ${reason}`);
    }
    return part;
  });
  if (compiler.validateSchema(schema) === true) return;
  const [error] = compiler.errors ?? [];
  const steps = stepsOf(error!);
  const { message } = toFault({ ...error!, instancePath: "" });
  const keyword = steps.at(-1);
  // Below `properties`, a step is a property name and not a keyword.
  const isKeyword = keyword !== undefined && steps.at(-2) !== "properties";
  const at = isKeyword ? `${placeOf(steps.slice(0, -1))}: "${keyword}"` : placeOf(steps);
  throw new TypeError(`invalid JSON Schema (draft 2020-12): ${at} ${message}`);
}

/** Patterns run without backtracking and with the flag `u`, which refuses escapes from other dialects, such as `\\-`. */
function patternFault(pattern: string, room: { parts: number }): string | undefined {
  const named = `the pattern ${JSON.stringify(pattern)}`;
  try {
    void new RegExp(pattern, "u");
  } catch (error) {
    const reason = error instanceof Error ? error.message.replace(/^.*: /s, "") : String(error);
    return `${named} is not a regular expression of JavaScript with the flag "u" (${reason})`;
  }
  try {
    linearMatcher(pattern, room);
    return undefined;
  } catch (error) {
    return `${named} ${error instanceof Error ? error.message : String(error)}`;
  }
}

/** Removes the schema after compiling it, so that equal `$id`s do not collide. A compiler that keeps no schema could not resolve `"#"`. */
function compileAndRemove(compiler: Compiler, schema: JsonObject) {
  try {
    return compiler.compile(schema);
  } finally {
    compiler.removeSchema(schema);
  }
}

/** Creates the shared compiler: each compiler first compiles the meta-schema, which is slow. */
function loadCompiler() {
  const { Ajv2020 } = require("ajv/dist/2020.js") as typeof import("ajv/dist/2020.js");
  const ajv = new Ajv2020({
    allErrors: true,
    strict: false,
    validateFormats: false,
    // refuseInvalid() validates every schema before, with a better message.
    validateSchema: false,
    logger: false,
    // Otherwise inherited properties such as `constructor` and `toString` would count.
    ownProperties: true,
    // Half of the time of a compilation, and nothing that a call's duration shows.
    code: { optimize: false, regExp: Object.assign((source: string) => linearMatcher(source), { code: "" }) },
  });
  // Ajv's own version compares each pair of items.
  ajv.removeKeyword("uniqueItems");
  return ajv.addKeyword({ keyword: "uniqueItems", type: "array", schemaType: "boolean", validate: haveNoEqual });
}

const haveNoEqual: SchemaValidateFunction = (wanted: boolean, items: JsonValue[]) => {
  if (!wanted) return true;
  const known = new Map<string, number>();
  for (const [index, item] of items.entries()) {
    const text = canonicalJson(item);
    const equal = known.get(text);
    if (equal !== undefined) {
      const message = `must NOT have duplicate items (items ## ${equal} and ${index} are identical)`;
      haveNoEqual.errors = [{ keyword: "uniqueItems", message, params: { i: index, j: equal } }];
      return false;
    }
    known.set(text, index);
  }
  return true;
};

function stepsOf({ instancePath }: ErrorObject): string[] {
  return instancePath
    .split("/")
    .slice(1)
    .map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));
}

export function toFault(error: ErrorObject): Fault {
  const path = stepsOf(error);
  const { missingProperty, additionalProperty, unevaluatedProperty, allowedValues, allowedValue } =
    error.params as Record<string, unknown>;
  const at = (member: unknown, message: string) => ({ path: [...path, String(member)].join("."), message });
  if (missingProperty !== undefined) return at(missingProperty, "is required");
  const unlisted = additionalProperty ?? unevaluatedProperty;
  if (unlisted !== undefined) return at(unlisted, "is not a property of the schema");
  const allowed = allowedValues ?? allowedValue;
  const suffix = allowed === undefined ? "" : `: ${JSON.stringify(allowed)}`;
  return { path: path.join("."), message: `${error.message ?? "is not valid"}${suffix}` };
}
