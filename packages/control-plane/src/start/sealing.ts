import type { AuditSealStore } from "../ports/audit-seals.ts";
import type { Clock } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";

const PAUSE_MS = 30_000;
/** Under load, queries keep 96% of the time. The rest is sealed when the load ends. */
const BUDGET_MS = 1_200;

/** Seals the audit log every 30 seconds. Disposing waits for the last statement; another replica, or the next start, continues. */
export function startSealing(
  audit: Pick<AuditSealStore, "seal">,
  { clock, log }: { clock: Clock; log: Log },
): AsyncDisposable {
  const stopped = new AbortController();
  const { signal } = stopped;
  async function work(): Promise<void> {
    while (!signal.aborted) {
      await audit.seal({ budgetMs: BUDGET_MS, signal }).catch((error: unknown) => {
        log.warn("the audit log could not be sealed", { error });
      });
      await clock.sleep(PAUSE_MS, { signal }).catch(() => {});
    }
  }
  const working = work();
  return {
    async [Symbol.asyncDispose]() {
      stopped.abort();
      await working;
    },
  };
}
