import type { Clock } from "./ports/clock.ts";
import type { Log } from "./ports/log.ts";
import { systemClock } from "./system-clock.ts";

const EVERY_MS = 10_000;
/** A measurement that took longer says too little. */
const LONGEST_MS = 1_000;

/**
 * The database's time, carried on by this process's monotonic clock and compared again every ten seconds: replicas whose
 * own clocks are wrong agree on deadlines and leases. Disposing ends the comparing.
 */
export async function databaseClock(now: () => Promise<number>, log: Log): Promise<Clock & Disposable> {
  let offset = (await measure(now)) ?? Date.now() - performance.now();
  const timer = setInterval(() => {
    measure(now)
      .then((measured) => (offset = measured ?? offset))
      .catch((error: unknown) => log.debug("the database's clock could not be read", { error }));
  }, EVERY_MS).unref();
  return {
    now: () => Math.round(performance.now() + offset),
    sleep: systemClock.sleep,
    [Symbol.dispose]: () => clearInterval(timer),
  };
}

/** What is added to the monotonic clock; undefined where the answer took too long. */
async function measure(now: () => Promise<number>): Promise<number | undefined> {
  const before = performance.now();
  const answered = await now();
  const after = performance.now();
  return after - before > LONGEST_MS ? undefined : answered - (before + after) / 2;
}
