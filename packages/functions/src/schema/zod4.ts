import { z } from "zod";
import { memberPath, type JsonObject } from "@patchbay/protocol";
import type { Schema } from "./schema.ts";
import type { Writing } from "./unwritable.ts";

/** What a converting kind takes from JSON. Without this the converter sees only what it makes. */
const COERCED: Record<string, JsonObject> = {
  date: { type: "string", format: "date-time" },
  bigint: { type: "integer" },
};

/** Writes a zod 4 (or zod mini) schema as JSON Schema. Parts that JSON does not have are open. */
export function zod4ToJsonSchema(schema: Schema, { side, unwritable }: Writing): JsonObject {
  const jsonSchema: unknown = z.toJSONSchema(schema as unknown as z.ZodType, {
    io: side,
    target: "draft-2020-12",
    unrepresentable({ zodSchema, path }) {
      const definition: { type: string; coerce?: boolean } = zodSchema._zod.def;
      const coerced = side === "input" && definition.coerce === true && COERCED[definition.type];
      if (!coerced) unwritable?.({ path: memberPath(path), kind: definition.type });
      return coerced || "any";
    },
  });
  return jsonSchema as JsonObject;
}

/** The members that a zod 4 object describes; none for every other kind of schema. */
export function zod4Members(schema: Schema): string[] {
  const { shape } = (schema as unknown as { _zod: { def: { shape?: object } } })._zod.def;
  return Object.keys(shape ?? {});
}
