import type { Clock } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import type { RunHead, RunStore } from "../ports/run-store.ts";
import type { Feed } from "./feed.ts";

/** How often the logs of followed runs are looked at although nobody woke their readers. */
const QUIET_MS = 5_000;
const UNHEALTHY_MS = 500;
const AT_ONCE = 500;

/** Looks after all readers of runs together, so that ten thousand silent streams cost a few statements and not one each. */
export interface Watch {
  /** Calls `look` now and then with where the run's log stands, undefined for one that was erased, until disposed. */
  on(runId: string, look: (head: RunHead | undefined) => void): Disposable;
  /** Looks until aborted. */
  run(signal: AbortSignal): Promise<void>;
}

export function createWatch(deps: { runs: Pick<RunStore, "heads">; feed: Feed; clock: Clock; log: Log }): Watch {
  const { runs, feed, clock, log } = deps;
  const watched = new Map<string, Set<(head: RunHead | undefined) => void>>();

  async function look(): Promise<void> {
    const runIds = [...watched.keys()];
    for (let i = 0; i < runIds.length; i += AT_ONCE) {
      const batch = runIds.slice(i, i + AT_ONCE);
      const heads = new Map((await runs.heads(batch)).map((head) => [head.runId, head]));
      for (const runId of batch) for (const tell of watched.get(runId) ?? []) tell(heads.get(runId));
    }
  }

  return {
    on(runId, tell) {
      const readers = watched.get(runId) ?? new Set();
      watched.set(runId, readers.add(tell));
      return {
        [Symbol.dispose]() {
          readers.delete(tell);
          if (readers.size === 0 && watched.get(runId) === readers) watched.delete(runId);
        },
      };
    },
    async run(signal) {
      let lookedAt = performance.now();
      while (!signal.aborted) {
        await clock.sleep(UNHEALTHY_MS, { signal }).catch(() => {});
        if (signal.aborted || (feed.healthy && performance.now() - lookedAt < QUIET_MS)) continue;
        lookedAt = performance.now();
        await look().catch((error: unknown) => log.debug("the logs of followed runs could not be read", { error }));
      }
    },
  };
}
