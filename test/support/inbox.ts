import { setTimeout as wait } from "node:timers/promises";

/** Far above what a busy machine needs; only a test that fails waits this long. */
const LIMIT_MS = 15_000;

/** Frames (or lines) as they arrive, taken out by whoever waits for a certain one. */
export interface Inbox<Item> {
  put(item: Item): void;
  /** The oldest item that fits, now or within `LIMIT_MS`; it is removed. */
  next<Wanted extends Item>(fits: (item: Item) => item is Wanted): Promise<Wanted>;
  /** Items nobody has taken. */
  readonly rest: readonly Item[];
}

export function createInbox<Item>(what: string): Inbox<Item> {
  const items: Item[] = [];
  const waiting = new Set<() => void>();
  return {
    put(item) {
      items.push(item);
      for (const look of waiting) look();
    },
    async next<Wanted extends Item>(fits: (item: Item) => item is Wanted): Promise<Wanted> {
      const { promise, resolve, reject } = Promise.withResolvers<Wanted>();
      const look = (): void => {
        const at = items.findIndex(fits);
        if (at >= 0) resolve(items.splice(at, 1)[0] as Wanted);
        if (at >= 0) waiting.delete(look);
      };
      waiting.add(look);
      look();
      const late = setTimeout(
        () => reject(new Error(`no such ${what} within ${LIMIT_MS} ms; there are ${JSON.stringify(items)}`)),
        LIMIT_MS,
      );
      return promise.finally(() => {
        clearTimeout(late);
        waiting.delete(look);
      });
    },
    rest: items,
  };
}

/** Waits until `condition` holds, looking every few milliseconds for at most `LIMIT_MS`. */
export async function until(condition: () => boolean | Promise<boolean>, what: string): Promise<void> {
  const endsAt = performance.now() + LIMIT_MS;
  while (!(await condition())) {
    if (performance.now() > endsAt) throw new Error(`${what}: not within ${LIMIT_MS} ms`);
    await wait(5);
  }
}
