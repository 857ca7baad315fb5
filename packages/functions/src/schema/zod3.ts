import { createRequire } from "node:module";
import { memberPath, type JsonObject } from "@patchbay/protocol";
import type { Zod3Schema } from "./schema.ts";
import type { Writing } from "./unwritable.ts";

const require = createRequire(import.meta.url);

interface Definition {
  typeName?: string;
  coerce?: boolean;
  effect?: { type: string };
  unknownKeys?: string;
  catchall?: { _def: { typeName: string } };
}

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

/** Writes a zod 3 schema as JSON Schema. */
export function zod3ToJsonSchema(schema: Zod3Schema, { side, unwritable }: Writing): JsonObject {
  // Loaded here and not at the top: owners on zod 4 need neither the converter nor the zod 3 it imports.
  const converter = require("zod-to-json-schema") as typeof import("zod-to-json-schema");
  return converter.zodToJsonSchema(schema as unknown as Parameters<typeof converter.zodToJsonSchema>[0], {
    pipeStrategy: side,
    removeAdditionalStrategy: "strict",
    allowedAdditionalProperties: undefined,
    override(definition, { currentPath }) {
      const { typeName = "", coerce, effect } = definition as Definition;
      // The converter would describe what a transform takes, and anything may come out of it.
      if (side === "output" && (effect?.type === "transform" || typeName in NOT_JSON)) return {};
      const kind = NOT_JSON[typeName];
      if (kind !== undefined && coerce !== true) unwritable?.({ path: memberPath(currentPath.slice(1)), kind });
      return converter.ignoreOverride;
    },
    // The converter writes the same for objects that drop other members and for those that keep them.
    postProcess(jsonSchema, definition) {
      const { typeName, unknownKeys, catchall } = definition as Definition;
      const keepsOthers = typeName === "ZodObject" && unknownKeys === "passthrough";
      if (!jsonSchema || !keepsOthers || catchall?._def.typeName !== "ZodNever") return jsonSchema;
      return { ...jsonSchema, additionalProperties: {} };
    },
  }) as JsonObject;
}

/** The members that a zod 3 object describes; none for every other kind of schema. */
export function zod3Members(schema: Zod3Schema): string[] {
  const { shape } = schema._def as { shape?: () => object };
  return Object.keys(shape?.() ?? {});
}
