import { followRef, mapSchema, memberPath } from "@patchbay/schema";
import { isJsonObject, type JsonObject, type JsonValue } from "@patchbay/kit";
import { DefinitionError } from "../errors.ts";
import { refuseMisspelt } from "../redaction/visible-to.ts";
import { toCurrentItems } from "./to-json-schema.ts";

/**
 * The keywords in https://json-schema.org/draft/2020-12/schema and its vocabularies. `definitions`, the old name for
 * `$defs`, is still valid.
 */
const KEYWORDS = `
  $anchor $comment $defs $dynamicAnchor $dynamicRef $id $ref $schema $vocabulary additionalProperties allOf
  anyOf contains dependentSchemas else if items not oneOf patternProperties prefixItems properties propertyNames
  then unevaluatedItems unevaluatedProperties const dependentRequired enum exclusiveMaximum exclusiveMinimum
  maxContains maximum maxItems maxLength maxProperties minContains minimum minItems minLength minProperties
  multipleOf pattern required type uniqueItems default deprecated description examples readOnly title writeOnly
  contentEncoding contentMediaType contentSchema format definitions
`
  .trim()
  .split(/\s+/);

/** OpenAPI and editor keywords that do not affect validation. */
const ANNOTATIONS = `
  discriminator example externalDocs xml defaultSnippets deprecationMessage enumDescriptions enumNames
  errorMessage markdownDescription markdownEnumDescriptions propertyOrdering tsEnumNames tsType
`
  .trim()
  .split(/\s+/);

const STANDARD: ReadonlySet<string> = new Set(KEYWORDS);
const TEXTS: ReadonlySet<string> = new Set(["title", "description", "$comment"]);
const KNOWN: ReadonlySet<string> = new Set([...KEYWORDS, ...ANNOTATIONS]);

/** Advice for keywords from other drafts and dialects without an equivalent here. */
const INSTEAD: Readonly<Record<string, string>> = {
  $async: "its validation would end after the call began, so remove it",
  $recursiveAnchor: 'write "$ref": "#" where the schema refers to itself',
  $recursiveRef: 'write "$ref": "#" where the schema refers to itself',
  additionalItems: 'write "items", which describes the items after "prefixItems"',
  disallow: 'write "not"',
  divisibleBy: 'write "multipleOf"',
  extends: 'write "allOf"',
  optional: 'properties are optional unless the list "required" of their object contains them',
};

/**
 * A copy of raw JSON Schema in draft 2020-12, without `$schema`. Rewrites forms from older drafts and OpenAPI's
 * `nullable` if the schema still accepts the same values. Throws `DefinitionError` for unknown keywords, because a
 * misspelt one would have no effect.
 */
export function readRawSchema(schema: object, where: string): JsonObject {
  refuseTool(schema, where);
  const { $schema: _, ...copy } = JSON.parse(JSON.stringify(schema)) as JsonObject;
  return mapSchema(copy, (part, path) => {
    const at = `${where}: ${placeOf(path)}`;
    const fault = (text: string) => new DefinitionError(`${at}: ${text}`);
    refuseMisspelt(Object.keys(part), at);
    const current = toCurrentDraft(part, fault);
    for (const keyword of Object.keys(current))
      if (!isKnown(keyword))
        throw fault(`${JSON.stringify(keyword)} is not a keyword of JSON Schema 2020-12: ${adviceFor(keyword)}.`);
    return current;
  });
}

/** What other libraries have where JSON Schema is expected, by a member that JSON Schema does not have. */
function refuseTool(schema: object, where: string): void {
  if ("jsonSchema" in schema)
    throw new DefinitionError(
      `${where} is a schema of the AI SDK. Give its whole tool to fromTool, or write ${where.split(" ").at(-1)}: schema.jsonSchema.`,
    );
  if ("inputSchema" in schema || "parameters" in schema || "function" in schema)
    throw new DefinitionError(`${where} is a whole tool, not its schema. Give the tool to fromTool.`);
}

/** Throws `DefinitionError` for a reference without a target. */
export function checkRefs(root: JsonObject, where: string): void {
  mapSchema(root, (schema, path) => {
    for (const keyword of ["$ref", "$dynamicRef"]) {
      const ref = schema[keyword];
      if (typeof ref === "string" && followRef(root, ref) === undefined)
        throw new DefinitionError(
          `${where}: ${keyword} "${ref}" at "${memberPath(path)}" has no target. A reference must point to a schema within this one, such as "#/$defs/Address".`,
        );
    }
    return schema;
  });
}

/**
 * The same for another program's schema, which may contain unknown keywords. They are removed, and so are marks: only
 * the owner decides which role sees what. `text` gets every text for people and models.
 */
