import { createRequire } from "node:module";
import type { JsonObject } from "@patchbay/protocol";
import { memberPath } from "./subschemas.ts";
import type { Zod3Schema } from "./schema.ts";
import type { Unwritable } from "./unwritable.ts";

const require = createRequire(import.meta.url);

/** What zod 3 holds and JSON does not, and the converter would describe as something the schema itself then refuses. */
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

/** Writes a zod 3 schema as JSON Schema of what it accepts; `unwritable` hears of each part that JSON does not have. */
export function zod3ToJsonSchema(schema: Zod3Schema, unwritable: (part: Unwritable) => void): JsonObject {
  // Loaded here and not at the top: owners on zod 4 need neither the converter nor the zod 3 it imports.
  const converter = require("zod-to-json-schema") as typeof import("zod-to-json-schema");
  return converter.zodToJsonSchema(schema as unknown as Parameters<typeof converter.zodToJsonSchema>[0], {
    pipeStrategy: "input",
    removeAdditionalStrategy: "strict",
    allowedAdditionalProperties: undefined,
    override(definition, { currentPath }) {
      const { typeName = "", coerce } = definition as { typeName?: string; coerce?: boolean };
      const kind = NOT_JSON[typeName];
      if (kind !== undefined && coerce !== true) unwritable({ path: memberPath(currentPath.slice(1)), kind });
      return converter.ignoreOverride;
    },
  }) as JsonObject;
}

/** The members that a zod 3 object describes; none for every other kind of schema. */
export function zod3Members(schema: Zod3Schema): string[] {
  const { shape } = schema._def as { shape?: () => object };
  return Object.keys(shape?.() ?? {});
}
