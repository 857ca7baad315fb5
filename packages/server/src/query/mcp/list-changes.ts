import { clearTimer, setInterval } from "@patchbay/kit/time";
import { createHash } from "node:crypto";

/**
 * How often a role's list is also compared without a reported change: the bus may lose reports, and neither a replica
 * that dies nor a command that confirms a function set in the store sends one.
 */
const EVERY_MS = 30_000;

/** One role's list for an agent. */
export interface WatchedList {
  /** Identifies the agent, the role and what is listed. */
  key: string;
  /** The list that a client with the role would get now; undefined if none can be read. */
  read(): Promise<unknown>;
  /** Calls `changed`, until disposed, when the list may have changed. */
  onChange(changed: () => void): Disposable;
}

/** Reports list changes. */
export type ListChanges = ReturnType<typeof createListChanges>;

interface Watch extends Disposable {
  listeners: Set<() => void>;
}

/**
 * Compares the list of each role that has a subscriber, so that a client learns only about changes to its own list:
 * functions that it may not see come and go unnoticed.
 */
export function createListChanges() {
  const watches = new Map<string, Watch>();
  return {
    /** Calls `changed` after each change of the list, until the returned function is called. */
    subscribe(list: WatchedList, changed: () => void): () => void {
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
    // A read in progress may return an older state than this change.
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
      clearTimer(timer);
      reports[Symbol.dispose]();
    },
  };
}
