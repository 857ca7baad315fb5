import { expect, test } from "vitest";
import type { Engine } from "../src/engine.ts";
import { sharedRead } from "../src/shared-reads.ts";

/** Reads that the test answers. */
function reads() {
  const begun: { key: string; answer: PromiseWithResolvers<string[]> }[] = [];
  let scope = "org_1";
  const engine = { dialect: { scope: () => scope } } as unknown as Engine;
  const read = sharedRead((_engine: Engine, { key }: { key: string }) => {
    const answer = Promise.withResolvers<string[]>();
    begun.push({ key, answer });
    return answer.promise;
  });
  return {
    begun,
    read: (key: string, org = "org_1") => {
      scope = org;
      return read(engine, { key });
    },
  };
}

test("callers who come during a read share the next one, and none gets an answer from before it asked", async () => {
  const { begun, read } = reads();
  const first = read("a");
  const [second, third] = [read("a"), read("a")];
  expect(begun).toHaveLength(1);

  begun[0]!.answer.resolve(["before"]);
  expect(await first).toEqual(["before"]);
  await expect.poll(() => begun.length).toBe(2);
  const fourth = read("a");
  begun[1]!.answer.resolve(["after"]);
  expect([await second, await third]).toEqual([["after"], ["after"]]);
  await expect.poll(() => begun.length).toBe(3);
  begun[2]!.answer.resolve(["last"]);

  expect(await fourth).toEqual(["last"]);
  void read("a");
  expect(begun).toHaveLength(4);
});

test("reads of other values, and of another organisation, are not shared", () => {
  const { begun, read } = reads();
  void read("a");
  void read("b");
  void read("a", "org_2");

  expect(begun.map(({ key }) => key)).toEqual(["a", "b", "a"]);
});

test("a failed read fails only those who share it", async () => {
  const { begun, read } = reads();
  const [first, second] = [read("a"), read("a")];

  begun[0]!.answer.reject(new Error("lost"));
  await expect(first).rejects.toThrow("lost");
  await expect.poll(() => begun.length).toBe(2);
  begun[1]!.answer.resolve(["found"]);

  expect(await second).toEqual(["found"]);
});
