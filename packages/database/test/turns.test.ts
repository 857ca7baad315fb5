import { setImmediate as nextIteration } from "node:timers/promises";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createTurns } from "../src/turns.ts";

// Slices are measured: a pause of the machine must not use one up.
beforeEach(() => void vi.useFakeTimers({ toFake: ["performance"] }));
afterEach(() => void vi.useRealTimers());

test("clients take turns, and the callers of one client are served in order", async () => {
  const turns = createTurns();
  const order: string[] = [];
  const end = await turns.take("a");
  const asked = ["a1", "a2", "a3", "b1", "b2", "c1"].map(async (caller) => {
    const endTurn = await turns.take(caller[0]!);
    order.push(caller);
    endTurn();
  });

  end();
  await Promise.all(asked);

  expect(order).toEqual(["a1", "b1", "c1", "a2", "b2", "a3"]);
});

test("a client that has used its slice waits for the next iteration of the event loop; others do not", async () => {
  const turns = createTurns();
  const order: string[] = [];
  const end = await turns.take("a");
  vi.advanceTimersByTime(10);
  const asked = ["a", "b"].map(async (client) => {
    const endTurn = await turns.take(client);
    order.push(client);
    endTurn();
  });
  end();

  await asked[1];
  expect(order).toEqual(["b"]);
  await nextIteration();
  await Promise.all(asked);
  expect(order).toEqual(["b", "a"]);
});

test("an urgent caller is served before all clients", async () => {
  const turns = createTurns();
  const order: string[] = [];
  const end = await turns.take("a");
  const waits = async (name: string, turn: Promise<() => void>): Promise<void> => {
    const endTurn = await turn;
    order.push(name);
    endTurn();
  };
  const asked = [waits("b", turns.take("b")), waits("urgent", turns.takeNext())];

  end();
  end();
  await Promise.all(asked);

  expect(order).toEqual(["urgent", "b"]);
});
