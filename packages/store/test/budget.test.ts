import { expect, test } from "vitest";
import type { Budget, Share } from "@patchbay/engine/ports/store/upkeep";
import { INDEX_SHARE } from "../../control-plane/src/start/background.ts";
import { createBudget, type Meter } from "../src/budget.ts";

const SHARE: Share = { least: 0.1, most: 0.5, full: 100 };

/** A meter whose time passes only by work and pauses. `arrive`: called with the milliseconds that pass. */
function handMeter(arrive: (ms: number) => void = () => {}) {
  let [used, now] = [0, 0];
  const pass = (ms: number): void => {
    now += ms;
    arrive(ms);
  };
  const pauses: number[] = [];
  const meter: Meter = {
    used: () => used,
    now: () => now,
    async sleep(ms) {
      pauses.push(Math.round(ms));
      pass(ms);
    },
  };
  /** A batch with its rows, and the milliseconds that it takes. */
  const batch = (rows: number, ms: number) => async () => {
    used += ms;
    pass(ms);
    return rows;
  };
  /** A budget that has used the second that it begins with. */
  async function usedBudget(meter: Meter): Promise<Budget> {
    const budget = createBudget(meter, SHARE);
    await budget.spend("first", batch(1, 100), { waiting: 0 });
    pass(-100);
    return budget;
  }
  return { meter, pauses, pass, batch, budget: () => usedBudget(meter) };
}

test("a batch is paid with a pause in which the rest of the time goes to queries", async () => {
  const { pauses, pass, batch, ...made } = handMeter();
  const budget = await made.budget();

  await budget.spend("a", batch(10, 5), { waiting: 0 });
  expect(pauses).toEqual([]);
  await budget.spend("a", batch(10, 5), { waiting: 0 });
  expect(pauses).toEqual([45]);
  pass(40);
  await budget.spend("a", batch(10, 5), { waiting: 0 });
  expect(pauses).toEqual([45, 5]);
});

test("time that was not used is kept for a second, so that little work makes no pauses", async () => {
  const { meter, pauses, pass, batch } = handMeter();
  const budget = createBudget(meter, SHARE);

  for (let i = 0; i < 10; i++) await budget.spend("a", batch(10, 10), { waiting: 0 });
  expect(pauses).toEqual([]);
  pass(60_000);
  for (let i = 0; i < 13; i++) await budget.spend("a", batch(10, 10), { waiting: 0 });
  expect(pauses).toEqual([80]);
});

test("the share grows with what waits, or with what the batches have found, up to the most", async () => {
  for (const [waiting, pause] of [
    [0, 90],
    [50, 23],
    [100, 10],
    [10_000, 10],
  ]) {
    const { pauses, batch, ...made } = handMeter();
    const budget = await made.budget();
    await budget.spend("a", batch(1, 10), { waiting });
    await budget.spend("a", batch(1, 10), { waiting });
    expect(pauses, `${waiting} wait`).toEqual([pause]);
  }
  const { pauses, batch, ...made } = handMeter();
  const budget = await made.budget();
  for (let i = 0; i < 4; i++) await budget.spend("a", batch(50, 10));
  expect(pauses).toEqual([23, 10, 10]);
});

test("the work of queries during a batch is not counted, once a batch of its kind has run without", async () => {
  const { pauses, batch, ...made } = handMeter();
  const budget = await made.budget();

  for (const ms of [10, 200, 90, 10]) await budget.spend("a", batch(10, ms), { waiting: 0 });
  // Finding nothing is cheap, and says nothing about rows.
  for (const ms of [1, 30]) await budget.spend("a", batch(0, ms), { waiting: 0 });
  await budget.spend("a", batch(20, 80), { waiting: 0 });
  await budget.spend("b", batch(20, 80), { waiting: 0 });
  await budget.spend("b", batch(20, 80), { waiting: 0 });

  expect(pauses).toEqual([90, 9, 100, 720]);
});

test("a price that has risen is noticed after some batches", async () => {
  const { pauses, batch, ...made } = handMeter();
  const budget = await made.budget();
  await budget.spend("a", batch(10, 10), { waiting: 0 });
  for (let i = 0; i < 9; i++) await budget.spend("a", batch(10, 40), { waiting: 0 });

  expect(pauses).toEqual([90, ...Array<number>(7).fill(60), 360]);
});

test("an aborted signal ends the pause and the batch does not run", async () => {
  const { meter, batch } = handMeter();
  const stop = new AbortController();
  const sleep = async () => {
    stop.abort();
    throw new Error("aborted");
  };
  const budget = createBudget({ ...meter, sleep }, SHARE);
  await budget.spend("a", batch(1, 500), { signal: stop.signal });

  const second = budget.spend("a", () => Promise.reject(new Error("ran")), { signal: stop.signal });
  expect(await second).toBe(0);
});

test.for([
  [50, 100],
  [200, 1_000],
  [500, 1_000],
])("with %d runs a second, evenly, at most %d wait for the index", async ([perSecond, most]) => {
  // Runs of 0.35 ms, of which the base of 40 ms a second stores 114, and a backlog of an hour without an index.
  let waiting = 3_600 * perSecond!;
  const { meter, pass, batch } = handMeter((ms) => void (waiting += (ms / 1000) * perSecond!));
  const budget = createBudget(meter, INDEX_SHARE);
  const largest: number[] = [];
  for (let minute = 0; minute < 240; minute++) {
    const until = meter.now() + 60_000;
    largest.push(waiting);
    while (meter.now() < until) {
      const rows = Math.min(32, Math.floor(waiting));
      if (rows === 0) {
        pass(1_000);
        continue;
      }
      waiting -= rows;
      await budget.spend("runs", batch(rows, rows * 0.35), { waiting });
    }
  }

  expect(largest.every((size, at) => at === 0 || size <= Math.max(most!, largest[at - 1]!))).toBe(true);
  expect(largest.at(-1)).toBeLessThanOrEqual(most!);
});
