import type { Clock } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import { StoreUnavailable } from "../ports/run-store.ts";

/** Attempts for work that no deadline bounds. */
const LAST_ATTEMPT = 40;

/** Does `work` again, less and less often, while the store is out of reach. Without a `signal` it gives up after about a minute. */
export async function patiently<T>(
  work: () => Promise<T>,
  { clock, log, signal }: { clock: Clock; log: Log; signal?: AbortSignal },
): Promise<T> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof StoreUnavailable) || (!signal && attempt >= LAST_ATTEMPT)) throw error;
      log.warn("store unavailable, run waits", { attempt });
      await clock.sleep(Math.min(2_000, 100 * 2 ** attempt), signal ? { signal } : {});
    }
  }
}
