export interface Deadline {
  timeoutMs: number;
  signal: AbortSignal;
  /** Called when the time is over, or `signal` aborted, while the work goes on; `work` resolves when the work has settled. */
  onOverrun?: ((work: Promise<void>) => void) | undefined;
}

/**
 * Runs `work` until it settles, the time is over or `signal` aborts, whichever is first; `ended` says what it comes to in the
 * latter two. Work that ignores its signal goes on by itself, and what it returns is dropped. Begins nothing when it is too late.
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
    // Listens before the work does, so an error that the abort causes inside the work comes too late to be its outcome.
    controller.signal.addEventListener("abort", () => resolve(ended(controller.signal.reason)), { once: true });
  });
  let working = true;
  const ends = (): void => void (working = false);
  const worked = work(controller.signal);
  const settled = worked.then(ends, ends);
  try {
    return await Promise.race([aborted, worked]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", stop);
    if (working) onOverrun?.(settled);
  }
}

/** True for the reason that `AbortSignal.timeout` gives, and for every other error of that name. */
export function isTimeoutError(reason: unknown): boolean {
  return reason instanceof Error && reason.name === "TimeoutError";
}

function timeoutError(): DOMException {
  return new DOMException("the time was over", "TimeoutError");
}
