/**
 * The clocks, timers and randomness of everything that runs in a control plane or in an owner's runtime: the linter refuses Node's own
 * there. A simulation replaces them all, and so repeats a run of several processes from one seed.
 */
export interface TimeSource {
  wallMs(): number;
  monotonicMs(): number;
  setTimeout(callback: () => void, ms: number): NodeJS.Timeout;
  setInterval(callback: () => void, ms: number): NodeJS.Timeout;
  setImmediate(callback: () => void): void;
  clear(timer: NodeJS.Timeout | undefined): void;
  timeoutSignal(ms: number): AbortSignal;
  randomFraction(): number;
  randomBytes(bytes: Buffer<ArrayBuffer>): void;
  randomUUID(): string;
}

// Each function looks up the global when it is called, so that tests can replace that too.
const machine: TimeSource = {
  wallMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  setTimeout: (callback, ms) => globalThis.setTimeout(callback, ms),
  setInterval: (callback, ms) => globalThis.setInterval(callback, ms),
  setImmediate: (callback) => void globalThis.setImmediate(callback),
  clear: (timer) => globalThis.clearTimeout(timer),
  timeoutSignal: (ms) => AbortSignal.timeout(ms),
  randomFraction: () => Math.random(),
  randomBytes: (bytes) => void crypto.getRandomValues(bytes),
  randomUUID: () => crypto.randomUUID(),
};

let source = machine;

/** Replaces the machine's time for this process, until disposed. */
export function replaceTime(by: TimeSource): Disposable {
  source = by;
  return { [Symbol.dispose]: () => void (source = machine) };
}

/** Milliseconds since the epoch by the machine's clock, which may step. */
export const wallMs = (): number => source.wallMs();

/** Milliseconds since some moment, for durations: never steps. */
export const monotonicMs = (): number => source.monotonicMs();

export const setTimeout = (callback: () => void, ms = 0): NodeJS.Timeout => source.setTimeout(callback, ms);

export const setInterval = (callback: () => void, ms: number): NodeJS.Timeout => source.setInterval(callback, ms);

export const setImmediate = (callback: () => void): void => source.setImmediate(callback);

/** Ends a timeout or an interval. */
export const clearTimer = (timer: NodeJS.Timeout | undefined): void => source.clear(timer);

/** As `AbortSignal.timeout`. */
export const timeoutSignal = (ms: number): AbortSignal => source.timeoutSignal(ms);

/** Resolves after `ms`; rejects with `signal.reason` when aborted first. With `ref: false`, the process may end meanwhile. */
export function sleep(
  ms: number,
  { signal, ref = true }: { signal?: AbortSignal; ref?: boolean } = {},
): Promise<undefined> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const aborted = (): void => {
      clearTimer(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", aborted);
      resolve(undefined);
    }, ms);
    if (!ref) timer.unref();
    signal?.addEventListener("abort", aborted, { once: true });
  });
}

/** Resolves in the event loop's next turn. */
export const nextTurn = (): Promise<void> => new Promise(setImmediate);

/** From 0 to below 1. */
export const randomFraction = (): number => source.randomFraction();

/** At most 65,536 bytes. */
export function randomBytes(length: number): Buffer<ArrayBuffer> {
  const bytes = Buffer.alloc(length);
  source.randomBytes(bytes);
  return bytes;
}

export const randomUUID = (): string => source.randomUUID();
