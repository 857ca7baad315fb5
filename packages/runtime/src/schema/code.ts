import type { JsonObject } from "@patchbay/kit";
import { isZod3, isZod4, type Schema } from "./schema.ts";

/** An owner's function that decides on access. */
export interface OwnersCode {
  run: (...args: never[]) => unknown;
  /** True if a library wraps the owner's function, so that the text is the library's. */
  isWrapped: boolean;
}

/** Definition members with functions that return schemas or texts, or that are read elsewhere. */
const STRUCTURE = new Set(["getter", "shape", "error", "errorMap", "when", "~standard"]);

/**
 * The functions in a zod schema: refinements and conversions, which JSON Schema does not show. In schema order. Without
 * `jsonSchema`, because the schema cannot be written as one, all code may be part of it.
 */
export function codeIn(schema: Schema | undefined, jsonSchema: JsonObject | undefined): OwnersCode[] {
  const found: OwnersCode[] = [];
  const seen = new Set<unknown>();
  const visit = (value: unknown): void => {
    if (typeof value === "function") {
      found.push({ run: value as OwnersCode["run"], isWrapped: false });
      return;
    }
    if (typeof value !== "object" || value === null || seen.has(value) || value instanceof RegExp) return;
    seen.add(value);
    if (isZod4(value)) visitZod4(value._zod);
    else if (isZod3(value)) visitMembers(value._def);
    else if (Array.isArray(value)) value.forEach(visit);
    else if (value instanceof Map || value instanceof Set) [...value.values()].forEach(visit);
    else if (Object.getPrototypeOf(value) === Object.prototype) visitMembers(value);
  };
  const visitZod4 = (internals: { def: object }): void => {
    const { check, fn } = internals.def as { check?: string; fn?: unknown };
    // `.superRefine()` and `.check()` keep the owner's function in a closure.
    const { check: run } = internals as { check?: unknown };
    if (check === "custom" && fn === undefined && typeof run === "function")
      found.push({ run: run as OwnersCode["run"], isWrapped: true });
    visitMembers(internals.def);
  };
  const visitMembers = (definition: object): void => {
    for (const name of Object.keys(definition)) {
      const value = (definition as Record<string, unknown>)[name];
      if (name === "shape") visit(typeof value === "function" ? (value as () => unknown)() : value);
      else if (name === "getter" && typeof value === "function") visit((value as () => unknown)());
      else if (!STRUCTURE.has(name)) visit(value);
    }
  };
  if (schema === undefined) return found;
  if (isZod4(schema) || isZod3(schema)) visit(schema);
  if (jsonSchema === undefined) found.push({ run: () => schema, isWrapped: true });
  return found;
}
