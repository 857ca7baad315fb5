import { type JsonObject, visibleTo } from "@patchbay/functions";
import { isJsonObject } from "@patchbay/kit";
import { followRef } from "@patchbay/schema";
import { itemsOf, membersOf } from "./document.ts";

/** A path's steps: `items[].cost` has `items`, `[]` and `cost`. */
export const stepsOf = (path: string): string[] => path.match(/\[\]|[^.[\]]+/g) ?? [];

/**
 * An output schema with marks at paths. Each is in a part of its own, so that other members with the same definition stay
 * unmarked. Throws for a path that the schema does not list: its mark would have no effect.
 */
export function withMarks(schema: JsonObject, marks: Readonly<Record<string, readonly string[]>>): JsonObject {
  const parts = Object.entries(marks).map(([path, roles]) => {
    let places = partsOf(schema, schema);
    for (const step of stepsOf(path)) {
      const members = places.flatMap(({ properties, items }) => [
        ...membersOf(properties),
        ...membersOf({ "[]": items ?? 0 }),
      ]);
      const schemas = members.filter((member): member is [string, JsonObject] => isJsonObject(member[1]));
      const found = schemas.flatMap(([name, member]) => (name === step ? [member] : []));
      if (found.length === 0) {
        const names = schemas.map(([name]) => name).join(", ") || "nothing";
        throw new Error(
          `visibleTo: the answer has no ${JSON.stringify(path)}. In place of ${JSON.stringify(step)} it has: ${names}`,
        );
      }
      places = found.flatMap((member) => partsOf(schema, member));
    }
    return stepsOf(path).reduceRight<JsonObject>(
      (part, step) => (step === "[]" ? { items: part } : { properties: { [step]: part } }),
      visibleTo<JsonObject>({}, roles),
    );
  });
  return { ...schema, allOf: [...itemsOf(schema["allOf"]), ...parts] };
}

/** A schema with all that describe the same value. */
function partsOf(root: JsonObject, schema: JsonObject, seen = new Set<JsonObject>()): JsonObject[] {
  if (seen.has(schema)) return [];
  seen.add(schema);
  const { $ref, allOf, anyOf } = schema;
  const further = [typeof $ref === "string" ? followRef(root, $ref) : undefined, ...itemsOf(allOf), ...itemsOf(anyOf)];
  return [schema, ...further.filter(isJsonObject).flatMap((part) => partsOf(root, part, seen))];
}
