import { setImmediate as settled } from "node:timers/promises";
import { expect, onTestFinished, test, vi } from "vitest";
import { StoreUnavailable } from "@patchbay/engine/ports/store/run-store";
import { grouped } from "@patchbay/database/groups";

/** Stores items named by their key, each group when the test answers it. */
function lanes(charsOf: (item: string) => number = () => 1) {
  const failures: unknown[] = [];
  const groups: { items: readonly string[]; answer: PromiseWithResolvers<string[]> }[] = [];
  const store = grouped<string, string>({
    keysOf: (item) => [item],
    charsOf,
    failed: (error) => void failures.push(error),
    store(items) {
      const answer = Promise.withResolvers<string[]>();
      groups.push({ items, answer });
      return answer.promise;
    },
  });
  return {
    store,
    groups,
    failures,
    answer(index: number): void {
      const { items, answer } = groups[index]!;
      answer.resolve(items.map((item) => `${item} stored`));
    },
  };
}

test("an item that finds its lane idle is stored immediately, later ones together after it", async () => {
  const { store, groups, answer } = lanes();
  const stored = ["a", "b", "c"].map((item) => store("org_1", item));
  const other = store("org_2", "d");
  expect(groups.map(({ items }) => items)).toEqual([["a"], ["d"]]);

  answer(0);
  expect(await stored[0]).toBe("a stored");
  await expect.poll(() => groups[2]?.items).toEqual(["b", "c"]);
  answer(2);
  answer(1);

  expect(await Promise.all([...stored, other])).toEqual(["a stored", "b stored", "c stored", "d stored"]);
});

test("after a group of several items, the lane waits for twice as many, but not for long", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const { store, groups, answer } = lanes();
  const stored = ["a", "b", "c"].map((item) => store("org_1", item));
  answer(0);
  await settled();
  answer(1);
  await Promise.all(stored);

  const more = ["d", "e", "f"].map((item) => store("org_1", item));
  await settled();
  expect(groups).toHaveLength(2);
  more.push(store("org_1", "g"));
  await settled();
  expect(groups[2]?.items).toEqual(["d", "e", "f", "g"]);
  answer(2);
  await Promise.all(more);
  const last = store("org_1", "h");
  await settled();
  expect(groups).toHaveLength(3);
  vi.runAllTimers();
  await settled();
  expect(groups[3]?.items).toEqual(["h"]);
  answer(3);

  expect(await last).toBe("h stored");
});

test("items with a common key, or with much text, do not share a group", async () => {
  const { store, groups, answer } = lanes((item) => (item === "long" ? 600_000 : 1));
  const all = ["a", "b", "b", "long", "c"].map((item) => store("org_1", item));
  for (let group = 0; group < 5; group++) {
    await expect.poll(() => groups.length).toBe(group + 1);
    answer(group);
  }

  await Promise.all(all);
  expect(groups.map(({ items }) => items)).toEqual([["a"], ["b"], ["b"], ["long"], ["c"]]);
});

test("a group that fails leaves its items to the caller, and fails them when the store is unavailable", async () => {
  const { store, groups, failures } = lanes();
  const bad = store("org_1", "a");
  const lost = [store("org_1", "b"), store("org_1", "c")];

  const failure = new Error("no such column");
  groups[0]!.answer.reject(failure);
  expect(await bad).toBe(undefined);
  await expect.poll(() => groups.length).toBe(2);
  groups[1]!.answer.reject(new StoreUnavailable("gone"));

  for (const one of await Promise.allSettled(lost)) expect(one).toMatchObject({ reason: { message: "gone" } });
  const next = store("org_1", "d");
  await expect.poll(() => groups.length).toBe(3);
  groups[2]!.answer.resolve(["d stored"]);
  expect(await next).toBe("d stored");
  expect(failures).toEqual([failure]);
});
