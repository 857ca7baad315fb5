import type { Log } from "../ports/log.ts";
import type { SweepOptions } from "../ports/retention.ts";

const EVERY_MS = 3_600_000;

/**
 * Deletes rows that are older than their retention, now and every hour. Disposing stops a sweep that is running and waits for
 * its last statement.
 */
export function startSweeping(sweep: (options: Required<SweepOptions>) => Promise<unknown>, log: Log): AsyncDisposable {
  const stopped = new AbortController();
  const failed = (part: string, cause: unknown): void => log.warn("old rows could not be deleted", { part, cause });
  let last: Promise<unknown> = Promise.resolve();
  function start(): void {
    last = sweep({ signal: stopped.signal, failed }).catch((error: unknown) => failed("all", error));
  }
  start();
  const timer = setInterval(start, EVERY_MS).unref();
  return {
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      stopped.abort();
      await last;
    },
  };
}
