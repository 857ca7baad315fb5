/**
 * Joins a signal that lasts as long as the process with many that do not: each pair is one signal until it is disposed.
 * `AbortSignal.any` does the same by weak references, which cost more than all else about a waiting request.
 */
export function joining(lasting: AbortSignal): (signal: AbortSignal) => Disposable & { readonly signal: AbortSignal } {
  const joined = new Set<AbortController>();
  lasting.addEventListener("abort", () => {
    for (const one of joined) one.abort(lasting.reason);
  });
  return (signal) => {
    const either = new AbortController();
    const abort = (): void => either.abort(signal.reason);
    const first = [signal, lasting].find(({ aborted }) => aborted);
    if (first) either.abort(first.reason);
    signal.addEventListener("abort", abort);
    joined.add(either);
    return {
      signal: either.signal,
      [Symbol.dispose]() {
        joined.delete(either);
        signal.removeEventListener("abort", abort);
      },
    };
  };
}
