import { createHash } from "node:crypto";
import { isJsonObject, type JsonObject, type JsonValue, mapSchema, oncePer, pointerName } from "@patchbay/protocol";
import type { ModelFunction } from "../ports/model-provider.ts";
import { wireSchema } from "./wire-schema.ts";

/** The parameters of functions as Claude takes them, and back. */
export interface WireParameters {
  /** The function's JSON Schema with names that the wire takes. */
  schemaOf(one: ModelFunction): JsonObject;
  /** Arguments of a function, by the owner's name of it, with the names of the wire. */
  toWire(functionName: string, args: JsonObject): JsonObject;
  /** Text of arguments with the owner's names; text that is not JSON comes back unchanged. */
  fromWire(functionName: string, text: string): string;
}

/** Claude refuses every request with a property of another name, and with it all functions of a service. */
const SAFE = /^[a-zA-Z0-9_.-]{1,64}$/;

interface Mapped {
  schema: JsonObject;
  there: ReadonlyMap<string, string>;
  back: ReadonlyMap<string, string>;
}

/** The parameters of one function set. */
export const wireParameters = oncePer((functions: readonly ModelFunction[]): WireParameters => {
  const mapped = new Map(functions.map((one) => [one.name, withSafeNames(wireSchema(one.inputSchema))]));
  return {
    schemaOf: (one) => mapped.get(one.name)?.schema ?? wireSchema(one.inputSchema),
    toWire(functionName, args) {
      const names = mapped.get(functionName)?.there;
      return names && names.size > 0 ? (renamed(args, names) as JsonObject) : args;
    },
    fromWire(functionName, text) {
      const names = mapped.get(functionName)?.back;
      if (!names || names.size === 0) return text;
      try {
        return JSON.stringify(renamed(JSON.parse(text) as JsonValue, names));
      } catch {
        return text;
      }
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

/** The value of a keyword with safe names of its parameters, which are noted in `there`. */
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
/** Keywords whose value maps schemas by names that are not parameters. */
const NAMED = new Set(["$defs", "definitions", "patternProperties"]);
/** Keywords whose value maps schemas by names of parameters. */
const BY_PARAMETER = new Set(["properties", "dependentSchemas"]);

/** A local reference by the names that its place has on the wire. */
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

/** A part of the name's digest keeps it apart from other parameters, and from members of objects that are open. */
function safeName(name: string, there: Map<string, string>): string {
  if (SAFE.test(name)) return name;
  const digest = createHash("sha256").update(name).digest("hex").slice(0, 6);
  const safe = `${name.replaceAll(/[^a-zA-Z0-9_-]/g, "_").slice(0, 50)}_${digest}`;
  there.set(name, safe);
  return safe;
}

/** The description gives the model the owner's name. */
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
