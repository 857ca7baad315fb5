import { StoreUnavailable } from "../../ports/run-store.ts";

/** Items per group: their rows are one statement, which all of them wait for. */
const MOST = 64;
/** Text per group, in UTF-16 units: the statement of a larger group would delay the steps that wait for it. */
const MOST_CHARS = 524_288;

interface Waiting<Item, Result> {
  item: Item;
  answer: PromiseWithResolvers<Result | undefined>;
}

/**
 * Stores the items of a lane in groups, one group after the other: while a group is being stored, later items collect, and form
 * the next group. An item that finds the lane idle is stored immediately. When a group cannot be stored, each of its items gets
 * undefined: one item may be the fault, and the others must not fail with it. Only when the store is unavailable all fail.
 */
export function grouped<Item, Result>({
  keysOf,
  charsOf,
  store,
}: {
  /** Items with a common key never share a group. */
  keysOf(item: Item): string[];
  charsOf(item: Item): number;
  store(items: readonly Item[]): Promise<Result[]>;
}): (lane: string, item: Item) => Promise<Result | undefined> {
  const lanes = new Map<string, Waiting<Item, Result>[]>();

  async function work(name: string, lane: Waiting<Item, Result>[]): Promise<void> {
    while (lane.length > 0) await storeGroup(take(lane));
    lanes.delete(name);
  }

  function take(lane: Waiting<Item, Result>[]): Waiting<Item, Result>[] {
    const keys = new Set<string>();
    const group: Waiting<Item, Result>[] = [];
    let chars = 0;
    while (lane[0] && group.length < MOST) {
      const ofItem = keysOf(lane[0].item);
      chars += charsOf(lane[0].item);
      if (group.length > 0 && (chars > MOST_CHARS || ofItem.some((key) => keys.has(key)))) break;
      for (const key of ofItem) keys.add(key);
      group.push(lane.shift()!);
    }
    return group;
  }

  async function storeGroup(group: readonly Waiting<Item, Result>[]): Promise<void> {
    try {
      const results = await store(group.map(({ item }) => item));
      for (const [index, { answer }] of group.entries()) answer.resolve(results[index]);
    } catch (error) {
      for (const { answer } of group) {
        if (error instanceof StoreUnavailable) answer.reject(error);
        else answer.resolve(undefined);
      }
    }
  }

  return (name, item) => {
    const answer = Promise.withResolvers<Result | undefined>();
    const lane = lanes.get(name);
    if (lane) lane.push({ item, answer });
    else {
      const started = [{ item, answer }];
      lanes.set(name, started);
      void work(name, started);
    }
    return answer.promise;
  };
}
