import { isDeepStrictEqual } from "node:util";
import { canonicalJson, isJsonObject, type FunctionManifest, type JsonValue } from "@patchbay/protocol";
import { toJson } from "../json.ts";
import { withDefaults } from "./defaults.ts";
import { dropUnlisted } from "./unlisted.ts";

/**
 * The arguments as the handler gets them, for the record of a call; undefined where they are those that were sent. `input` is what
 * the schema made of them. A value that a library converts is shown as it was sent: what a transform returns may be data of the
 * owner's that the caller must not read. For the same reason a default is shown only where it is the one that the schema states.
 */
export function argumentsReached(
  { inputSchema, keepsUnlisted }: FunctionManifest,
  sent: JsonValue,
  input: unknown,
): JsonValue | undefined {
  if (isDeepStrictEqual(sent, input)) return undefined;
  const reached =
    keepsUnlisted === true
      ? toJson(input)
      : withDefaults(inputSchema, dropUnlisted(inputSchema, sent), ({ path, name, default: stated }) => {
          const made = madeAt(path.reduce(madeAt, input), name);
          return made !== undefined && isSame(stated, made);
        });
  return canonicalJson(reached) === canonicalJson(sent) ? undefined : reached;
}

/** What a library made of one step of the arguments; undefined where it made no such member or item. */
function madeAt(made: unknown, step: string | number): unknown {
  const isKind = typeof step === "number" ? Array.isArray(made) : isJsonObject(made);
  return isKind && Object.hasOwn(made as object, step) ? (made as Record<string | number, unknown>)[step] : undefined;
}

function isSame(value: JsonValue, made: unknown): boolean {
  try {
    return canonicalJson(toJson(made)) === canonicalJson(value);
  } catch {
    return false;
  }
}
