import type { JsonObject, JsonValue } from "@patchbay/protocol";
import type { Parameter } from "./parameters.ts";
import { accepts, list } from "./schema.ts";

/** Puts values in their places. Groups that must be there are, even when empty; optional ones of which a part lacks are not. */
export function buildArguments(
  values: readonly (readonly [Parameter, JsonValue])[],
  parameters: readonly Parameter[],
  root: JsonObject,
): JsonObject {
  const built: JsonObject = {};
  for (const { path } of parameters)
    if (path.length > 1 && list(root.required).includes(path[0] ?? "")) define(built, path[0] ?? "", {});
  for (const [parameter, value] of values) setAt(built, parameter.path, value);
  dropPartial(built, root, parameters);
  return built;
}

function setAt(target: JsonObject, path: readonly string[], value: JsonValue): void {
  let at = target;
  for (const name of path.slice(0, -1)) {
    const next = Object.hasOwn(at, name) ? at[name] : undefined;
    const member = typeof next === "object" && next !== null && !Array.isArray(next) ? next : {};
    define(at, name, member);
    at = member;
  }
  define(at, path.at(-1) ?? "", value);
}

/** Sets an own member whatever its name: an owner may call a parameter `__proto__`. */
function define(target: JsonObject, name: string, value: JsonValue): void {
  Object.defineProperty(target, name, { value, enumerable: true, configurable: true, writable: true });
}

/** Leaves out an optional group of which only part was found. */
function dropPartial(built: JsonObject, root: JsonObject, parameters: readonly Parameter[]): void {
  for (const [name, member] of Object.entries(built)) {
    const grouped = parameters.some(({ path }) => path.length > 1 && path[0] === name);
    if (grouped && !accepts({ properties: root.properties ?? {} }, { [name]: member }, root)) delete built[name];
  }
}
