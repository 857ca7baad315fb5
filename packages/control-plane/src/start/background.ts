import type { AuditSealStore } from "../ports/audit-seals.ts";
import type { Clock } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import type { Retention, SweepOptions } from "../ports/retention.ts";
import type { RunIndex } from "../ports/run-index.ts";
import type { Store } from "../ports/stores.ts";

interface Deps {
  clock: Clock;
  log: Log;
}

/** Indexes, seals and sweeps until disposed. */
export function startBackground(store: Store, retention: Retention, deps: Deps): AsyncDisposable {
  const work = new AsyncDisposableStack();
  work.use(startIndexing(store.index, deps));
  work.use(startSealing(store.audit, deps));
  work.use(startSweeping((options) => store.sweep(retention, options), deps));
  return work;
}

const INDEX_EVERY_MS = 1_000;
/** Under load, queries keep 96% of the time. The rest of the runs is stored when the load ends. */
const INDEX_BUDGET_MS = 40;
const PASSES_TO_CATCH_UP = 60;
const LAST_MS = 1_000;

/**
 * Stores facts and words of ended runs every second, and every minute looks for those of replicas that crashed. Disposing stores
 * the runs that ended since.
 */
export function startIndexing(index: RunIndex, { clock, log }: Deps): AsyncDisposable {
  const failed = (error: unknown): void => log.warn("ended runs could not be indexed", { error });
  const work = new AsyncDisposableStack();
  work.defer(() => index.record(LAST_MS).catch(failed));
  let passes = 0;
  const pass = async (signal: AbortSignal): Promise<void> => {
    if (passes++ % PASSES_TO_CATCH_UP === 0) await index.catchUp(signal);
    await index.record(INDEX_BUDGET_MS);
  };
  work.use(repeat(pass, { everyMs: INDEX_EVERY_MS, clock, failed }));
  return work;
}

const SEAL_EVERY_MS = 30_000;
/** Under load, queries keep 96% of the time. The rest is sealed when the load ends. */
const SEAL_BUDGET_MS = 1_200;

/** Seals the audit log every 30 seconds. Another replica, or the next start, seals what is left when this is disposed. */
function startSealing(audit: Pick<AuditSealStore, "seal">, { clock, log }: Deps): AsyncDisposable {
  return repeat((signal) => audit.seal({ budgetMs: SEAL_BUDGET_MS, signal }), {
    everyMs: SEAL_EVERY_MS,
    clock,
    failed: (error) => log.warn("the audit log could not be sealed", { error }),
  });
}

const SWEEP_EVERY_MS = 3_600_000;

/** Deletes rows that are older than their retention, now and an hour after each sweep. */
export function startSweeping(
  sweep: (options: Required<SweepOptions>) => Promise<unknown>,
  { clock, log }: Deps,
): AsyncDisposable {
  const failed = (part: string, cause: unknown): void => log.warn("old rows could not be deleted", { part, cause });
  return repeat((signal) => sweep({ signal, failed }), {
    everyMs: SWEEP_EVERY_MS,
    clock,
    failed: (error) => failed("all", error),
  });
}

/**
 * Calls `pass` now, and again `everyMs` after the end of each call: two calls of it never overlap, however slow they are.
 * Disposing aborts `signal` and waits for the call in progress.
 */
function repeat(
  pass: (signal: AbortSignal) => Promise<unknown>,
  { everyMs, clock, failed }: { everyMs: number; clock: Clock; failed: (error: unknown) => void },
): AsyncDisposable {
  const stopped = new AbortController();
  const { signal } = stopped;
  async function work(): Promise<void> {
    while (!signal.aborted) {
      await pass(signal).catch(failed);
      await clock.sleep(everyMs, { signal }).catch(() => {});
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
