import type { Log } from "./ports/log.ts";
import type { SweepOptions } from "./ports/stores.ts";

const EVERY_MS = 3_600_000;

/** Deletes what is over its time, now and every hour. Disposing stops a deletion under way and waits for its last statement. */
export function startSweeping(sweep: (options: Required<SweepOptions>) => Promise<unknown>, log: Log): AsyncDisposable {
  const stopped = new AbortController();
  const failed = (part: string, cause: unknown): void => log.warn("old rows could not be deleted", { part, cause });
  let last: Promise<unknown> = Promise.resolve();
  function again(): void {
    last = sweep({ signal: stopped.signal, failed }).catch((error: unknown) => failed("all", error));
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
