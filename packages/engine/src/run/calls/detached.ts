import type { FunctionManifest } from "@patchbay/protocol";
import type { Delivery } from "../../ports/function-gateway.ts";
import type { CallRecord, RunRecord } from "../../ports/records.ts";
import { callFailure } from "../../ports/refusal.ts";
import { withRetry } from "../run-context.ts";
import type { ActiveRun } from "../state.ts";

/** The runtime ends a handler whose time is over. The control plane ends the call this much later. */
const LATE_MS = 10_000;

const TIMED_OUT = callFailure("timed_out", "The function did not answer within its time limit and may still have run.");

/** True for a detached call whose handler runs, as far as its run knows. */
export const isRunning = ({ outcome, runsUntil }: CallRecord): boolean => !outcome && runsUntil !== undefined;

/** How long the call's handler may run from now on. */
export function timeLeftMs(
  { runsUntil }: CallRecord,
  { timeoutMs, detached }: FunctionManifest,
  { clock, remainingMs }: Pick<ActiveRun, "clock" | "remainingMs">,
): number {
  if (!detached) return Math.max(0, Math.min(timeoutMs, remainingMs()));
  return runsUntil === undefined ? timeoutMs : Math.max(0, runsUntil - clock.now());
}

/** Stores that a detached call's handler runs: from then on its result wakes the run. */
export async function noteRunning(
  call: CallRecord,
  { timeoutMs }: FunctionManifest,
  { clock, journal }: Pick<ActiveRun, "clock" | "journal">,
): Promise<void> {
  if (call.runsUntil !== undefined) return;
  const now = clock.now();
  call.sentAt ??= now;
  call.runsUntil = now + timeoutMs + LATE_MS;
  await journal.write({ calls: [call] });
}

/** A runtime that is away for a while still runs its detached handlers, and brings their results when it returns. */
export async function whileAway(
  answer: Delivery,
  { agentId }: RunRecord,
  { runsUntil, instanceId }: CallRecord,
  active: ActiveRun,
): Promise<Delivery> {
  const unanswered = answer.kind === "unknown" || (answer.kind === "outcome" && answer.unanswered);
  if (runsUntil === undefined || !unanswered) return answer;
  if (runsUntil <= active.clock.now()) return { kind: "outcome", outcome: TIMED_OUT, unanswered: true };
  const isGone = await withRetry(() => active.runtimes.isGone(agentId, instanceId!), active);
  return isGone ? answer : { kind: "running" };
}
