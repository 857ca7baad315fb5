import { type CallOutcome, type FunctionManifest } from "@patchbay/protocol";
import { present } from "@patchbay/kit";
import type { Delivery } from "../../ports/function-gateway.ts";
import { type CallRecord, type EarlierAttempt, isUnsure, type RunRecord, startedBefore } from "../../ports/records.ts";
import { callFailure } from "../../ports/refusal.ts";
import { NOT_RUN, notRun } from "./limits.ts";

/** Attempts for a function that may run twice, unless it has `retries`. */
const MAX_STARTS = 3;
/** As `MAX_STARTS`, for a detached function: each start may take hours. */
const DETACHED_STARTS = 2;
/**
 * A call is offered to one runtime after another with growing pauses. Without a limit a call that no runtime accepts
 * would block the run.
 */
const MAX_OFFERS = 10;
/**
 * Time for offers over all calls in a run: when no runtime has accepted calls for so long, a later turn would fail too.
 */
const OFFERS_MS = 12_000;
/** Offers that each call gets even after that time. */
const MIN_OFFERS = 2;

const UNKNOWN_OUTCOME = callFailure(
  "outcome_unknown",
  "The function may have run: its connection was lost before it answered. Do not call it again; check or report.",
);
const NOT_ACCEPTED = notRun("no runtime accepted the call.", NOT_RUN.notTaken);
const GONE = notRun("it does not exist any more.", NOT_RUN.changed);

/** How an attempt ended that another one may follow. */
export type AttemptEnd = Pick<EarlierAttempt, "ended" | "message" | "flow" | "retryAfterMs">;

/**
 * What follows a delivery: the call's outcome, or another attempt. Each delivered attempt starts the handler at most
 * once and is stored before it is sent, so that the limit on handler starts holds across lost replicas and runtimes.
 */
export function afterDelivery(
  call: CallRecord,
  delivery: Exclude<Delivery, { kind: "running" }>,
  { manifest, remainingMs, offeredMs }: { manifest: FunctionManifest; remainingMs: number; offeredMs: number },
): { outcome: CallOutcome } | { again: AttemptEnd } {
  const mayRepeat = startsOf(call) < mostStarts(manifest);
  if (delivery.kind === "undelivered") {
    const offers = offersOf(call);
    const over = offers >= MAX_OFFERS || (offers >= MIN_OFFERS && offeredMs > OFFERS_MS);
    return over ? { outcome: outcomeSoFar(call) ?? NOT_ACCEPTED } : { again: { ended: "undelivered" } };
  }
  // Repeating a handler that may have run could, for example, refund an order twice.
  if (delivery.kind === "unknown") return mayRepeat ? { again: { ended: "unknown" } } : { outcome: UNKNOWN_OUTCOME };
  if (delivery.outcome.ok) return delivery;
  const { retryAfterMs, stillRuns: _, ...outcome } = delivery.outcome;
  // The runtime no longer has the result. Its answer to an unsure attempt is what the owner's code found out.
  if (outcome.code === "outcome_unknown" && manifest.reconciles && !isUnsure(call) && mayRepeat)
    return { again: { ended: "unknown" } };
  const isRetry = manifest.retries !== undefined && outcome.code === "function_failed" && mayRepeat;
  if (retryAfterMs === undefined || !isRetry || retryAfterMs >= remainingMs) return { outcome };
  const { message, flow } = outcome;
  return { again: { ended: "failed", message, retryAfterMs, ...present({ flow }) } };
}

/**
 * What a runtime knows about an open call. A failed run's end cancels its calls, and acknowledges their results: for
 * the retry, neither says whether the call took effect.
 */
export function recovered(answer: Delivery, { request: { retryOf } }: Pick<RunRecord, "request">): Delivery {
  if (answer.kind !== "outcome" || answer.outcome.ok || !retryOf) return answer;
  const { code } = answer.outcome;
  return code === "cancelled" || code === "outcome_unknown" ? { kind: "unknown" } : answer;
}

/** How often the function's handler may start for one call. */
function mostStarts({ effect, idempotent, retries, reconciles, detached }: FunctionManifest): number {
  if (!idempotent && !reconciles && !(effect === "read" && retries)) return 1;
  return retries?.max ?? (detached ? DETACHED_STARTS : MAX_STARTS);
}

/** Attempts that may have started the handler, the current one included. */
const startsOf = (call: CallRecord): number => startedBefore(call).length + 1;

/** Offers of the call since an attempt was last accepted, the current one included. */
const offersOf = ({ earlier = [] }: CallRecord): number =>
  earlier.length - earlier.findLastIndex(({ ended }) => ended !== "undelivered");

/** The second offer follows without a pause: another runtime is usually connected. */
export function offerPauseMs(call: CallRecord): number {
  const offers = offersOf(call);
  return offers === 1 ? 0 : Math.min(2_000, 25 * 2 ** offers);
}

/** The outcome for a call without further attempts: from the last attempt that may have run. Undefined if none did. */
export function outcomeSoFar(call: CallRecord): CallOutcome | undefined {
  const last = startedBefore(call).at(-1);
  if (last?.ended !== "failed") return last && UNKNOWN_OUTCOME;
  const { message = "The function failed.", flow } = last;
  return { ...callFailure("function_failed", message), ...present({ flow }) };
}

/**
 * The outcome for an open call that a retry continues, and whose function its role no longer has. A call that waited
 * for an approval did not start.
 */
export const goneOutcome = ({ approval, earlier }: CallRecord): CallOutcome =>
  approval && !earlier ? GONE : UNKNOWN_OUTCOME;

/** Begins the next attempt and notes how the last one ended. */
export function nextAttempt(call: CallRecord, end: AttemptEnd, endedAt: number): void {
  const { attempt, instanceId, sentAt } = call;
  const last = { attempt, instanceId: instanceId!, ...present({ sentAt }), endedAt, ...end };
  call.earlier = [...(call.earlier ?? []), last];
  delete call.sentAt;
  delete call.runsUntil;
  call.attempt++;
}

/** How long the next attempt waits before it is delivered. At most the whole pause, if the clock was set back. */
export function pauseLeftMs(call: CallRecord, now: number): number {
  const { endedAt = 0, retryAfterMs = 0 } = startedBefore(call).at(-1) ?? {};
  return Math.min(retryAfterMs, Math.max(0, endedAt + retryAfterMs - now));
}
