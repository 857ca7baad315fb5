import { createRequire } from "node:module";
import type { Fault, JsonObject, JsonValue } from "@patchbay/protocol";
import type { ErrorObject } from "ajv";

const require = createRequire(import.meta.url);

/**
 * Compiles raw JSON Schema 2020-12; throws when it is none.
 * Ajv is loaded on first use: owners who write zod never pay for it.
 */
export function compileRawSchema(schema: JsonObject): (value: JsonValue) => Fault[] {
  compiler ??= loadCompiler();
  const validate = compileAlone(compiler, schema);
  return (value) => (validate(value) ? [] : (validate.errors ?? []).map(toFault));
}

let compiler: ReturnType<typeof loadCompiler> | undefined;

/** Forgets the schema once it is compiled, so equal `$id`s do not meet. A compiler that never keeps any cannot follow `"#"`. */
function compileAlone(compiler: ReturnType<typeof loadCompiler>, schema: JsonObject) {
  try {
    return compiler.compile(schema);
  } finally {
    compiler.removeSchema(schema);
  }
}

/** One compiler for all: each would compile the meta-schema anew. */
function loadCompiler() {
  const { Ajv2020 } = require("ajv/dist/2020.js") as typeof import("ajv/dist/2020.js");
  return new Ajv2020({ allErrors: true, strict: false, validateFormats: false, logger: false });
}

function toFault(error: ErrorObject): Fault {
  const path = error.instancePath
    .split("/")
    .slice(1)
    .map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));
  const { missingProperty, additionalProperty, allowedValues, allowedValue } = error.params as Record<string, unknown>;
  const at = (member: unknown, message: string) => ({ path: [...path, String(member)].join("."), message });
  if (missingProperty !== undefined) return at(missingProperty, "is required");
  if (additionalProperty !== undefined) return at(additionalProperty, "is not a member of the schema");
  const allowed = allowedValues ?? allowedValue;
  const suffix = allowed === undefined ? "" : `: ${JSON.stringify(allowed)}`;
  return { path: path.join("."), message: `${error.message ?? "is not valid"}${suffix}` };
}
