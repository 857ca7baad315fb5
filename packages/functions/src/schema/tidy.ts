import { followRef, isJsonObject, mapSchema, type JsonObject } from "@patchbay/protocol";
import { z } from "zod";

const { regexes } = z;

/**
 * The patterns that zod writes next to a format by itself. They only spell the format out, at length; any other pattern says what
 * the format does not, such as the domain of an address.
 */
const SPELT_OUT: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries({
    date: [regexes.date],
    "date-time": [regexes.datetime({}), regexes.datetime({ offset: true })],
    duration: [regexes.duration],
    email: [regexes.email],
    hostname: [regexes.hostname],
    ipv4: [regexes.ipv4],
    ipv6: [regexes.ipv6],
    time: [regexes.time({})],
    uuid: [regexes.uuid(), regexes.guid],
  }).map(([format, patterns]) => [format, patterns.map(({ source }) => source)]),
);

/** Brings what schema libraries write to the one form that models are shown: plain JSON of draft 2020-12, no `$schema`, an object and no reference at the root. */
export function tidy(written: JsonObject): JsonObject {
  const copy = JSON.parse(JSON.stringify(written)) as JsonObject;
  return inlineRoot(mapSchema(copy, (schema) => toCurrentItems(withoutNoise(schema))));
}

function withoutNoise(schema: JsonObject): JsonObject {
  const { format, pattern } = schema;
  const spelt = SPELT_OUT.get(format as string)?.includes(pattern as string) === true;
  const noise = ["$schema", ...(spelt ? ["pattern"] : [])];
  return Object.fromEntries(Object.entries(schema).filter(([keyword]) => !noise.includes(keyword)));
}

/** Draft 7 wrote tuples as `items: [...]`. */
export function toCurrentItems(schema: JsonObject): JsonObject {
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
