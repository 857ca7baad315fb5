/** A place where a canary was found, written as one would read it in code: `requests[0].messages[2].results[0].content`. */
export interface Leak {
  canary: string;
  path: string;
}

/**
 * Every place in `value` where one of `canaries` stands. A canary is found as part of a longer text, so make it one that nothing
 * else holds.
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

/** Visits every text in a value: texts and numbers, names of members, errors with their causes, maps, sets and bytes. */
export function visitTexts(value: unknown, visit: (text: string, path: string) => void): void {
  const seen = new Set<object>();

  function search(item: unknown, path: string): void {
    if (typeof item === "string") return visit(item, path || "the value");
    if (typeof item === "number" || typeof item === "bigint") return visit(String(item), path || "the value");
    if (typeof item !== "object" || item === null || seen.has(item)) return;
    seen.add(item);
    if (item instanceof Uint8Array) return visit(Buffer.from(item).toString("utf8"), path || "the value");
    if (item instanceof Map || item instanceof Set) {
      for (const [place, member] of [...item].entries()) search(member, `${path}[${place}]`);
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
