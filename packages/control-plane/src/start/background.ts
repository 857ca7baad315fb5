import { timeoutSignal } from "@patchbay/kit/time";
import type { AuditSealStore } from "@patchbay/engine/ports/store/audit-seals";
import type { Retention, Share, SweepOptions, Upkeep } from "@patchbay/engine/ports/store/upkeep";
import type { Clock } from "@patchbay/engine/ports/clock";
import type { Log } from "@patchbay/kit";
import type { RuntimeStore, Store } from "@patchbay/engine/ports/store/stores";

interface Deps {
  clock: Clock;
  log: Log;
}

/** Records that this replica serves, finds lost calls, indexes, seals and sweeps until disposed. */
export function startBackground(store: Store, retention: Retention, deps: Deps): AsyncDisposable {
  const work = new AsyncDisposableStack();
  work.use(startServing(store.runtimes, deps));
  work.use(startFinding(store.runs, deps));
  work.use(startIndexing(store, deps));
  work.use(startSealing(store, deps));
  work.use(startNoting(store.audit, deps));
  work.use(startSweeping((options) => store.exclusively("sweep", () => store.sweep(retention, options)), deps));
  return work;
}

/** A third of the silence after which a replica no longer counts as serving. */
const SERVED_EVERY_MS = 5_000;

/** Records every five seconds that a replica serves the database, and a last time when disposed. */
function startServing({ recordServed }: Pick<RuntimeStore, "recordServed">, { clock, log }: Deps): AsyncDisposable {
  const failed = (error: unknown): void => log.debug("the time of service could not be recorded", { error });
  const record = () => recordServed({ begins: false });
  const work = new AsyncDisposableStack();
  work.defer(() => record().catch(failed));
  work.use(repeat(record, { everyMs: SERVED_EVERY_MS, clock, failed }));
  return work;
}

const FIND_EVERY_MS = 10_000;

/** Looks every ten seconds for waiting runs whose detached calls were in a runtime that is gone. */
function startFinding(runs: Pick<Store["runs"], "wakeLost">, { clock, log }: Deps): AsyncDisposable {
  const failed = (error: unknown): void => log.warn("lost calls could not be looked for", { error });
  return repeat(() => runs.wakeLost(), { everyMs: FIND_EVERY_MS, clock, failed });
}

const INDEX_EVERY_MS = 1_000;
const CATCH_UP_EVERY_MS = 60_000;
/** 40 ms per second, about 100 runs. With 1,000 runs waiting, 250 ms, which is more runs than the process can end. */
export const INDEX_SHARE: Share = { least: 0.04, most: 0.25, full: 1_000 };
const LAST_MS = 1_000;

/**
 * Indexes ended runs every second, and every minute looks for runs whose replica crashed. Disposing indexes the runs
 * that ended since, for up to one second.
 */
export function startIndexing(
  { index, budget }: Pick<Store, "index"> & Pick<Upkeep, "budget">,
  { clock, log }: Deps,
): AsyncDisposable {
  const failed = (error: unknown): void => log.warn("ended runs could not be indexed", { error });
  const work = new AsyncDisposableStack();
  work.defer(() => index.record({ signal: timeoutSignal(LAST_MS) }).catch(failed));
  const [storing, finding] = [budget(INDEX_SHARE), budget(INDEX_SHARE)];
  work.use(repeat((signal) => index.record({ signal, budget: storing }), { everyMs: INDEX_EVERY_MS, clock, failed }));
  work.use(
    repeat((signal) => index.catchUp({ signal, budget: finding }), { everyMs: CATCH_UP_EVERY_MS, clock, failed }),
  );
  return work;
}

const SEAL_EVERY_MS = 30_000;
/** 40 ms per second, about 1,000 entries; up to 100 ms when many entries wait. */
const SEAL_SHARE: Share = { least: 0.04, most: 0.1, full: 20_000 };

/** Seals the audit log every 30 seconds. After disposal, another replica or the next start seals the rest. */
function startSealing(
  { audit, exclusively, budget }: Pick<Store, "audit"> & Upkeep,
  { clock, log }: Deps,
): AsyncDisposable {
  const pass = (signal: AbortSignal) => exclusively("seals", () => audit.seal({ budget: budget(SEAL_SHARE), signal }));
  return repeat(pass, {
    everyMs: SEAL_EVERY_MS,
    clock,
    failed: (error) => log.warn("the audit log could not be sealed", { error }),
  });
}

/**
 * Once a day, one replica writes each audit log's head to the process log, where a person with write access to the
 * database cannot change it.
 */
export function startNoting(audit: Pick<AuditSealStore, "noteHeads">, { clock, log }: Deps): AsyncDisposable {
  const pass = async (): Promise<void> => {
    for (const noted of await audit.noteHeads()) log.info("audit head", { ...noted });
  };
  const failed = (error: unknown): void => log.warn("the heads of the audit log could not be noted", { error });
  return repeat(pass, { everyMs: SEAL_EVERY_MS, clock, failed });
}

const SWEEP_EVERY_MS = 3_600_000;
const RETRY_SWEEP_MS = 60_000;

/** Deletes rows past their retention, now and an hour after each sweep. `sweep`: false while another replica does. */
export function startSweeping(
  sweep: (options: SweepOptions & { signal: AbortSignal }) => Promise<unknown>,
  { clock, log }: Deps,
): AsyncDisposable {
  const failed = (part: string, cause: unknown): void => log.warn("old rows could not be deleted", { part, cause });
  return repeat((signal) => sweep({ signal, failed }), {
    // The claim may belong to a replica that died during its sweep.
    everyMs: (swept) => (swept === false ? RETRY_SWEEP_MS : SWEEP_EVERY_MS),
    clock,
    failed: (error) => failed("all", error),
  });
}

/**
 * Calls `pass` now, and again `everyMs` after each call ends: calls never overlap, however slow they are. The time may
 * depend on the call's result. Disposing aborts `signal` and waits for the call in progress.
 */
function repeat(
  pass: (signal: AbortSignal) => Promise<unknown>,
  {
    everyMs,
    clock,
    failed,
  }: { everyMs: number | ((result: unknown) => number); clock: Clock; failed: (error: unknown) => void },
): AsyncDisposable {
  const stopped = new AbortController();
  const { signal } = stopped;
  async function work(): Promise<void> {
    while (!signal.aborted) {
      const result = await pass(signal).catch(failed);
      await clock.sleep(typeof everyMs === "number" ? everyMs : everyMs(result), { signal }).catch(() => {});
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
