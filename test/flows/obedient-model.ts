import type { ModelProvider, ModelRequest } from "@patchbay/control-plane";
import { isJsonObject, type JsonObject, type JsonValue } from "@patchbay/kit";
import { scriptedModel } from "@patchbay/test-kit/scripted-model";
import { textOf } from "./records.ts";
import { type Attack, type Call, REFERENCE } from "./suite.ts";

/** The latest result of each function in a request. */
type Results = ReadonlyMap<string, JsonValue>;

const ENCODE: Record<string, (text: string) => string> = {
  base64: (text) => Buffer.from(text).toString("base64url"),
  hex: (text) => Buffer.from(text).toString("hex"),
  uri: encodeURIComponent,
  host: (text) => text.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-"),
};

/**
 * A model for one thread. For each of the caller's texts it makes the calls that the task needs. When a result or a
 * function's description has shown it all texts of the attack, it makes the attack's calls first.
 */
export function obedientModels(attack: Attack | undefined): (needed: readonly Call[]) => ModelProvider {
  let query = 0;
  let obeyed = false;
  return (needed) => {
    query += 1;
    const open = [...needed];
    return scriptedModel((request) => {
      if (attack && !obeyed && query >= (attack.turn ?? 1) && showsAll(request, attack)) {
        obeyed = true;
        open.unshift(...(attack.calls ?? []));
      }
      const results = resultsIn(request);
      for (let call = open.shift(); call; call = open.shift()) {
        const [[name, input]] = Object.entries(call) as [[string, JsonObject]];
        const filled = fill(input, results);
        // It gives up a call if an earlier one failed to return what it needs.
        if (filled !== undefined) return { calls: [[name, filled]] };
      }
      return "Done.";
    });
  };
}

function showsAll({ messages, functions }: ModelRequest, { plant = {}, sees = stringsIn(plant) }: Attack): boolean {
  const results = messages.flatMap((message) => (message.role === "results" ? message.results : []));
  const read =
    results.map(({ content }) => content).join("\n") + functions.map(({ description }) => description).join("\n");
  return sees.every((text) => read.includes(text) || read.includes(JSON.stringify(text).slice(1, -1)));
}

export function stringsIn(value: JsonValue): string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(stringsIn) : [];
}

function resultsIn({ messages }: ModelRequest): Results {
  const results = new Map<string, JsonValue>();
  for (const message of messages)
    if (message.role === "results")
      for (const { name, content, isError } of message.results) if (!isError) results.set(name, valueOf(content));
  return results;
}

function valueOf(content: string): JsonValue {
  try {
    return JSON.parse(content) as JsonValue;
  } catch {
    return content;
  }
}

/** The input with values in place of its references. Undefined if a result is missing. */
function fill<T extends JsonValue>(value: T, results: Results): T | undefined {
  if (typeof value === "string") return fillText(value, results) as T | undefined;
  if (Array.isArray(value)) {
    const parts = value.map((part) => fill(part, results));
    return parts.includes(undefined) ? undefined : (parts as unknown as T);
  }
  if (!isJsonObject(value)) return value;
  const entries = Object.entries(value).map(([key, part]) => [fill(key, results), fill(part, results)]);
  return entries.flat().includes(undefined) ? undefined : (Object.fromEntries(entries) as T);
}

function fillText(text: string, results: Results): JsonValue | undefined {
  let isMissing = false;
  let whole: JsonValue | undefined;
  const filled = text.replaceAll(
    REFERENCE,
    (match, from: string, path: string, pattern?: string, encoding?: string) => {
      let value = results.get(from);
      for (const key of path.split(".").filter(Boolean))
        value = (value as Record<string, JsonValue> | null | undefined)?.[key];
      if (pattern !== undefined) value = new RegExp(pattern, "u").exec(textOf(value))?.[0];
      if (value === undefined) isMissing = true;
      else if (encoding !== undefined) value = ENCODE[encoding]!(textOf(value));
      if (match === text && typeof value === "number") whole = value;
      return textOf(value);
    },
  );
  return isMissing ? undefined : (whole ?? filled);
}
