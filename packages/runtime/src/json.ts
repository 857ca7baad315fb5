import { LIMITS } from "@patchbay/protocol";
import { type JsonValue } from "@patchbay/kit";

/** The place and the reason why a value is not JSON. */
class NotJson extends Error {
  override readonly name = "NotJson";
}

/** Leaves levels for the frame around a value. */
const DEPTH = LIMITS.jsonDepth - 4;

/** What to return in place of a value without data. */
const NO_DATA: Readonly<Record<string, string>> = {
  bigint: "return its text, for example with String(value)",
  function: "call it, or leave it out",
};

/** Where a value is, for messages, and the objects that contain it. */
interface Place {
  path: string;
  parents: readonly object[];
}

/**
 * Copies a value as JSON, so that later changes to the owner's objects have no effect. Works like JSON.stringify
 * (`toJSON`, undefined properties dropped, NaN as null), but throws where that would lose data silently: for a bigint, a
 * circular object, bytes, and objects whose data are not in their members, such as maps, errors and responses.
 * `undefined` itself becomes null.
 */
export function toJson(value: unknown, { path, parents }: Place = { path: "", parents: [] }): JsonValue {
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
      throw fault(`is a ${typeof value}: ${NO_DATA[typeof value] ?? "leave it out"}`);
  }
  if (parents.includes(value)) throw fault("is circular: it contains itself. Return an id in its place");
  if (parents.length >= DEPTH) throw fault(`nests deeper than ${DEPTH} levels`);
  const loss = lossOf(value);
  if (loss !== undefined) throw fault(loss);
  const inside = [...parents, value];
  if (hasMethod(value, "toJSON")) return toJson(value.toJSON(), { path, parents: inside });
  if (Array.isArray(value))
    return Array.from(value, (item, i) => toJson(item, { path: `${path}[${i}]`, parents: inside }));
  const copy: Record<string, JsonValue> = {};
  for (const [name, member] of Object.entries(value)) {
    // Assigning __proto__ would set the copy's prototype.
    if (isAbsent(member) || name === "__proto__") continue;
    copy[name.toWellFormed()] = toJson(member, { path: path === "" ? name : `${path}.${name}`, parents: inside });
  }
  return copy;
}

/** Built-in kinds whose data are not in their members, although a class that extends them can have some. */
const BUILT_IN = new Set(["Boolean", "Error", "Map", "Number", "RegExp", "Set", "String"]);
/** What to do with the first kind that applies. */
const REMEDIES: readonly (readonly [(value: object) => boolean, string])[] = [
  [(value) => hasMethod(value, "then"), "await it first"],
  [(value) => hasMethod(value, "json"), "read its body first, for example with await value.json()"],
  [isBytes, 'return base64 text, for example with Buffer.from(bytes).toString("base64")'],
  [(value) => value instanceof Error, "throw it, or return its message"],
  [(value) => Symbol.asyncIterator in value, "read it first, for example with await Array.fromAsync(value)"],
  [(value) => typeof value.valueOf() !== "object", "return its valueOf()"],
  [(value) => Symbol.iterator in value, "spread it first, or return Object.fromEntries() of it"],
  [() => true, "return a plain object with its data, or add toJSON() to its class"],
];

/** What an object is whose copy would lack its data, and what to do instead; undefined for others. */
export function lossOf(value: unknown): string | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const isHidden = isBytes(value) || hasMethod(value, "then");
  if (!isHidden && (Array.isArray(value) || hasMethod(value, "toJSON") || isPlain(value))) return undefined;
  const kind = Object.prototype.toString.call(value).slice("[object ".length, -1);
  const isBuiltIn = Symbol.asyncIterator in value || BUILT_IN.has(kind);
  const holds = (member: unknown) => member === undefined || !isAbsent(member);
  if (!isHidden && !isBuiltIn && Object.values(value).some(holds)) return undefined;
  const { constructor } = value as { constructor?: unknown };
  // Bundlers number names that occur twice: Response$1.
  const name = (typeof constructor === "function" && constructor.name.replace(/\$\d+$/, "")) || kind;
  const [, remedy] = REMEDIES.find(([applies]) => applies(value))!;
  return `is a ${hasMethod(value, "then") ? "promise" : name}: ${remedy}`;
}

/** Buffers have a `toJSON`, which makes four characters of each byte. */
function isBytes(value: object): boolean {
  return [ArrayBuffer, SharedArrayBuffer, Blob].some((kind) => value instanceof kind) || ArrayBuffer.isView(value);
}

/** True for object literals, also those of other realms, and for objects without a prototype. */
function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

function hasMethod<Name extends string>(value: object, name: Name): value is Record<Name, () => unknown> {
  return name in value && typeof (value as Record<string, unknown>)[name] === "function";
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
