import type { JsonObject, JsonValue } from "@patchbay/kit";

/** Values of every JSON type. */
const SAMPLES: JsonValue[] = [null, true, 7.5, "text", ["text"], { text: "text" }];

const kindOf = (value: JsonValue): string => (value === null ? "null" : Array.isArray(value) ? "array" : typeof value);

function* walk(value: JsonValue, opaque: readonly string[], path: string): Generator<[path: string, value: JsonValue]> {
  if (path !== "") yield [path, value];
  if (typeof value !== "object" || value === null || opaque.includes(path)) return;
  for (const [name, member] of Object.entries(value))
    yield* walk(member, opaque, path === "" ? name : `${path}.${name}`);
}

const isInList = (path: string): boolean => /\.\d+$/.test(path);

/** Generators of frames that differ from a valid one in one place. */
export const near = {
  get: (frame: JsonObject, path: string): JsonValue =>
    path.split(".").reduce<JsonValue>((value, name) => (value as JsonObject)[name]!, frame),

  /** The paths of all named properties, without items of lists. */
  paths: (frame: JsonObject, json: readonly string[] = []): string[] =>
    [...walk(frame, json, "")].map(([path]) => path).filter((path) => !isInList(path)),

  /** The paths of the objects whose properties the protocol knows. `json`: paths of properties with any JSON in them. */
  objects: (frame: JsonObject, json: readonly string[] = []): string[] => [
    "",
    ...[...walk(frame, json, "")]
      .filter(([path, value]) => kindOf(value) === "object" && !json.includes(path))
      .map(([path]) => path),
  ],

  /** A value of each wrong type for each property. */
  wrongTypes: (frame: JsonObject, json: readonly string[] = []): [path: string, value: JsonValue][] =>
    [...walk(frame, json, "")].flatMap(([path, value]) => {
      const isAnyJson = json.includes(path) && kindOf(value) !== "object";
      if (isAnyJson) return [];
      return SAMPLES.filter((sample) => kindOf(sample) !== kindOf(value)).map((sample): [string, JsonValue] => [
        path,
        sample,
      ]);
    }),
};

/** A copy of a frame with another value at a path. */
export function withProperty(frame: JsonObject, path: string, value: JsonValue): JsonObject {
  const copy = structuredClone(frame);
  const names = path.split(".");
  const last = names.pop()!;
  const parent = names.reduce<JsonObject>((value, name) => value[name] as JsonObject, copy);
  parent[last] = value;
  return copy;
}

/** A copy of a frame without the property at a path. */
export function withoutProperty(frame: JsonObject, path: string): JsonObject {
  const copy = structuredClone(frame);
  const names = path.split(".");
  const last = names.pop()!;
  delete names.reduce<JsonObject>((value, name) => value[name] as JsonObject, copy)[last];
  return copy;
}
