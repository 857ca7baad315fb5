import { isDeepStrictEqual } from "node:util";
import {
  canonicalJson,
  isJsonObject,
  type FunctionManifest,
  type JsonObject,
  type JsonValue,
} from "@patchbay/protocol";
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
      : withDefaults(inputSchema, dropUnlisted(inputSchema, sent), (filled) => adds(filled, sent, input));
  return canonicalJson(reached) === canonicalJson(sent) ? undefined : reached;
}

/** True when every member that was added to `sent` is in `input`, with the same value. */
function adds(filled: JsonValue, sent: JsonValue, input: unknown): boolean {
  if (Array.isArray(filled))
    return filled.every((item, i) =>
      adds(item, (sent as JsonValue[])[i]!, Array.isArray(input) ? input[i] : undefined),
    );
  if (!isJsonObject(filled)) return true;
  return Object.entries(filled).every(([name, member]) => {
    const made =
      isJsonObject(input) && Object.hasOwn(input, name) ? (input as Record<string, unknown>)[name] : undefined;
    return Object.hasOwn(sent as JsonObject, name)
      ? adds(member, (sent as JsonObject)[name]!, made)
      : made !== undefined && isSame(member, made);
  });
}

function isSame(value: JsonValue, made: unknown): boolean {
  try {
    return canonicalJson(toJson(made)) === canonicalJson(value);
  } catch {
    return false;
  }
}
