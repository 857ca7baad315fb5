import { followRef, isJsonObject, mapSchema, type JsonObject } from "@patchbay/protocol";

/** Formats that JSON Schema 2020-12 defines: the word says what a long pattern beside it would. */
const FORMATS = new Set([
  "date",
  "date-time",
  "duration",
  "email",
  "hostname",
  "idn-email",
  "idn-hostname",
  "ipv4",
  "ipv6",
  "iri",
  "iri-reference",
  "json-pointer",
  "regex",
  "relative-json-pointer",
  "time",
  "uri",
  "uri-reference",
  "uri-template",
  "uuid",
]);

/** Brings what schema libraries write to the one form that models are shown: plain JSON of draft 2020-12, no `$schema`, an object and no reference at the root. */
export function tidy(written: JsonObject): JsonObject {
  const copy = JSON.parse(JSON.stringify(written)) as JsonObject;
  return inlineRoot(mapSchema(copy, (schema) => toCurrentDraft(withoutNoise(schema))));
}

function withoutNoise(schema: JsonObject): JsonObject {
  const { format } = schema;
  const noise = ["$schema", ...(typeof format === "string" && FORMATS.has(format) ? ["pattern"] : [])];
  return Object.fromEntries(Object.entries(schema).filter(([keyword]) => !noise.includes(keyword)));
}

/** Draft 7 wrote tuples as `items: [...]`. */
function toCurrentDraft(schema: JsonObject): JsonObject {
  const { items, additionalItems, ...rest } = schema;
  if (!Array.isArray(items)) return schema;
  return { ...rest, prefixItems: items, ...(additionalItems === undefined ? {} : { items: additionalItems }) };
}

/** A root that is only a name for a definition (zod's `.meta({ id })`) becomes that definition. */
function inlineRoot(root: JsonObject): JsonObject {
  const { $ref, ...rest } = root;
  const target = typeof $ref === "string" && $ref !== "#" ? followRef(root, $ref) : undefined;
  return isJsonObject(target) ? { ...target, ...rest } : root;
}
