import { createHash } from "node:crypto";
import { isJsonObject, type JsonObject, type JsonValue, oncePer } from "@patchbay/kit";
import { mapSchema, pointerName } from "@patchbay/schema";
import type { ModelFunction } from "@patchbay/engine/ports/model-provider";
import { wireSchema } from "./wire-schema.ts";

/** Claude refuses every request with a property named differently, and so all functions in the service. */
const SAFE = /^[a-zA-Z0-9_.-]{1,64}$/;

/** A string in JSON; the group has it if it names a member. */
const STRING = /"((?:[^"\\]|\\.)*)"(?=\s*:)|"(?:[^"\\]|\\.)*"/gs;

interface Mapped {
  schema: JsonObject;
  there: ReadonlyMap<string, string>;
  back: ReadonlyMap<string, string>;
}

/** Maps the function parameters in one set to names that Claude accepts, and back. */
export const wireParameters = oncePer((functions: readonly ModelFunction[]) => {
  const mapped = new Map(functions.map((one) => [one.name, withSafeNames(wireSchema(one.inputSchema))]));
  return {
    /** The function's JSON Schema, with wire names. */
    schemaOf: (one: ModelFunction): JsonObject => mapped.get(one.name)?.schema ?? wireSchema(one.inputSchema),
    /** A function's arguments, renamed for the wire. `functionName` is the owner's. */
    toWire(functionName: string, args: JsonObject): JsonObject {
      const names = mapped.get(functionName)?.there;
      return names && names.size > 0 ? (renamed(args, names) as JsonObject) : args;
    },
    /** Argument text with the owner's names, and otherwise as the model wrote it. */
    fromWire(functionName: string, text: string): string {
      const names = mapped.get(functionName)?.back;
      if (!names || names.size === 0) return text;
      return text.replaceAll(STRING, (string, name?: string) => {
        const own = name === undefined ? undefined : names.get(name);
        return own === undefined ? string : JSON.stringify(own);
      });
    },
  };
});

function withSafeNames(schema: JsonObject): Mapped {
  const there = new Map<string, string>();
  const wire = mapSchema(schema, (one) =>
    Object.fromEntries(Object.entries(one).map(([keyword, value]) => [keyword, renameIn(keyword, value, there)])),
  );
  const back = new Map([...there].map(([name, safe]) => [safe, name]));
  return { schema: there.size === 0 ? schema : wire, there, back };
}

/** A keyword's value, with safe parameter names. Adds them to `there`. */
function renameIn(keyword: string, value: JsonValue, there: Map<string, string>): JsonValue {
  if (keyword === "$ref" || keyword === "$dynamicRef")
    return typeof value === "string" ? renameRef(value, there) : value;
  if (keyword === "required" && Array.isArray(value))
    return value.map((name) => (typeof name === "string" ? safeName(name, there) : name));
  if (!(BY_PARAMETER.has(keyword) || keyword === "dependentRequired") || !isJsonObject(value)) return value;
  const members = Object.entries(value).map(([name, member]): [string, JsonValue] => {
    const safe = safeName(name, there);
    if (keyword === "dependentRequired") return [safe, renameIn("required", member, there)];
    return [safe, keyword === "properties" && safe !== name ? withOwnName(member, name) : member];
  });
  return Object.fromEntries(members);
}

/** Keywords whose value is data, never a schema. */
const DATA = new Set(["enum", "const", "default", "examples"]);
/** Keywords that map schemas by other names than parameters'. */
const NAMED = new Set(["$defs", "definitions", "patternProperties"]);
/** Keywords that map schemas by parameter name. */
const BY_PARAMETER = new Set(["properties", "dependentSchemas"]);

/** Rewrites a local reference with the names on the wire. */
function renameRef(ref: string, there: Map<string, string>): string {
  if (!ref.startsWith("#/")) return ref;
  const steps = ref.split("/");
  for (let i = 1; i < steps.length && !DATA.has(steps[i]!); i++) {
    const keyword = pointerName(steps[i]!);
    if (!NAMED.has(keyword) && !BY_PARAMETER.has(keyword)) continue;
    const step = steps[++i];
    if (step === undefined || !BY_PARAMETER.has(keyword)) continue;
    const name = pointerName(step);
    const safe = safeName(name, there);
    if (safe !== name) steps[i] = safe;
  }
  return steps.join("/");
}

/** Part of the name's digest distinguishes it from other parameters, and from additional members of open objects. */
function safeName(name: string, there: Map<string, string>): string {
  if (SAFE.test(name)) return name;
  const digest = createHash("sha256").update(name).digest("hex").slice(0, 6);
  const safe = `${name.replaceAll(/[^a-zA-Z0-9_-]/g, "_").slice(0, 50)}_${digest}`;
  there.set(name, safe);
  return safe;
}

/** The description shows the owner's name to the model. */
function withOwnName(schema: JsonValue, name: string): JsonValue {
  if (!isJsonObject(schema)) return schema;
  const { description } = schema;
  const own = `Named ${JSON.stringify(name)}.`;
  return { ...schema, description: typeof description === "string" ? `${own} ${description}` : own };
}

function renamed(value: JsonValue, names: ReadonlyMap<string, string>): JsonValue {
  if (Array.isArray(value)) return value.map((item) => renamed(item, names));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [names.get(name) ?? name, renamed(member, names)]),
  );
}
