import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import { type IndexOptions, unlimited } from "@patchbay/engine/ports/store/upkeep";
import { silentLog } from "@patchbay/kit";
import { startIndexing, startNoting, startSweeping } from "../../src/start/background.ts";

/** A clock whose sleeps the test ends, in their order. Adds each sleep to `steps`. */
function steppedClock(steps: string[] = []) {
  const sleeping: (() => void)[] = [];
  let begun = Promise.withResolvers<void>();
  async function idle(): Promise<void> {
    while (sleeping.length === 0) await begun.promise;
  }
  return {
    now: () => 0,
    sleep(ms: number, { signal }: { signal?: AbortSignal } = {}): Promise<void> {
      if (signal?.aborted) return Promise.reject(new Error("aborted"));
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      signal?.addEventListener("abort", () => reject(new Error("aborted")));
      steps.push(`sleep ${ms}`);
      sleeping.push(resolve);
      begun.resolve();
      begun = Promise.withResolvers();
      return promise;
    },
    /** Resolves while something sleeps. */
    idle,
    /** Waits for a sleep, and ends the first one. */
    async pass(): Promise<void> {
      await idle();
      sleeping.shift()!();
    },
  };
}

/** An index that records its calls, and which of them have a budget. */
function recordedIndex({ fails = false } = {}) {
  const calls: string[] = [];
  return {
    calls,
    budget: () => unlimited,
    index: {
      backlog: () => 0,
      async catchUp({ budget }: IndexOptions = {}) {
        calls.push(`catchUp ${budget ? "within a budget" : "at once"}`);
      },
      async record({ budget, signal }: IndexOptions = {}) {
        calls.push(`record ${budget ? "within a budget" : "at once"}`);
        expect(signal?.aborted).toBe(false);
        if (fails) throw new Error("disk full");
      },
    },
  };
}

test("ended runs are stored every second, those of crashed replicas found every minute, and the last ones at the end", async () => {
  const [index, steps] = [recordedIndex(), [] as string[]];
  const clock = steppedClock(steps);
  {
    await using _indexing = startIndexing(index, { clock, log: silentLog });
    for (let i = 0; i < 4; i++) await clock.pass();
    await clock.idle();
  }

  expect(new Set(steps)).toEqual(new Set(["sleep 1000", "sleep 60000"]));
  expect(index.calls.slice(0, 2).toSorted()).toEqual(["catchUp within a budget", "record within a budget"]);
  expect(index.calls.at(-1)).toBe("record at once");
});

test("a failure does not end the work", async () => {
  const index = recordedIndex({ fails: true });
  const clock = steppedClock();
  {
    await using _indexing = startIndexing(index, { clock, log: silentLog });
    for (let i = 0; i < 2; i++) await clock.pass();
    await clock.idle();
  }

  expect(index.calls.filter((call) => call === "record within a budget").length).toBeGreaterThan(1);
});

test("an hour of the clock passes between two sweeps, and no sweep begins during another", async () => {
  const steps: string[] = [];
  const clock = steppedClock(steps);
  const first = Promise.withResolvers<void>();
  const sweep = async (): Promise<void> => {
    steps.push("sweep begins");
    await first.promise;
    steps.push("sweep ends");
  };
  {
    await using _sweeping = startSweeping(sweep, { clock, log: silentLog });
    first.resolve();
    await clock.pass();
    await clock.idle();
  }

  const sweepAndSleep = ["sweep begins", "sweep ends", "sleep 3600000"];
  expect(steps).toEqual([...sweepAndSleep, ...sweepAndSleep]);
});

test("the heads that a pass notes are lines of the log, and a failure is one too", async () => {
  const clock = steppedClock();
  const lines: unknown[] = [];
  const log = {
    ...silentLog,
    info: (message: string, fields?: object) => void lines.push({ message, ...fields }),
    warn: (message: string) => void lines.push({ message }),
  };
  const head = { orgId: "org_1", head: "3:abc", entries: 7, sealedTo: "2026-11-28T00:00:00.000Z" };
  const passes = [[head], [], undefined];
  const noteHeads = async () => passes.shift() ?? Promise.reject(new Error("the database is down"));
  {
    await using _noting = startNoting({ noteHeads }, { clock, log });
    await clock.pass();
    await clock.pass();
    await clock.idle();
  }

  expect(lines).toEqual([
    { message: "audit head", ...head },
    { message: "the heads of the audit log could not be noted" },
  ]);
});

test("a sweep that another replica makes is looked for again after a minute", async () => {
  const steps: string[] = [];
  const clock = steppedClock(steps);
  const results = [false, true];
  {
    await using _sweeping = startSweeping(async () => results.shift(), { clock, log: silentLog });
    await clock.pass();
    await clock.idle();
  }

  expect(steps).toEqual(["sleep 60000", "sleep 3600000"]);
});

test("a stop aborts the sweep in progress and waits for its last statement", async () => {
  const steps: string[] = [];
  const begun = Promise.withResolvers<AbortSignal>();
  const statement = Promise.withResolvers<void>();
  const sweeping = startSweeping(
    async ({ signal }) => {
      begun.resolve(signal);
      await statement.promise;
      steps.push("statement ended");
    },
    { clock: steppedClock(), log: silentLog },
  );
  const signal = await begun.promise;

  const stopped = sweeping[Symbol.asyncDispose]().then(() => steps.push("stopped"));
  expect(signal.aborted).toBe(true);
  await setImmediate();
  statement.resolve();
  await stopped;

  expect(steps).toEqual(["statement ended", "stopped"]);
});
