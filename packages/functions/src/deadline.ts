export interface Deadline {
  timeoutMs: number;
  signal: AbortSignal;
}

/**
 * Runs `work` until it settles, the time is over or `signal` aborts, whichever is first; `ended` says what it comes to in the
 * latter two. Work that ignores its signal goes on by itself, and what it returns is dropped. Begins nothing when it is too late.
 */
export async function withDeadline<T>(
  { timeoutMs, signal }: Deadline,
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
    // Listens before the work does, so an error that the abort causes inside the work comes too late to be its outcome.
    controller.signal.addEventListener("abort", () => resolve(ended(controller.signal.reason)), { once: true });
  });
  try {
    return await Promise.race([aborted, work(controller.signal)]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", stop);
  }
}

/** True for the reason that `AbortSignal.timeout` gives, and for every other error of that name. */
export function isTimeoutError(reason: unknown): boolean {
  return reason instanceof Error && reason.name === "TimeoutError";
}

function timeoutError(): DOMException {
  return new DOMException("the time was over", "TimeoutError");
}
