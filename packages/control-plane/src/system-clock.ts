import { setTimeout as delay } from "node:timers/promises";
import type { Clock } from "./ports/clock.ts";

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
