import * as fc from "@patchbay/test-support/properties";
import { expect, test } from "vitest";
import type { ModelFunction } from "../../src/ports/model-provider.ts";
import { type History, NO_HISTORY } from "../../src/ports/store/run-store.ts";
import { budgetOf, firstShown, fit } from "../../src/run/loop/compact.ts";

/** A history of runs of these sizes, after `before` bytes of older ones. */
function historyOf(sizes: readonly number[], before = 0): History {
  const entries = sizes.map((bytes, i) => ({ runId: `run_${i}`, messages: [], bytes }));
  return { entries, hasOlder: before > 0, totalBytes: before + sizes.reduce((sum, one) => sum + one, 0) };
}

const LARGE = { historyTokens: 1_000, conversationTokens: 2_000 };

const REQUEST = { system: "", maxTokens: 8_000 };

test.each([
  [{}, undefined, { historyTokens: 100_000, conversationTokens: 200_000 }],
  [{}, 200_000, { historyTokens: 100_000, conversationTokens: 192_000 }],
  [{}, 1_000_000, { historyTokens: 200_000, conversationTokens: 400_000 }],
  [{ historyTokens: 1_000 }, 200_000, { historyTokens: 1_000, conversationTokens: 101_000 }],
  // The window without the answer limits every setting, and the run keeps a quarter of it.
  [{ historyTokens: 1_000_000 }, 200_000, { historyTokens: 144_000, conversationTokens: 192_000 }],
  [{}, 16_000, { historyTokens: 6_000, conversationTokens: 8_000 }],
  [{}, 8_192, { historyTokens: 1_500, conversationTokens: 2_000 }],
  // The owner may know the window of a model that Patchbay does not know.
  [{ historyTokens: 1_000_000 }, undefined, { historyTokens: 1_000_000, conversationTokens: 1_100_000 }],
])("the budget of %j for a window of %s", (own, contextTokens, budget) => {
  expect(budgetOf({ ...REQUEST, ...own }, [], { contextTokens })).toEqual(budget);
});

test("the system text and the functions reduce the room of the conversation, but not to nothing", () => {
  const roomOf = (request: Partial<typeof REQUEST>, functions: ModelFunction[] = []) =>
    budgetOf({ ...REQUEST, ...request }, functions, { contextTokens: 16_000 }).conversationTokens;
  const find: ModelFunction = { name: "find", description: "x".repeat(3_000), inputSchema: {}, effect: "read" };
  const long: ModelFunction = { ...find, name: "y".repeat(64) };

  expect(roomOf({ system: "x".repeat(3_000) })).toBe(7_000);
  expect(roomOf({}, [find])).toBe(8_000 - 700 - 16 - Math.ceil(3_006 / 3));
  expect(roomOf({}, [long]) - roomOf({}, [find])).toBe(-20);
  expect(roomOf({ system: "x".repeat(30_000), maxTokens: 1_000_000 })).toBe(2_000);
});

test("a conversation that fits is not cut", () => {
  const history = historyOf([1_000, 1_000, 1_000]);

  expect(fit({ history, query: 500, turns: [1_000, 1_500] }, LARGE)).toEqual({ dropped: 0, bytes: 6_000 });
});

test("earlier runs above their budget are left out, half of the budget at a time", () => {
  const history = historyOf([1_000, 1_000, 1_000, 1_000]);

  expect(fit({ history, query: 500, turns: [] }, LARGE)).toEqual({ dropped: 2, bytes: 2_500 });
});

test("the query stays when nothing else fits", () => {
  expect(fit({ history: historyOf([100, 100]), query: 9_000, turns: [] }, LARGE)).toEqual({ dropped: 2, bytes: 9_000 });
});

test("turns of the run are left out after all earlier runs, and the newest turn stays", () => {
  const history = historyOf([1_000, 1_000]);

  expect(fit({ history, query: 100, turns: [2_900, 2_900] }, LARGE)).toEqual({ dropped: 3, bytes: 3_000 });
  expect(fit({ history, query: 100, turns: [9_000] }, LARGE)).toEqual({ dropped: 2, bytes: 9_100 });
});

test("the first turn that is sent stays the same until the other half of the budget is filled", () => {
  const turns: number[] = [];
  const dropped = Array.from({ length: 12 }, () => {
    turns.push(1_000);
    return fit({ history: NO_HISTORY, query: 0, turns }, LARGE).dropped;
  });

  expect(dropped).toEqual([0, 0, 0, 0, 0, 0, 4, 4, 4, 4, 8, 8]);
});

test("a growing thread begins with the same run until half a budget was added, and at least half a budget is sent", () => {
  const sizes = fc.array(fc.integer({ min: 1, max: 500 }), { minLength: 1, maxLength: 80 });
  fc.assert(
    fc.property(sizes, (all) => {
      const budget = 3_000;
      let start = 0;
      let movedAt = 0;
      for (let length = 1; length <= all.length; length++) {
        const loaded = newestOf(all.slice(0, length), budget);
        const first = loaded.from + firstShown(loaded.history, budget);
        const shown = sum(all.slice(first, length));
        const total = sum(all.slice(0, length));
        expect(shown).toBeLessThanOrEqual(budget);
        expect(first).toBeGreaterThanOrEqual(start);
        if (total > budget) expect(shown).toBeGreaterThanOrEqual(budget / 2 - 500);
        else expect(first).toBe(0);
        if (first > start) {
          // The beginning moves by half a budget, plus or minus the size of a run.
          if (movedAt > 0) expect(total - movedAt).toBeGreaterThanOrEqual(budget / 2 - 500);
          movedAt = total;
          start = first;
        }
      }
    }),
  );
});

test("a thread whose older runs were deleted is sent from its beginning while it fits", () => {
  const history = { ...historyOf([500, 500], 10_000), hasOlder: false };

  expect(firstShown(history, 1_000)).toBe(0);
});

test("a thread without a count of its bytes is sent as far as it fits", () => {
  const history = { ...historyOf([400, 400, 400]), hasOlder: true, totalBytes: 0 };

  expect(firstShown(history, 1_300)).toBe(0);
});

/** The part of a thread that the store returns. */
function newestOf(sizes: readonly number[], maxBytes: number): { history: History; from: number } {
  let from = sizes.length;
  while (from > 0 && sum(sizes.slice(from - 1)) <= maxBytes) from--;
  return { history: historyOf(sizes.slice(from), sum(sizes.slice(0, from))), from };
}

const sum = (numbers: readonly number[]): number => numbers.reduce((all, one) => all + one, 0);
