import { LIMITS } from "@patchbay/protocol";
import { type JsonValue } from "@patchbay/kit";

/** The place and the reason why a value is not JSON. */
class NotJson extends Error {
  override readonly name = "NotJson";
}

/** Leaves levels for the frame around a value. */
const DEPTH = LIMITS.jsonDepth - 4;

/**
 * Copies a value as JSON, so that later changes to the owner's objects have no effect. Works like JSON.stringify
 * (`toJSON`, undefined properties dropped, NaN as null), but throws where that would lose data silently: for a bigint,
 * a map or set, a promise and a circular object. `undefined` itself becomes null.
 */
export function toJson(value: unknown, path = "", depth = 0): JsonValue {
  const fault = (what: string) => new NotJson(`${path === "" ? "the value" : path} ${what}`);
  if (value === null || value === undefined) return null;
  switch (typeof value) {
    case "string":
      return value.toWellFormed();
    case "boolean":
      return value;
    case "number":
      return Number.isFinite(value) ? value + 0 : null; // JSON has no -0
    case "object":
      break;
    default:
      throw fault(`is a ${typeof value}`);
  }
  if (depth >= DEPTH) throw fault(`nests deeper than ${DEPTH} levels, or is circular`);
  if ("toJSON" in value && typeof value.toJSON === "function") return toJson(value.toJSON(), path, depth + 1);
  if (value instanceof Map || value instanceof Set) throw fault(`is a ${value.constructor.name}: spread it first`);
  if (value instanceof Promise) throw fault("is a promise: await it first");
  if (Array.isArray(value)) return Array.from(value, (item, i) => toJson(item, `${path}[${i}]`, depth + 1));
  const copy: Record<string, JsonValue> = {};
  for (const [name, member] of Object.entries(value)) {
    // Assigning __proto__ would set the copy's prototype.
    if (isAbsent(member) || name === "__proto__") continue;
    copy[name.toWellFormed()] = toJson(member, path === "" ? name : `${path}.${name}`, depth + 1);
  }
  return copy;
}

function isAbsent(member: unknown): boolean {
  return member === undefined || typeof member === "function" || typeof member === "symbol";
}

/**
 * Copies plain objects and lists without prototypes: zod and arktype read the inherited `constructor` if a value has no
 * optional property with that name. Class instances stay unchanged.
 */
export function withoutPrototypes(value: unknown, depth = 0): unknown {
  if (typeof value !== "object" || value === null || depth >= DEPTH) return value;
  if (Array.isArray(value)) return value.map((item) => withoutPrototypes(item, depth + 1));
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return value;
  const copy = Object.create(null) as Record<string, unknown>;
  for (const [name, member] of Object.entries(value)) copy[name] = withoutPrototypes(member, depth + 1);
  return copy;
}
