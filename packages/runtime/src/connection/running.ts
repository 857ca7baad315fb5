import { clearTimer, setTimeout, sleep } from "@patchbay/kit/time";
import type { CallFrame, CallOutcome } from "@patchbay/protocol";
import type { Log } from "../log.ts";

type Frame = Pick<CallFrame, "function" | "detached">;

/** The handlers that run in this process, in total and by function. */
export class RunningHandlers {
  readonly #most: number;
  /** Most handlers for a function. Undefined: as many as in total. */
  readonly limitOf: (functionName: string) => number | undefined;
  readonly #ofFunction = new Map<string, number>();
  #count = 0;

  constructor(most: number, limitOf: (functionName: string) => number | undefined) {
    this.#most = most;
    this.limitOf = limitOf;
  }

  /** True when only detached handlers may start. */
  get full(): boolean {
    return this.#count >= this.#most;
  }

  /** Counts a handler for the call. False when it may not start. Detached ones would use up the process's places for hours. */
  start({ function: functionName, detached = false }: Frame): boolean {
    const ofFunction = this.#ofFunction.get(functionName) ?? 0;
    if (!detached && this.full) return false;
    if (ofFunction >= (this.limitOf(functionName) ?? Infinity)) return false;
    if (!detached) this.#count++;
    this.#ofFunction.set(functionName, ofFunction + 1);
    return true;
  }

  end({ function: functionName, detached = false }: Frame): void {
    if (!detached) this.#count--;
    this.#ofFunction.set(functionName, this.#ofFunction.get(functionName)! - 1);
  }
}

/** How long a handler may take to return after its abort before its call is reported as still running. */
const RETURN_MS = 20;
/** How long a handler may run after its abort before the log mentions it. */
const OVERRUN_MS = 1_000;

/** True if the handler returns within a moment, as after obeying its signal. */
export async function returnsSoon(handler: Promise<void>): Promise<boolean> {
  const late = new AbortController();
  const waited = sleep(RETURN_MS, { signal: late.signal }).then(
    () => false,
    () => true,
  );
  const returned = await Promise.race([handler.then(() => true), waited]);
  late.abort();
  return returned;
}

/** The outcome for a call whose handler has not returned: it keeps its permit. */
export const whileRunning = (outcome: CallOutcome): CallOutcome =>
  outcome.ok ? outcome : { ...outcome, stillRuns: true };

/** Resolves when an ended call's handler returns. */
export async function overrunEnds(
  handler: Promise<void>,
  { function: functionName, runId, callId }: CallFrame,
  { log, concurrency }: { log: Log; concurrency: number },
): Promise<void> {
  const fields = { functionName, runId, callId, concurrency };
  let warned = false;
  const timer = setTimeout(() => {
    warned = true;
    log.warn("a handler is still running after its call ended, and uses a slot; return when its signal aborts", fields);
  }, OVERRUN_MS).unref();
  await handler;
  clearTimer(timer);
  if (warned) log.info("a handler returned after its call had ended; its slot is free", fields);
}
