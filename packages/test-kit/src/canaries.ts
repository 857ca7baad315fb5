/** A place that contains a canary, as a path such as `requests[0].messages[2].results[0].content`. */
export interface Leak {
  canary: string;
  path: string;
}

/**
 * Every place in `value` that contains an entry of `canaries`, also as part of a longer text. A canary must be unique
 * in the value.
 */
export function findLeaks(value: unknown, canaries: readonly string[]): Leak[] {
  const leaks: Leak[] = [];
  const needles = canaries.map((canary) => ({ canary, forms: new Set([canary, JSON.stringify(canary).slice(1, -1)]) }));
  visitTexts(value, (text, path) => {
    for (const { canary, forms } of needles)
      if ([...forms].some((form) => text.includes(form))) leaks.push({ canary, path });
  });
  return leaks;
}

/** Visits every text in a value: strings, numbers, property names, errors with their causes, maps, sets and bytes. */
function visitTexts(value: unknown, visit: (text: string, path: string) => void): void {
  const seen = new Set<object>();

  function search(item: unknown, path: string): void {
    if (typeof item === "string") return visit(item, path || "the value");
    if (typeof item === "number" || typeof item === "bigint") return visit(String(item), path || "the value");
    if (typeof item !== "object" || item === null || seen.has(item)) return;
    seen.add(item);
    if (item instanceof Uint8Array) return visit(Buffer.from(item).toString("utf8"), path || "the value");
    if (item instanceof Map || item instanceof Set) {
      for (const [index, member] of [...item].entries()) search(member, `${path}[${index}]`);
      return;
    }
    for (const name of namesIn(item)) {
      const at = pathOf(path, name, Array.isArray(item));
      visit(name, at);
      search((item as Record<string, unknown>)[name], at);
    }
  }

  search(value, "");
}

function namesIn(item: object): Iterable<string> {
  return item instanceof Error ? new Set([...Object.keys(item), "message", "stack", "cause"]) : Object.keys(item);
}

function pathOf(path: string, name: string, isIndex: boolean): string {
  if (isIndex) return `${path}[${name}]`;
  if (!/^[A-Za-z_$][\w$]*$/.test(name)) return `${path}[${JSON.stringify(name)}]`;
  return path === "" ? name : `${path}.${name}`;
}

/** Where the escalation suite planted a canary, and the role of the call that received it. */
export interface CanaryOrigin {
  /** `result`: in a result. `error`: the message in an error that a handler threw. `withheld`: a text that a hook withheld. */
  kind: "result" | "error" | "withheld";
  /** For `withheld`, the name of the hook. */
  functionName: string;
  /** The role that the query had. */
  role: string | undefined;
  /** The place in the result, such as `orders[].cost`. */
  path: string;
}

/** Makes unique values and recognises them, so that a leaked value is traced to its call. */
export interface Canaries {
  text(origin: CanaryOrigin): string;
  number(origin: CanaryOrigin): number;
  /** Every canary in a value, with its place. */
  find(value: unknown): { origin: CanaryOrigin; path: string }[];
  /** The canaries in a text, as written there. */
  wordsIn(text: string): string[];
}

/** Numbers with 13 digits are exact in JavaScript and rare otherwise. */
const FIRST_NUMBER = 7_310_000_000_000;
const WORD = /mk[0-9a-z]{8}km|(?<![\d.])731\d{10}(?![\d.])/g;

export function createCanaries(): Canaries {
  const origins: CanaryOrigin[] = [];

  function idOf(word: string): number {
    return word.startsWith("mk") ? Number.parseInt(word.slice(2, -2), 36) : Number(word) - FIRST_NUMBER;
  }

  return {
    text: (origin) => `mk${(origins.push(origin) - 1).toString(36).padStart(8, "0")}km`,
    number: (origin) => FIRST_NUMBER + origins.push(origin) - 1,
    find(value) {
      const found: { origin: CanaryOrigin; path: string }[] = [];
      visitTexts(value, (text, path) => {
        for (const [word] of text.matchAll(WORD)) {
          const origin = origins[idOf(word)];
          if (origin) found.push({ origin, path });
        }
      });
      return found;
    },
    wordsIn: (text) => text.match(WORD) ?? [],
  };
}
