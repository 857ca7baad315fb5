import { failure } from "./errors.ts";
import type { Log } from "./log.ts";

/** A call whose earlier attempt was interrupted, for `reconcile`. */
export interface Interrupted<Input, Context> {
  /** The id that all the call's attempts share, including the interrupted one. */
  readonly callId: string;
  /** The arguments, as the handler receives them. */
  readonly input: Input;
  /** The context, as the handler receives it. */
  readonly context: Context;
}

/** What `reconcile` found out: the call took effect, with this result; it did not; or neither can be known. */
export type Reconciled<Result> = { done: true; result: Result } | { done: false } | "unknown";

/** The outcome for a call that may have run and is not repeated. */
export const MAY_HAVE_RUN = failure(
  "outcome_unknown",
  "The function may have run: an earlier attempt was interrupted, and its outcome is not known. Do not call it again; check or report.",
);

/** The outcome for a call whose handler does not know whether it took effect. */
export const MAY_HAVE_TAKEN_EFFECT = failure(
  "outcome_unknown",
  "The function may have taken effect, and its outcome is not known. Do not call it again; check or report.",
);

/** Asks the owner's code whether the earlier attempt took effect. An error and every other answer count as `unknown`. */
export async function reconciled<Call>(
  reconcile: (call: Call) => unknown,
  call: Call,
  log: Log,
): Promise<Reconciled<unknown>> {
  try {
    const answer: unknown = await reconcile(call);
    if (isAnswer(answer)) return answer;
    log.error("reconcile returned something else than { done: true, result }, { done: false } or unknown");
  } catch (error) {
    log.error("reconcile failed", { error });
  }
  return "unknown";
}

function isAnswer(answer: unknown): answer is Reconciled<unknown> {
  if (answer === "unknown") return true;
  if (typeof answer !== "object" || answer === null || !("done" in answer)) return false;
  return answer.done === false || (answer.done === true && "result" in answer);
}
