import { expect, test } from "vitest";
import { createFairQueue } from "@patchbay/engine/ports/fair-queue";

const client = (key: string, known = false) => ({ key, known });

/** A queue for one piece of work at a time, of which the first one holds all others up. */
function openQueue(waiting: number) {
  const queue = createFairQueue({ concurrent: 1, waiting, busy: () => new Error("busy") });
  const first = Promise.withResolvers<void>();
  const done: string[] = [];
  const held = queue.run(client("first"), () => first.promise);
  const add = (name: string, by: { key: string; known: boolean }) =>
    queue.run(by, async () => void done.push(name)).catch((error: Error) => void done.push(`${name} ${error.message}`));
  return { add, done, release: () => (first.resolve(), held) };
}

test("clients take turns, and known ones go first", async () => {
  const { add, done, release } = openQueue(10);
  const all = [
    ...["a1", "a2", "a3"].map((name) => add(name, client("a"))),
    add("b1", client("b")),
    add("c1", client("c", true)),
  ];

  await release();
  await Promise.all(all);

  expect(done).toEqual(["c1", "a1", "b1", "a2", "a3"]);
});

test("in a full queue the client with the most jobs loses one", async () => {
  const { add, done, release } = openQueue(3);
  const all = ["a1", "a2", "a3", "a4"].map((name) => add(name, client("a")));
  all.push(add("b1", client("b")), add("b2", client("b")));

  await release();
  await Promise.all(all);

  expect(done.filter((one) => one.endsWith("busy")).toSorted()).toEqual(["a3 busy", "a4 busy", "b2 busy"]);
  expect(done.filter((one) => !one.endsWith("busy"))).toEqual(["a1", "b1", "a2"]);
});

test("in a queue full of single jobs the newest one is rejected", async () => {
  const { add, done, release } = openQueue(2);
  const all = ["a", "b", "c"].map((name) => add(name, client(name)));

  await release();
  await Promise.all(all);

  expect(done).toEqual(["c busy", "a", "b"]);
});

test("a known client loses no job while a stranger waits", async () => {
  const { add, done, release } = openQueue(2);
  const all = ["a", "b"].map((name) => add(name, client(name)));
  all.push(add("c1", client("c", true)), add("c2", client("c", true)), add("c3", client("c", true)));

  await release();
  await Promise.all(all);

  expect(done.toSorted()).toEqual(["a busy", "b busy", "c1", "c2", "c3 busy"]);
});

test("a job that fails does not block the queue", async () => {
  const queue = createFairQueue({ concurrent: 1, waiting: 1, busy: () => new Error("busy") });
  const failed = queue.run(client("a"), async () => {
    throw new Error("broken");
  });
  const after = queue.run(client("a"), async () => "done");

  await expect(failed).rejects.toThrow("broken");
  expect(await after).toBe("done");
});
