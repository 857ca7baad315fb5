import { addAbortListener } from "node:events";

/** The work's result. Rejects with the signal's reason if it aborts first; the work continues. */
export async function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  const { promise, reject } = Promise.withResolvers<never>();
  using _ = addAbortListener(signal, () => reject(signal.reason as Error));
  return await Promise.race([work, promise]);
}
