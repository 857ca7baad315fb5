import { AsyncLocalStorage } from "node:async_hooks";

/** A call whose checks or handler run. */
export interface CallInProgress {
  functionName: string;
  /** The query's run. */
  runId: string;
  callId: string;
}

const calls = new AsyncLocalStorage<CallInProgress>();

/**
 * The call to which the code that runs now belongs, also in its timers and in promises that nothing awaits; undefined in
 * other code. For log lines, and to find the function that left a rejected promise behind.
 */
export const callInProgress = (): CallInProgress | undefined => calls.getStore();

export const asCall = <T>(call: CallInProgress, work: () => T): T => calls.run(call, work);
