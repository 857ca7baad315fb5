import { clearTimer, setTimeout } from "@patchbay/kit/time";
import { StoreUnavailable } from "@patchbay/engine/ports/store/run-store";

/** Items per group: one statement writes their rows, which all of them wait for. */
const MOST = 64;
/** Text per group, in UTF-16 units: a larger group's statement would delay the steps that wait for it. */
const MOST_CHARS = 524_288;
/** How long a lane waits for its next group. */
const GATHER_MS = 6;

interface Waiting<Item, Result> {
  item: Item;
  answer: PromiseWithResolvers<Result | undefined>;
}

interface Lane<Item, Result> {
  waiting: Waiting<Item, Result>[];
  /** Called after each new item while the lane gathers. */
  arrived: (() => unknown) | undefined;
}

/** What is stored in groups, by the statement that stores it. */
export type GroupKind = "steps" | "starts" | "accepts";

/**
 * Stores a lane's items in groups, one group after the other: while a group is being stored, later items collect, and
 * form the next group. An item that finds the lane idle is stored immediately. After a group with several items, the
 * lane waits a few milliseconds for twice as many: a statement costs the server as much as the rows of about eight
 * items. When a group cannot be stored, each item gets undefined: one item may be the fault, and the others must not
 * fail with it; `failed` gets the cause. All fail only when the store is unavailable.
 */
export function grouped<Item, Result>({
  keysOf,
  charsOf,
  store,
  failed,
}: {
  /** Items with a common key never share a group. */
  keysOf(item: Item): string[];
  charsOf(item: Item): number;
  store(items: readonly Item[]): Promise<Result[]>;
  failed(error: unknown): void;
}): (lane: string, item: Item) => Promise<Result | undefined> {
  const lanes = new Map<string, Lane<Item, Result>>();

  async function work(name: string, lane: Lane<Item, Result>): Promise<void> {
    while (lane.waiting.length > 0) {
      const group = take(lane.waiting);
      await storeGroup(group);
      if (group.length > 1) await gather(lane, Math.min(2 * group.length, MOST));
    }
    lanes.delete(name);
  }

  async function gather(lane: Lane<Item, Result>, count: number): Promise<void> {
    const gathered = Promise.withResolvers<void>();
    const timer = setTimeout(gathered.resolve, GATHER_MS);
    lane.arrived = () => lane.waiting.length >= count && gathered.resolve();
    lane.arrived();
    await gathered.promise;
    lane.arrived = undefined;
    clearTimer(timer);
  }

  function take(waiting: Waiting<Item, Result>[]): Waiting<Item, Result>[] {
    const keys = new Set<string>();
    const group: Waiting<Item, Result>[] = [];
    let chars = 0;
    while (waiting[0] && group.length < MOST) {
      const ofItem = keysOf(waiting[0].item);
      chars += charsOf(waiting[0].item);
      if (group.length > 0 && (chars > MOST_CHARS || ofItem.some((key) => keys.has(key)))) break;
      for (const key of ofItem) keys.add(key);
      group.push(waiting.shift()!);
    }
    return group;
  }

  async function storeGroup(group: readonly Waiting<Item, Result>[]): Promise<void> {
    try {
      const results = await store(group.map(({ item }) => item));
      for (const [index, { answer }] of group.entries()) answer.resolve(results[index]);
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) failed(error);
      for (const { answer } of group) {
        if (error instanceof StoreUnavailable) answer.reject(error);
        else answer.resolve(undefined);
      }
    }
  }

  return (name, item) => {
    const answer = Promise.withResolvers<Result | undefined>();
    const lane = lanes.get(name);
    if (lane) {
      lane.waiting.push({ item, answer });
      lane.arrived?.();
    } else {
      const started: Lane<Item, Result> = { waiting: [{ item, answer }], arrived: undefined };
      lanes.set(name, started);
      void work(name, started);
    }
    return answer.promise;
  };
}
