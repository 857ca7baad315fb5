import { setTimeout as sleep } from "node:timers/promises";
import type { CallFrame, CallOutcome } from "@patchbay/protocol";
import type { Log } from "../log.ts";

/** How long a handler may take to return after its abort before its call is reported as one that still runs. */
const RETURN_MS = 20;
/** How long a handler may run after its abort before the log mentions it. */
const OVERRUN_MS = 1_000;

/** True if the handler returns within a moment, as one that heeds its signal does. */
export async function returnsSoon(handler: Promise<void>): Promise<boolean> {
  const late = new AbortController();
  const waited = sleep(RETURN_MS, false, { signal: late.signal }).catch(() => true);
  const returned = await Promise.race([handler.then(() => true), waited]);
  late.abort();
  return returned;
}

/** The outcome of a call whose handler has not returned: it keeps its permit. */
export const whileRunning = (outcome: CallOutcome): CallOutcome =>
  outcome.ok ? outcome : { ...outcome, stillRuns: true };

/** Resolves when the handler of a call that has ended returns. */
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
  clearTimeout(timer);
  if (warned) log.info("a handler returned after its call had ended; its slot is free", fields);
}
