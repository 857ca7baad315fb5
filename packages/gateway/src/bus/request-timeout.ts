import type { JsonValue } from "@patchbay/kit";
import { RequestLost } from "@patchbay/engine/ports/bus";

/** How long a request may take, and what ends it early. */
export interface RequestLimits {
  timeoutMs: number;
  signal?: AbortSignal | undefined;
}

/**
 * Settles with the first call to `answered` or `failed`. Rejects with `RequestLost` after `timeoutMs` and with
 * `signal.reason` on abort. Does not call `send` when the signal is already aborted.
 */
export function withTimeout(
  { timeoutMs, signal }: RequestLimits,
  send: (answered: (body: JsonValue) => void, failed: (error: Error) => void) => void,
): Promise<JsonValue> {
  if (signal?.aborted) return Promise.reject(signal.reason as Error);
  const { promise, resolve, reject } = Promise.withResolvers<JsonValue>();
  const late = setTimeout(() => reject(new RequestLost(`no answer within ${timeoutMs} ms`)), timeoutMs);
  const abort = (): void => reject(signal?.reason as Error);
  signal?.addEventListener("abort", abort, { once: true });
  send(resolve, reject);
  return promise.finally(() => {
    clearTimeout(late);
    signal?.removeEventListener("abort", abort);
  });
}
