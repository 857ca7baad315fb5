import { setTimeout as delay } from "node:timers/promises";
import type { Clock } from "@patchbay/engine/ports/clock";
import type { Log } from "@patchbay/kit";

/** The machine's clock. */
export const systemClock: Clock = {
  now: Date.now,
  async sleep(ms, { signal } = {}) {
    try {
      await delay(ms, undefined, signal ? { signal } : {});
    } catch (error) {
      throw signal?.aborted ? signal.reason : error;
    }
  },
};

const MEASURE_EVERY_MS = 10_000;
/** Discards slower answers: the measurement error is half the round trip. */
const LONGEST_ROUND_TRIP_MS = 1_000;

/**
 * The database's time: an offset to this process's monotonic clock, measured every ten seconds. So replicas whose
 * machine clocks differ agree on deadlines and leases. Disposing stops the measurements.
 */
export async function databaseClock(now: () => Promise<number>, log: Log): Promise<Clock & Disposable> {
  let offset = (await measureOffset(now)) ?? Date.now() - performance.now();
  const timer = setInterval(() => {
    measureOffset(now)
      .then((measured) => (offset = measured ?? offset))
      .catch((error: unknown) => log.debug("database clock could not be read", { error }));
  }, MEASURE_EVERY_MS).unref();
  return {
    now: () => Math.round(performance.now() + offset),
    sleep: systemClock.sleep,
    [Symbol.dispose]: () => clearInterval(timer),
  };
}

/** The database's time minus the monotonic clock; undefined when the answer took too long. */
async function measureOffset(now: () => Promise<number>): Promise<number | undefined> {
  const before = performance.now();
  const answered = await now();
  const after = performance.now();
  return after - before > LONGEST_ROUND_TRIP_MS ? undefined : answered - (before + after) / 2;
}
