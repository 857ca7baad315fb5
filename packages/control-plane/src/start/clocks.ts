import { clearTimer, monotonicMs, setInterval, sleep, wallMs } from "@patchbay/kit/time";
import type { Clock } from "@patchbay/engine/ports/clock";
import type { Log } from "@patchbay/kit";

/** The machine's clock. */
export const systemClock: Clock = { now: wallMs, sleep };

const MEASURE_EVERY_MS = 10_000;
/** Discards slower answers: the measurement error is half the round trip. */
const LONGEST_ROUND_TRIP_MS = 1_000;

/**
 * The database's time: an offset to this process's monotonic clock, measured every ten seconds. So replicas whose
 * machine clocks differ agree on deadlines and leases. Disposing stops the measurements.
 */
export async function databaseClock(now: () => Promise<number>, log: Log): Promise<Clock & Disposable> {
  let offset = (await measureOffset(now)) ?? wallMs() - monotonicMs();
  const timer = setInterval(() => {
    measureOffset(now)
      .then((measured) => (offset = measured ?? offset))
      .catch((error: unknown) => log.debug("database clock could not be read", { error }));
  }, MEASURE_EVERY_MS).unref();
  return {
    now: () => Math.round(monotonicMs() + offset),
    sleep: systemClock.sleep,
    [Symbol.dispose]: () => clearTimer(timer),
  };
}

/** The database's time minus the monotonic clock; undefined when the answer took too long. */
async function measureOffset(now: () => Promise<number>): Promise<number | undefined> {
  const before = monotonicMs();
  const answered = await now();
  const after = monotonicMs();
  return after - before > LONGEST_ROUND_TRIP_MS ? undefined : answered - (before + after) / 2;
}
