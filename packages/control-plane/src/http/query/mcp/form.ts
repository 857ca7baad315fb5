import { type PrimitiveSchemaDefinition, specTypeSchemas } from "@modelcontextprotocol/server";
import { isJsonObject, type JsonObject, type JsonValue } from "@patchbay/protocol";

/** The fields of a form, by the members of the arguments that they change. */
export type Fields = Record<string, PrimitiveSchemaDefinition>;

/**
 * The fields in which the approver of a call may change its arguments, with the values of the call. Members of types that forms do not
 * have, such as objects, are changed in the console only.
 */
export function fieldsOf(inputSchema: JsonObject, parameters: JsonValue, edit: readonly string[]): Fields {
  const { properties } = inputSchema;
  const values = isJsonObject(parameters) ? parameters : {};
  const fields: Fields = {};
  for (const name of edit) {
    const member = isJsonObject(properties) ? properties[name] : undefined;
    if (!isJsonObject(member)) continue;
    const field = Object.hasOwn(values, name) ? { ...member, default: values[name] } : member;
    // Leaves out what a form does not know of. The runtime checks the changed arguments against the whole schema.
    const read = specTypeSchemas.PrimitiveSchemaDefinition["~standard"].validate(field);
    if (!read.issues) fields[name] = read.value;
  }
  return fields;
}

/** The arguments as the user left the form; undefined if it has no fields or came back without them. */
export function filledIn(fields: Fields, parameters: JsonValue, content: unknown): JsonObject | undefined {
  if (!isJsonObject(content)) return undefined;
  const given = Object.keys(fields).filter((name) => Object.hasOwn(content, name));
  if (given.length === 0) return undefined;
  const changed = Object.fromEntries(given.map((name) => [name, content[name]!]));
  return { ...(isJsonObject(parameters) && parameters), ...changed };
}
