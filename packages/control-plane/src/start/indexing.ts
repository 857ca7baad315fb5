import type { Clock } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import type { RunIndex } from "../ports/run-index.ts";

const PAUSE_MS = 1_000;
/** Under load, queries keep 96% of the time. The rest of the runs is stored when the load ends. */
const BUDGET_MS = 40;
const PAUSES_TO_CATCH_UP = 60;
const LAST_MS = 1_000;

/**
 * Stores facts and words of ended runs every second, and every minute looks for those of replicas that crashed. Disposing stores
 * the runs that ended since.
 */
export function startIndexing(index: RunIndex, { clock, log }: { clock: Clock; log: Log }): AsyncDisposable {
  const stopped = new AbortController();
  const { signal } = stopped;
  async function work(): Promise<void> {
    for (let pauses = 0; !signal.aborted; pauses++) {
      try {
        if (pauses % PAUSES_TO_CATCH_UP === 0) await index.catchUp(signal);
        await index.record(BUDGET_MS);
      } catch (error) {
        log.warn("ended runs could not be indexed", { error });
      }
      await clock.sleep(PAUSE_MS, { signal }).catch(() => {});
    }
  }
  const working = work();
  return {
    async [Symbol.asyncDispose]() {
      stopped.abort();
      await working;
      await index.record(LAST_MS).catch((error: unknown) => log.warn("ended runs could not be indexed", { error }));
    },
  };
}
