import type { JsonValue } from "@patchbay/protocol";
import { RequestLost } from "../ports/bus.ts";

/** How long a request may take, and what ends it early. */
export interface Patience {
  timeoutMs: number;
  signal?: AbortSignal | undefined;
}

/**
 * Resolves with the first thing given to `answered`; rejects with what is given to `failed`, with `RequestLost` when neither
 * comes in time, with `signal.reason` when aborted. `ask` is not called when the signal is aborted already; what it returns is
 * called once the request is over, however it ended.
 */
export function inTime(
  { timeoutMs, signal }: Patience,
  ask: (answered: (body: JsonValue) => void, failed: (error: Error) => void) => (() => void) | undefined,
): Promise<JsonValue> {
  if (signal?.aborted) return Promise.reject(signal.reason as Error);
  const { promise, resolve, reject } = Promise.withResolvers<JsonValue>();
  const late = setTimeout(() => reject(new RequestLost(`no answer within ${timeoutMs} ms`)), timeoutMs);
  const abort = (): void => reject(signal?.reason as Error);
  signal?.addEventListener("abort", abort, { once: true });
  const over = ask(resolve, reject);
  return promise.finally(() => {
    clearTimeout(late);
    signal?.removeEventListener("abort", abort);
    over?.();
  });
}
