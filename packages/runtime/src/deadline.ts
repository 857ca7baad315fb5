import { clearTimer, setTimeout } from "@patchbay/kit/time";
/** Limits for {@link withDeadline}. */
export interface Deadline {
  timeoutMs: number;
  signal: AbortSignal;
  /** Called when the work is still running at its timeout or abort. `work` resolves when it has settled. */
  onOverrun?: ((work: Promise<void>) => void) | undefined;
}

/**
 * Runs `work` until it settles, times out or `signal` aborts, whichever is first. After a timeout or an abort it
 * resolves with the value from `ended`. Drops the result if the work ignores its signal. Does not start the work if it
 * is already too late.
 */
export async function withDeadline<T>(
  { timeoutMs, signal, onOverrun }: Deadline,
  work: (signal: AbortSignal) => Promise<T>,
  ended: (reason: unknown) => T,
): Promise<T> {
  if (signal.aborted) return ended(signal.reason);
  if (timeoutMs <= 0) return ended(timeoutError());

  const controller = new AbortController();
  const stop = () => controller.abort(signal.reason);
  const timer = setTimeout(() => controller.abort(timeoutError()), timeoutMs);
  signal.addEventListener("abort", stop, { once: true });
  const aborted = new Promise<T>((resolve) => {
    // Added before the work adds its own listeners, so that an error caused by the abort cannot become the outcome.
    controller.signal.addEventListener("abort", () => resolve(ended(controller.signal.reason)), { once: true });
  });
  let working = true;
  const ends = (): void => void (working = false);
  const worked = work(controller.signal);
  const settled = worked.then(ends, ends);
  try {
    return await Promise.race([aborted, worked]);
  } finally {
    clearTimer(timer);
    signal.removeEventListener("abort", stop);
    if (working) onOverrun?.(settled);
  }
}

/** True for the `AbortSignal.timeout` reason, and for any other error with that name. */
export function isTimeoutError(reason: unknown): boolean {
  return reason instanceof Error && reason.name === "TimeoutError";
}

function timeoutError(): DOMException {
  return new DOMException("the call timed out", "TimeoutError");
}
