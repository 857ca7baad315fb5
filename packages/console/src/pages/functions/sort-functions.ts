import type { ConsoleFunction } from "@patchbay/protocol/console";

const ORDERS: Record<string, (one: ConsoleFunction) => string | number | null> = {
  name: ({ name }) => name,
  effect: ({ effect }) => ["read", "write", "destructive"].indexOf(effect),
  calls: ({ figures }) => figures.calls,
  errors: ({ figures: { calls, failed } }) => (calls === 0 ? null : failed / calls),
  p50: ({ figures }) => figures.p50Ms,
  p95: ({ figures }) => figures.p95Ms,
  last: ({ figures }) => figures.lastCalledAt,
};

/** Functions in the order that `by` names, with a minus before it from the greatest. Those without a figure come last. */
export function sortFunctions(functions: readonly ConsoleFunction[], by: string): ConsoleFunction[] {
  const down = by.startsWith("-");
  const order = ORDERS[down ? by.slice(1) : by] ?? ORDERS["name"]!;
  return functions.toSorted((a, b) => {
    const [x, y] = [order(a), order(b)];
    if (x === y) return a.name < b.name ? -1 : 1;
    if (x === null || y === null) return x === null ? 1 : -1;
    return (x < y ? -1 : 1) * (down ? -1 : 1);
  });
}

/** Those whose name, description or roles have every word of `q`. */
export function searchFunctions(functions: readonly ConsoleFunction[], q: string): ConsoleFunction[] {
  const words = q.toLowerCase().split(/\s+/).filter(Boolean);
  return functions.filter(({ name, description, roles }) => {
    const text = `${name} ${description} ${roles === "everyone" ? roles : roles.join(" ")}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
}