export function readForeignSchema(schema: JsonObject, where: string, text: (text: string) => string): JsonObject {
  const { $schema: _, ...copy } = schema;
  return mapSchema(copy, (part, path) => {
    const current = toCurrentDraft(part, (text) => new DefinitionError(`${where}: ${placeOf(path)}: ${text}`));
    const known = Object.entries(current).filter(([keyword]) => STANDARD.has(keyword));
    return Object.fromEntries(
      known.map(([keyword, value]) => [keyword, TEXTS.has(keyword) && typeof value === "string" ? text(value) : value]),
    );
  });
}

/** A place's name in a schema, for messages. */
export function placeOf(path: readonly string[]): string {
  const members = memberPath(path);
  return members === "" ? "at the root" : `at "${members}"`;
}

/** Libraries such as TypeBox use names with a tilde for their own data. */
function isKnown(keyword: string): boolean {
  return KNOWN.has(keyword) || keyword.startsWith("x-") || keyword.startsWith("~");
}

type ToFault = (text: string) => DefinitionError;

function toCurrentDraft(schema: JsonObject, fault: ToFault): JsonObject {
  const { id, ...current } = toCurrentItems(schema);
  // Draft 4's `id` names a schema. References by name are refused anyway.
  if (id !== undefined && typeof id !== "string") current["id"] = id;
  // Drafts 4 to 7 ignore `additionalItems` without an `items` list.
  if (!("prefixItems" in current)) delete current["additionalItems"];
  if (typeof current["required"] === "boolean")
    throw fault('"required" must be a list of names, on the object with these properties.');
  upgradeBound(current, "minimum", "exclusiveMinimum", fault);
  upgradeBound(current, "maximum", "exclusiveMaximum", fault);
  upgradeDependencies(current, fault);
  upgradeNullable(current, fault);
  return current;
}

/** Draft 4: `minimum: 5, exclusiveMinimum: true`. */
function upgradeBound(schema: JsonObject, bound: string, exclusive: string, fault: ToFault): void {
  if (typeof schema[exclusive] !== "boolean") return;
  const isExclusive = schema[exclusive];
  delete schema[exclusive];
  if (!isExclusive) return;
  if (typeof schema[bound] !== "number")
    throw fault(`"${exclusive}": true needs "${bound}"; write "${exclusive}" with the number.`);
  schema[exclusive] = schema[bound];
  delete schema[bound];
}

/** Drafts 3 to 7: name lists are `dependentRequired` now, schemas `dependentSchemas`. */
function upgradeDependencies(schema: JsonObject, fault: ToFault): void {
  const { dependencies } = schema;
  if (dependencies === undefined) return;
  if (!isJsonObject(dependencies) || "dependentRequired" in schema || "dependentSchemas" in schema)
    throw fault('write "dependencies" as "dependentRequired" (lists of names) and "dependentSchemas" (schemas).');
  delete schema["dependencies"];
  const entries = Object.entries(dependencies).map(([name, on]): [string, JsonValue] => [
    name,
    typeof on === "string" ? [on] : on,
  ]);
  const [lists, schemas] = [
    entries.filter(([, on]) => Array.isArray(on)),
    entries.filter(([, on]) => !Array.isArray(on)),
  ];
  if (lists.length > 0) schema["dependentRequired"] = Object.fromEntries(lists);
  if (schemas.length > 0) schema["dependentSchemas"] = Object.fromEntries(schemas);
}

/** OpenAPI 3.0. Also adds null to `enum`, which owners who write `nullable` forget. */
function upgradeNullable(schema: JsonObject, fault: ToFault): void {
  const { nullable, type, enum: values } = schema;
  if (nullable === undefined) return;
  delete schema["nullable"];
  if (nullable === false) return;
  if (nullable !== true || type === undefined || "const" in schema)
    throw fault('"nullable" needs "type" next to it; write "anyOf": [..., { "type": "null" }].');
  schema["type"] = [...new Set([type, "null"].flat())];
  if (Array.isArray(values) && !values.includes(null)) schema["enum"] = [...values, null];
}

function adviceFor(keyword: string): string {
  if (Object.hasOwn(INSTEAD, keyword)) return INSTEAD[keyword]!;
  const nearest = KEYWORDS.map((known) => ({
    known,
    edits: editsBetween(keyword.toLowerCase(), known.toLowerCase()),
  })).sort((a, b) => a.edits - b.edits)[0]!;
  if (nearest.edits <= MOST_EDITS && nearest.edits < keyword.length / 2) return `write "${nearest.known}"`;
  return `remove it, or name it "x-${keyword}" if it is only a description`;
}

/** A word with more edits is another word. */
const MOST_EDITS = 2;

/** The Levenshtein distance. */
function editsBetween(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++)
      next.push(Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)));
    row = next;
  }
  return row[b.length]!;
}
