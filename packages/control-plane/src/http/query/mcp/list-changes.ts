import { createHash } from "node:crypto";

/** How often the list of a role is compared while a client listens. */
const EVERY_MS = 2_000;

/** The list of one role of an agent. */
export interface WatchedList {
  /** Names the agent and the role. */
  key: string;
  /** The list that a client of the role would get now; undefined if none can be read. */
  read(): Promise<unknown>;
}

/** Reports changes of lists. */
export interface ListChanges {
  /** Calls `changed` after each change of the list, until the returned function is called. */
  subscribe(list: WatchedList, changed: () => void): () => void;
}

interface Watch {
  listeners: Set<() => void>;
  timer: NodeJS.Timeout;
}

/**
 * Compares the list of each role with a listener, so that a client learns of a change only if its own list has changed:
 * functions that it may not see come and go unnoticed. Polls, because the function set may change at any replica.
 */
export function createListChanges({ everyMs = EVERY_MS }: { everyMs?: number } = {}): ListChanges {
  const watches = new Map<string, Watch>();

  function watch({ read }: WatchedList): Watch {
    const listeners = new Set<() => void>();
    let before: string | undefined;
    let reading = false;
    async function compare(): Promise<void> {
      if (reading) return;
      reading = true;
      try {
        const list = await read();
        if (list === undefined) return;
        const now = createHash("sha256").update(JSON.stringify(list)).digest("hex");
        const changed = before !== undefined && before !== now;
        before = now;
        if (changed) for (const listener of listeners) listener();
      } catch {
        // A list that cannot be read is compared next time.
      } finally {
        reading = false;
      }
    }
    const timer = setInterval(() => void compare(), everyMs).unref();
    void compare();
    return { listeners, timer };
  }

  return {
    subscribe(list, changed) {
      const of = watches.get(list.key) ?? watch(list);
      watches.set(list.key, of);
      of.listeners.add(changed);
      return () => {
        of.listeners.delete(changed);
        if (of.listeners.size > 0) return;
        clearInterval(of.timer);
        if (watches.get(list.key) === of) watches.delete(list.key);
      };
    },
  };
}
