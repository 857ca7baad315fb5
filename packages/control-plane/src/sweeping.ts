import type { Log } from "./ports/log.ts";

const EVERY_MS = 3_600_000;

/** Deletes what is over its time, now and every hour. Disposing waits for a deletion under way. */
export function startSweeping(sweep: () => Promise<unknown>, log: Log): AsyncDisposable {
  let last: Promise<unknown> = Promise.resolve();
  function again(): void {
    last = sweep().catch((error: unknown) => log.warn("old runs could not be deleted", { cause: error }));
  }
  again();
  const timer = setInterval(again, EVERY_MS).unref();
  return {
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      await last;
    },
  };
}
