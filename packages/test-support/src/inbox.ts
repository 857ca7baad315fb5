import { monotonicMs, sleep } from "@patchbay/kit/time";
import { WAIT_MS } from "./patience.ts";

/** Frames (or lines) in order of arrival, from which a test takes matching ones. */
export interface Inbox<Item> {
  put(item: Item): void;
  /** Removes and returns the oldest matching item, or waits for one for up to `WAIT_MS`. */
  next<Wanted extends Item>(fits: (item: Item) => item is Wanted): Promise<Wanted>;
  /** Items that were not taken. */
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
        () => reject(new Error(`no such ${what} within ${WAIT_MS} ms; there are ${JSON.stringify(items)}`)),
        WAIT_MS,
      );
      return promise.finally(() => {
        clearTimeout(late);
        waiting.delete(look);
      });
    },
    rest: items,
  };
}

/** Waits until `condition` is true, checking it every few milliseconds for at most `WAIT_MS`. */
export async function until(condition: () => boolean | Promise<boolean>, what: string): Promise<void> {
  const endsAt = monotonicMs() + WAIT_MS;
  while (!(await condition())) {
    if (monotonicMs() > endsAt) throw new Error(`${what}: not within ${WAIT_MS} ms`);
    await sleep(5);
  }
}
