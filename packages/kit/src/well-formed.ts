/** The first half of a surrogate pair at a text's end. */
const OPEN_PAIR = /[\uD800-\uDBFF]$/;
/** Finds texts with an escape that may be half of a pair. */
const PAIR_ESCAPE = /\\u[dD][89a-fA-F]/;
/** Every escape, a whole pair as one, so that an escaped backslash before `ud83d` is not taken for one. */
const ESCAPES = /\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|.)/gs;
const HALF_ESCAPE = /^\\u[dD][89a-fA-F]..$/;

/**
 * JSON text without halves of surrogate pairs, written or escaped: each becomes U+FFFD. Providers refuse a request that
 * has one, and databases store other texts in its place.
 */
export function wellFormedJson(json: string): string {
  const text = json.toWellFormed();
  if (!PAIR_ESCAPE.test(text)) return text;
  return text.replace(ESCAPES, (escape) => (HALF_ESCAPE.test(escape) ? "\uFFFD" : escape));
}

/** The same for a value with texts at any depth, names included. Returns the same object if nothing changes. */
export function wellFormed<Value>(value: Value): Value {
  if (typeof value === "string") return value.toWellFormed() as Value & string;
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) {
    const items = value.map(wellFormed);
    return items.some((item, i) => item !== value[i]) ? (items as Value & unknown[]) : value;
  }
  const entries = Object.entries(value);
  const changed = entries.filter(([name, member]) => !name.isWellFormed() || wellFormed(member) !== member);
  if (changed.length === 0) return value;
  const copy = { ...(value as Value & Record<string, unknown>) };
  for (const [name] of changed) delete copy[name];
  return Object.assign(
    copy,
    Object.fromEntries(changed.map(([name, member]) => [wellFormed(name), wellFormed(member)])),
  );
}

/** Passes a text on that arrives in pieces, and holds half of a pair back until its other half arrives. */
export function wholePairs(take: (text: string) => void): { push(piece: string): void; end(): void } {
  let held = "";
  function push(piece: string, isLast = false): void {
    const text = held + piece;
    held = isLast ? "" : (OPEN_PAIR.exec(text)?.[0] ?? "");
    const whole = text.slice(0, text.length - held.length);
    if (whole !== "") take(whole.toWellFormed());
  }
  return { push: (piece) => push(piece), end: () => push("", true) };
}
