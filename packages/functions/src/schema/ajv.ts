import { createRequire } from "node:module";
import {
  canonicalJson,
  isJsonObject,
  mapSchema,
  type Fault,
  type JsonObject,
  type JsonValue,
} from "@patchbay/protocol";
import type { ErrorObject, SchemaValidateFunction } from "ajv";
import { placeOf } from "./raw.ts";

const require = createRequire(import.meta.url);

/**
 * Compiles raw JSON Schema 2020-12; throws when it is none.
 * Ajv is loaded on first use: owners who write zod never pay for it.
 */
export function compileRawSchema(schema: JsonObject): (value: JsonValue) => readonly ErrorObject[] {
  compiler ??= loadCompiler();
  refuseInvalid(schema, compiler);
  const validate = compileAlone(compiler, schema);
  return (value) => (validate(value) ? [] : (validate.errors ?? []));
}

type Compiler = ReturnType<typeof loadCompiler>;

let compiler: Compiler | undefined;

/** Throws one sentence. Ajv repeats a fault for each vocabulary that has the keyword. */
function refuseInvalid(schema: JsonObject, compiler: Compiler): void {
  mapSchema(schema, (one, path) => {
    const { pattern, patternProperties } = one;
    for (const text of [pattern, ...Object.keys(isJsonObject(patternProperties) ? patternProperties : {})]) {
      const reason = typeof text === "string" ? patternFault(text) : undefined;
      if (reason !== undefined) throw new TypeError(`${placeOf(path)}: ${reason}`);
    }
    return one;
  });
  if (compiler.validateSchema(schema) === true) return;
  const [error] = compiler.errors ?? [];
  const steps = stepsOf(error!);
  const { message } = toFault({ ...error!, instancePath: "" });
  const keyword = steps.at(-1);
  // What stands in the place of a member's schema is no keyword.
  const isKeyword = keyword !== undefined && steps.at(-2) !== "properties";
  const at = isKeyword ? `${placeOf(steps.slice(0, -1))}: "${keyword}"` : placeOf(steps);
  throw new TypeError(`this is not JSON Schema of draft 2020-12: ${at} ${message}`);
}

/** Patterns are run with the flag `u`, which refuses escapes that other dialects allow, such as `\\-`. */
function patternFault(pattern: string): string | undefined {
  try {
    void new RegExp(pattern, "u");
    return undefined;
  } catch (error) {
    const reason = error instanceof Error ? error.message.replace(/^.*: /s, "") : String(error);
    return `the pattern ${JSON.stringify(pattern)} is not a regular expression of JavaScript with the flag "u" (${reason})`;
  }
}

/** Forgets the schema once it is compiled, so equal `$id`s do not meet. A compiler that never keeps any cannot follow `"#"`. */
function compileAlone(compiler: Compiler, schema: JsonObject) {
  try {
    return compiler.compile(schema);
  } finally {
    compiler.removeSchema(schema);
  }
}

/** One compiler for all: each compiles the meta-schema, which takes long. */
function loadCompiler() {
  const { Ajv2020 } = require("ajv/dist/2020.js") as typeof import("ajv/dist/2020.js");
  const ajv = new Ajv2020({
    allErrors: true,
    strict: false,
    validateFormats: false,
    // Every schema is validated before, for a message of one sentence.
    validateSchema: false,
    logger: false,
    // Without this a value has the members `constructor` and `toString`, which it inherits.
    ownProperties: true,
  });
  // Ajv compares each item with every other.
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
  if (unlisted !== undefined) return at(unlisted, "is not a member of the schema");
  const allowed = allowedValues ?? allowedValue;
  const suffix = allowed === undefined ? "" : `: ${JSON.stringify(allowed)}`;
  return { path: path.join("."), message: `${error.message ?? "is not valid"}${suffix}` };
}
