/** A place where a canary was found, written as one would read it in code: `requests[0].messages[2].results[0].content`. */
export interface Leak {
  canary: string;
  path: string;
}

/**
 * Every place in `value` where one of `canaries` stands: texts, numbers, names of members, errors with their causes, maps, sets and
 * bytes, also inside JSON that stands in a text. A canary is found as part of a longer text, so make it one that nothing else holds.
 */
export function findLeaks(value: unknown, canaries: readonly string[]): Leak[] {
  const leaks: Leak[] = [];
  const seen = new Set<object>();
  const needles = canaries.map((canary) => ({ canary, forms: new Set([canary, JSON.stringify(canary).slice(1, -1)]) }));

  function searchText(text: string, path: string): void {
    for (const { canary, forms } of needles)
      if ([...forms].some((form) => text.includes(form)))
        leaks.push({ canary, path: path === "" ? "the value" : path });
  }

  function search(item: unknown, path: string): void {
    if (typeof item === "string") return searchText(item, path);
    if (typeof item === "number" || typeof item === "bigint") return searchText(String(item), path);
    if (typeof item !== "object" || item === null || seen.has(item)) return;
    seen.add(item);
    if (item instanceof Uint8Array) return searchText(Buffer.from(item).toString("utf8"), path);
    if (item instanceof Map || item instanceof Set) {
      for (const [place, member] of [...item].entries()) search(member, `${path}[${place}]`);
      return;
    }
    const names =
      item instanceof Error ? new Set([...Object.keys(item), "message", "stack", "cause"]) : Object.keys(item);
    for (const name of names) {
      const at = pathOf(path, name, Array.isArray(item));
      searchText(name, at);
      search((item as Record<string, unknown>)[name], at);
    }
  }

  search(value, "");
  return leaks;
}

function pathOf(path: string, name: string, isIndex: boolean): string {
  if (isIndex) return `${path}[${name}]`;
  if (!/^[A-Za-z_$][\w$]*$/.test(name)) return `${path}[${JSON.stringify(name)}]`;
  return path === "" ? name : `${path}.${name}`;
}
