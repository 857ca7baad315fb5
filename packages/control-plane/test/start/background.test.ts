import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import { silentLog } from "../../src/ports/log.ts";
import { startIndexing, startSweeping } from "../../src/start/background.ts";

/** A clock whose sleeps the test ends. Adds each sleep to `steps`. */
function steppedClock(steps: string[] = []) {
  let sleep = Promise.withResolvers<() => void>();
  return {
    now: () => 0,
    sleep(ms: number, { signal }: { signal?: AbortSignal } = {}): Promise<void> {
      if (signal?.aborted) return Promise.reject(new Error("aborted"));
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      signal?.addEventListener("abort", () => reject(new Error("aborted")));
      steps.push(`sleep ${ms}`);
      sleep.resolve(resolve);
      return promise;
    },
    /** Resolves when the next sleep begins. */
    idle: async () => void (await sleep.promise),
    /** Waits for the next sleep, and ends it. */
    async pass(): Promise<void> {
      const end = await sleep.promise;
      sleep = Promise.withResolvers();
      end();
    },
  };
}

/** An index that records its calls. */
function recordedIndex({ fails = false } = {}) {
  const calls: string[] = [];
  return {
    calls,
    async catchUp() {
      calls.push("catchUp");
    },
    async record(budgetMs?: number) {
      calls.push(`record ${budgetMs}`);
      if (fails) throw new Error("disk full");
    },
  };
}

test("ended runs are stored every second, those of crashed replicas found every minute, and the last ones at the end", async () => {
  const [index, clock] = [recordedIndex(), steppedClock()];
  {
    await using _indexing = startIndexing(index, { clock, log: silentLog });
    for (let i = 0; i < 60; i++) await clock.pass();
    await clock.idle();
  }

  expect(index.calls.filter((call) => call === "catchUp")).toHaveLength(2);
  expect(index.calls.slice(0, 3)).toEqual(["catchUp", "record 40", "record 40"]);
  expect(index.calls.at(-1)).toBe("record 1000");
});

test("a failure does not end the work", async () => {
  const [index, clock] = [recordedIndex({ fails: true }), steppedClock()];
  {
    await using _indexing = startIndexing(index, { clock, log: silentLog });
    await clock.pass();
    await clock.idle();
  }

  expect(index.calls.filter((call) => call === "record 40")).toHaveLength(2);
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
