import { canonicalJson, type JsonObject } from "@patchbay/kit";
import { mapSchema, memberPath } from "@patchbay/schema";
import { describeParsed } from "./describe.ts";
import { readPart } from "./parts.ts";
import type { Schema } from "./schema.ts";

/**
 * What a schema does with a value before it judges it, by kind and place: `default format` has the default's JSON,
 * `unlisted address` is there if an object refuses other members, and `converts total` if a type converts its input.
 */
export function parsingOf(schema: Schema | undefined): Record<string, string> {
  if (schema === undefined) return {};
  const found = writtenIn(schema);
  // A default that is the time or a random number differs each time.
  const again = writtenIn(schema);
  for (const key of Object.keys(found)) if (found[key] !== again[key]) found[key] = "computed";
  const seen = new Set<object>();
  const visit = (part: object | undefined, path: readonly string[]): void => {
    const read = part === undefined || seen.has(part) ? undefined : readPart(part);
    if (part === undefined || read === undefined) return;
    seen.add(part);
    if (read.coerces) add(found, `converts ${path.join(".")}`, read.kind);
    for (const [name, member] of read.members) visit(member, [...path, name]);
    for (const same of [read.inner, ...read.options, ...read.all]) visit(same, path);
    for (const [i, item] of read.items.entries()) visit(item, [...path, String(i)]);
    visit(read.others, [...path, "*"]);
  };
  visit(schema, []);
  return found;
}

function writtenIn(schema: Schema): Record<string, string> {
  const found: Record<string, string> = {};
  mapSchema(describeParsed(schema) ?? {}, (part: JsonObject, path) => {
    const { default: value, additionalProperties, properties } = part;
    if (value !== undefined) add(found, `default ${memberPath(path)}`, canonicalJson(value));
    if (additionalProperties === false && properties !== undefined)
      add(found, `unlisted ${memberPath(path)}`, "refused");
    return part;
  });
  return found;
}

/** The branches of a union have one place. */
function add(found: Record<string, string>, key: string, value: string): void {
  found[key] = found[key] === undefined ? value : `${found[key]}, ${value}`;
}
