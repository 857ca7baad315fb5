import { followRef, isJsonObject, type JsonObject, type JsonValue } from "@patchbay/protocol";

/**
 * A valid value with the defaults of the members that it leaves out, at every depth. A default is added as it is written, and only
 * where the value stays valid: null for a text is common in schemas that people write. Branches of a choice add none, because a
 * default is no sign that its branch is meant.
 */
export function withDefaults(root: JsonObject, value: JsonValue, isValid: (value: JsonValue) => boolean): JsonValue {
  const filled = structuredClone(value);
  const added: { object: JsonObject; name: string; default: JsonValue }[] = [];
  const visit = (schema: JsonValue, value: JsonValue): void => {
    for (const part of partsOf(root, schema)) {
      if (Array.isArray(value)) value.forEach((item, i) => visit(schemaOfItem(part, i), item));
      else if (isJsonObject(value)) visitMembers(part["properties"], value);
    }
  };
  const visitMembers = (properties: JsonValue | undefined, object: JsonObject): void => {
    if (!isJsonObject(properties)) return;
    for (const [name, member] of Object.entries(properties)) {
      if (added.some((one) => one.object === object && one.name === name)) continue;
      if (Object.hasOwn(object, name)) visit(member, object[name]!);
      else {
        const { default: own } = partsOf(root, member).find((part) => part["default"] !== undefined) ?? {};
        if (own === undefined || name === "__proto__") continue;
        object[name] = structuredClone(own);
        added.push({ object, name, default: own });
      }
    }
  };
  visit(root, filled);
  if (added.length === 0 || isValid(filled)) return filled;

  for (const { object, name } of added) delete object[name];
  for (const one of added) {
    one.object[one.name] = structuredClone(one.default);
    if (!isValid(filled)) delete one.object[one.name];
  }
  return filled;
}

/** A schema with all that holds together with it. A reference that leads back to itself is entered once. */
function partsOf(root: JsonObject, schema: JsonValue, seen = new Set<JsonValue>()): JsonObject[] {
  if (!isJsonObject(schema) || seen.has(schema)) return [];
  seen.add(schema);
  const { $ref, allOf } = schema;
  const others = [
    ...(typeof $ref === "string" ? [followRef(root, $ref) ?? true] : []),
    ...(Array.isArray(allOf) ? allOf : []),
  ];
  return [schema, ...others.flatMap((other) => partsOf(root, other, seen))];
}

function schemaOfItem({ prefixItems, items }: JsonObject, index: number): JsonValue {
  const own = Array.isArray(prefixItems) ? prefixItems[index] : undefined;
  return own ?? items ?? true;
}
