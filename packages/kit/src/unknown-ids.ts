import type { JsonObject, JsonValue } from "./json.ts";

/**
 * The value with one of its texts or numbers replaced by one of the same form that no record has: `Z888` for `W100`,
 * and `W888`, which also a pattern with a prefix accepts.
 */
export function* withUnknownIds(value: JsonValue): Iterable<JsonValue> {
  if (typeof value === "number") yield Number("8".repeat(String(Math.trunc(Math.abs(value))).length));
  else if (typeof value === "string") {
    const digits = value.replaceAll(/\d/g, "8");
    yield* [digits, digits.replaceAll(/[a-z]/g, "z").replaceAll(/[A-Z]/g, "Z")].filter((other) => other !== value);
  } else if (typeof value === "object" && value !== null)
    for (const [name, member] of Object.entries(value))
      for (const other of withUnknownIds(member))
        yield Array.isArray(value) ? value.with(Number(name), other) : { ...value, [name]: other };
}

/** The object without one of its members, for each of them. */
export const withoutOne = (object: JsonObject): JsonObject[] =>
  Object.keys(object).map((name) => Object.fromEntries(Object.entries(object).filter(([other]) => other !== name)));
