const NONE: ReadonlySet<never> = new Set();

/** Sets of items by key. A key is forgotten with its last item. */
export function createKeyedSets<Item>() {
  const sets = new Map<string, Set<Item>>();
  return {
    of: (key: string): ReadonlySet<Item> => sets.get(key) ?? NONE,
    keys: (): string[] => [...sets.keys()],
    /** The first item, which moves to the end: items take turns. */
    next(key: string): Item | undefined {
      const items = sets.get(key);
      const [first] = items ?? [];
      if (first !== undefined && items?.delete(first)) items.add(first);
      return first;
    },
    /** Adds an item until disposed. */
    add(key: string, item: Item): Disposable {
      const items = sets.get(key) ?? new Set();
      sets.set(key, items.add(item));
      return {
        [Symbol.dispose]() {
          items.delete(item);
          if (items.size === 0 && sets.get(key) === items) sets.delete(key);
        },
      };
    },
  };
}

/** Counts by key. A key is forgotten at 0. */
export function createCounts() {
  const counts = new Map<string, number>();
  const of = (key: string): number => counts.get(key) ?? 0;
  return {
    of,
    add(key: string, change: number): void {
      const now = of(key) + change;
      if (now > 0) counts.set(key, now);
      else counts.delete(key);
    },
  };
}
