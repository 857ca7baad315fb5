import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createListChanges } from "../../../src/query/mcp/list-changes.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A list that a test changes, and what its listener was called with. */
function watched(key = "agent role") {
  const changes = createListChanges();
  const listeners = new Set<() => void>();
  const state = {
    list: ["a"] as unknown,
    read: async () => state.list,
    reads: 0,
    reported: 0,
    listeners,
    /** Reports a change, and lets the comparison end. */
    async report() {
      for (const changed of listeners) changed();
      await vi.advanceTimersByTimeAsync(0);
    },
    subscribe: () =>
      changes.subscribe(
        {
          key,
          read: () => {
            state.reads++;
            return state.read();
          },
          onChange(changed) {
            listeners.add(changed);
            return { [Symbol.dispose]: () => void listeners.delete(changed) };
          },
        },
        () => void state.reported++,
      ),
  };
  return state;
}

async function begun() {
  const state = watched();
  const end = state.subscribe();
  await vi.advanceTimersByTimeAsync(0);
  return Object.assign(state, { end });
}

test("a listener is called when a reported change is one of its own list", async () => {
  const state = await begun();

  await state.report();
  expect(state.reported).toBe(0);
  state.list = ["a", "b"];
  await state.report();

  expect(state.reported).toBe(1);
});

test("a change during a read is compared by another read", async () => {
  const state = await begun();
  const slow = Promise.withResolvers<unknown>();
  state.read = () => slow.promise;
  await state.report();
  state.read = async () => ["b"];

  await state.report();
  expect(state.reported).toBe(0);
  slow.resolve(["a"]);
  await vi.advanceTimersByTimeAsync(0);

  expect(state.reported).toBe(1);
});

test("a list that cannot be read is compared with the last one that could", async () => {
  const state = await begun();
  state.read = () => Promise.reject(new Error("unavailable"));
  await state.report();
  state.read = async () => undefined;
  await state.report();
  state.read = async () => ["a"];
  await state.report();
  expect(state.reported).toBe(0);

  state.read = async () => ["b"];
  await state.report();

  expect(state.reported).toBe(1);
});

test("a change that was not reported is found within half a minute", async () => {
  const state = await begun();
  state.list = ["b"];

  await vi.advanceTimersByTimeAsync(30_000);

  expect(state.reported).toBe(1);
});

test("listeners of one list share its reads, and the last one ends them", async () => {
  const state = await begun();
  const end = state.subscribe();
  expect([state.listeners.size, state.reads]).toEqual([1, 1]);

  end();
  expect(state.listeners.size).toBe(1);
  state.end();
  await vi.advanceTimersByTimeAsync(60_000);

  expect([state.listeners.size, state.reads]).toEqual([0, 1]);
});
