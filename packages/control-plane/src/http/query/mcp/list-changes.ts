import { createHash } from "node:crypto";

/**
 * How often the list of a role is also compared without a report of a change: the bus may lose one, a replica that dies reports
 * nothing, and neither does a command that confirms a function set in the store.
 */
const EVERY_MS = 30_000;

/** The list of one role of an agent. */
export interface WatchedList {
  /** Names the agent, the role and what of the agent is listed. */
  key: string;
  /** The list that a client of the role would get now; undefined if none can be read. */
  read(): Promise<unknown>;
  /** Calls `changed` until disposed when the list may be another. */
  onChange(changed: () => void): Disposable;
}

/** Reports changes of lists. */
export interface ListChanges {
  /** Calls `changed` after each change of the list, until the returned function is called. */
  subscribe(list: WatchedList, changed: () => void): () => void;
}

interface Watch extends Disposable {
  listeners: Set<() => void>;
}

/**
 * Compares the list of each role with a listener, so that a client learns of a change only if its own list has changed:
 * functions that it may not see come and go unnoticed.
 */
export function createListChanges(): ListChanges {
  const watches = new Map<string, Watch>();
  return {
    subscribe(list, changed) {
      const of = watches.get(list.key) ?? watch(list);
      watches.set(list.key, of);
      of.listeners.add(changed);
      return () => {
        of.listeners.delete(changed);
        if (of.listeners.size > 0 || watches.get(list.key) !== of) return;
        watches.delete(list.key);
        of[Symbol.dispose]();
      };
    },
  };
}

function watch({ read, onChange }: WatchedList): Watch {
  const listeners = new Set<() => void>();
  let before: string | undefined;
  let reading = false;
  let again = false;

  async function compare(): Promise<void> {
    // What a read in progress returns may be older than this change.
    again = true;
    if (reading) return;
    reading = true;
    while (again) {
      again = false;
      const now = await digest();
      if (now === undefined || now === before) continue;
      if (before !== undefined) for (const listener of listeners) listener();
      before = now;
    }
    reading = false;
  }

  /** Undefined for a list that cannot be read. */
  async function digest(): Promise<string | undefined> {
    const list = await read().catch(() => undefined);
    return list === undefined ? undefined : createHash("sha256").update(JSON.stringify(list)).digest("hex");
  }

  const reports = onChange(() => void compare());
  const timer = setInterval(() => void compare(), EVERY_MS).unref();
  void compare();
  return {
    listeners,
    [Symbol.dispose]() {
      clearInterval(timer);
      reports[Symbol.dispose]();
    },
  };
}
