/** Limits how many calls run at the same time. */
export function createSlots(count: number) {
  let free = count;
  const waiting = new Set<() => void>();
  const release = (): void => {
    const [next] = waiting;
    if (next === undefined) free++;
    else next();
  };
  return {
    /** Waits for a free slot. The returned function frees it. Rejects with the aborted signal's reason. */
    async take(signal: AbortSignal): Promise<() => void> {
      signal.throwIfAborted();
      if (free > 0) free--;
      else
        await new Promise<void>((resolve, reject) => {
          const start = () => {
            waiting.delete(start);
            signal.removeEventListener("abort", stop);
            resolve();
          };
          const stop = () => {
            waiting.delete(start);
            reject(signal.reason as Error);
          };
          waiting.add(start);
          signal.addEventListener("abort", stop, { once: true });
        });
      return release;
    },
  };
}
