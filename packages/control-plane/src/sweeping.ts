import type { Log } from "./ports/log.ts";

const EVERY_MS = 3_600_000;

/** Deletes what is over its time, now and every hour. Disposing stops a deletion under way and waits for its last statement. */
export function startSweeping(sweep: (signal: AbortSignal) => Promise<unknown>, log: Log): AsyncDisposable {
  const stopped = new AbortController();
  let last: Promise<unknown> = Promise.resolve();
  function again(): void {
    last = sweep(stopped.signal).catch((error: unknown) => log.warn("old runs could not be deleted", { cause: error }));
  }
  again();
  const timer = setInterval(again, EVERY_MS).unref();
  return {
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      stopped.abort();
      await last;
    },
  };
}
