import type { JsonObject, JsonValue } from "@patchbay/kit";

/** A payload in a span: the value, or a part with about `mostBytes`. The run's log has all of it. */
export interface Payload {
  value: JsonValue;
  truncated: boolean;
}

export function payloadOf(value: JsonValue, mostBytes: number): Payload {
  // Cheap for most payloads: a UTF-16 unit has at most 3 bytes.
  const text = typeof value === "string" ? value : JSON.stringify(value);
  if (text.length * 3 <= mostBytes || Buffer.byteLength(text) <= mostBytes) return { value, truncated: false };
  return { value: partOf(value, mostBytes), truncated: true };
}

/** To measure its values, each level writes them as JSON again; below this depth, a part is the start of that text. */
const DEEPEST = 8;
/** Below this size, an item count says more than the start of each item. */
const SMALLEST_BYTES = 64;

/** The start of a value with the same structure. Marks state how much is missing. */
function partOf(value: JsonValue, bytes: number, depth = 0): JsonValue {
  if (typeof value === "string") return beginningOf(value, bytes);
  if (typeof value !== "object" || value === null) return value;
  if (depth === DEEPEST) return beginningOf(JSON.stringify(value), bytes);
  return Array.isArray(value) ? someItems(value, bytes, depth) : someProperties(value, bytes, depth);
}

/** The first items, the last one cut, and the number of omitted items. */
function someItems(items: readonly JsonValue[], bytes: number, depth: number): JsonValue[] {
  const shown: JsonValue[] = [];
  let left = bytes;
  for (const item of items) {
    const size = sizeOf(item);
    if (size > left && (shown.length > 0 || left < SMALLEST_BYTES)) break;
    shown.push(size > left ? partOf(item, left, depth + 1) : item);
    left -= Math.min(size, left);
  }
  const missing = items.length - shown.length;
  return missing === 0 ? shown : [...shown, `… and ${missing} more`];
}

/** Properties in their order. Small ones are whole, and large ones share the remaining bytes. */
function someProperties(value: JsonObject, bytes: number, depth: number): JsonObject {
  const all = Object.entries(value).map(([name, property]) => ({
    name,
    property,
    size: sizeOf(name) + sizeOf(property),
  }));
  const shown = all.slice(0, Math.max(1, Math.floor(bytes / SMALLEST_BYTES)));
  const given = new Map<string, number>();
  let left = bytes;
  for (const [i, { name, size }] of shown.toSorted((a, b) => a.size - b.size).entries()) {
    const share = Math.min(size, Math.floor(left / (shown.length - i)));
    given.set(name, share);
    left -= share;
  }
  const parts = shown.map(({ name, property, size }): [string, JsonValue] => {
    const share = given.get(name)!;
    return [name, share < size ? partOf(property, Math.max(0, share - sizeOf(name)), depth + 1) : property];
  });
  const missing = all.length - shown.length;
  return Object.fromEntries(missing === 0 ? parts : [...parts, ["…", `and ${missing} more`]]);
}

/** With `stream`, the decoder drops a character that the limit cuts in two. */
const beginningOf = (text: string, bytes: number): string => {
  const all = Buffer.from(text);
  return all.length <= bytes ? text : `${new TextDecoder().decode(all.subarray(0, bytes), { stream: true })}…`;
};

/** Bytes as JSON, with a separator. */
const sizeOf = (value: JsonValue): number => Buffer.byteLength(JSON.stringify(value)) + 1;
