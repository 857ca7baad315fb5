import {
  type ElicitRequestFormParams,
  type PrimitiveSchemaDefinition,
  specTypeSchemas,
} from "@modelcontextprotocol/server";
import { isJsonObject, type JsonObject, type JsonValue } from "@patchbay/kit";
import type { FunctionManifest } from "@patchbay/protocol";

/** A form's fields, by the argument members that they change. */
export type Fields = Record<string, PrimitiveSchemaDefinition>;

/**
 * The fields in which an approver may change a call's arguments, with the call's values. Members whose types forms
 * lack, such as objects, can only be changed in the console.
 */
export function fieldsOf(inputSchema: JsonObject, parameters: JsonValue, edit: readonly string[]): Fields {
  const { properties } = inputSchema;
  const values = isJsonObject(parameters) ? parameters : {};
  const fields: Fields = {};
  for (const name of edit) {
    const member = isJsonObject(properties) ? properties[name] : undefined;
    if (!isJsonObject(member)) continue;
    const field = Object.hasOwn(values, name) ? { ...member, default: values[name] } : member;
    // Omits what forms do not support. The runtime checks the changed arguments against the whole schema.
    const read = specTypeSchemas.PrimitiveSchemaDefinition["~standard"].validate(field);
    if (!read.issues) fields[name] = read.value;
  }
  return fields;
}

/** The arguments as the user left the form; undefined if it has no fields or was returned without them. */
export function filledIn(fields: Fields, parameters: JsonValue, content: unknown): JsonObject | undefined {
  if (!isJsonObject(content)) return undefined;
  const given = Object.keys(fields).filter((name) => Object.hasOwn(content, name));
  if (given.length === 0) return undefined;
  const changed = Object.fromEntries(given.map((name) => [name, content[name]!]));
  return { ...(isJsonObject(parameters) && parameters), ...changed };
}

/** A required argument that a call lacks, and the form for it. */
export interface Missing {
  name: string;
  question: ElicitRequestFormParams;
  /** The argument's value in a filled form. */
  valueIn(content: JsonObject): JsonValue | undefined;
}

/** The absent required arguments. Empty if no form can ask for one: then the client's model corrects its call. */
export function missingIn({ name: functionName, inputSchema }: FunctionManifest, input: JsonObject): Missing[] {
  const { properties, required } = inputSchema;
  const missing: Missing[] = [];
  for (const name of Array.isArray(required) ? required : []) {
    if (typeof name !== "string" || Object.hasOwn(input, name)) continue;
    const member = isJsonObject(properties) ? properties[name] : undefined;
    const form = isJsonObject(member) ? formFor(inputSchema, name, member) : undefined;
    if (!form) return [];
    const { description } = member as JsonObject;
    const message = `${functionName} needs ${name}${typeof description === "string" ? `: ${description}` : "."}`;
    missing.push({ name, question: { message, requestedSchema: form.schema }, valueIn: form.valueIn });
  }
  return missing;
}

/** An object becomes a form if all its members can be fields. Any other argument is its form's only field. */
function formFor(inputSchema: JsonObject, name: string, member: JsonObject) {
  const { type, properties, required } = member;
  if (type !== "object" || !isJsonObject(properties)) {
    const fields = fieldsOf(inputSchema, {}, [name]);
    if (!fields[name]) return undefined;
    return { schema: schemaOf(fields, [name]), valueIn: (content: JsonObject) => content[name] };
  }
  const names = Object.keys(properties);
  const fields = fieldsOf(member, {}, names);
  if (names.length === 0 || names.some((field) => !fields[field])) return undefined;
  const needed = (Array.isArray(required) ? required : []).filter((field) => typeof field === "string");
  return {
    schema: schemaOf(fields, needed),
    valueIn: (content: JsonObject): JsonObject =>
      Object.fromEntries(names.flatMap((field) => (Object.hasOwn(content, field) ? [[field, content[field]!]] : []))),
  };
}

const schemaOf = (properties: Fields, required: string[]): ElicitRequestFormParams["requestedSchema"] => ({
  type: "object",
  properties,
  required,
});
