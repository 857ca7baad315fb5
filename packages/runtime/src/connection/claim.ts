import { type CallFrame, type CallOutcome, isProvisional } from "@patchbay/protocol";
import { argumentsHash } from "@patchbay/protocol/arguments-hash";
import { failure } from "../errors.ts";

export const TIMED_OUT = failure("timed_out", "The function was not started in time.");
export const CANCELLED = failure("cancelled", "The call was cancelled before it started.");
export const FORGOTTEN = failure(
  "outcome_unknown",
  "The function ran and its result was acknowledged. The runtime no longer has the result.",
);
/** For an id that may have been forgotten. The answer "unseen" would make the control plane deliver the call again. */
export const MAY_BE_FORGOTTEN = failure(
  "outcome_unknown",
  "The function may have run: the runtime no longer remembers calls of that time.",
);
const FORGED = failure("denied", "The id of this call belongs to another call.", "redelivery");
const CHANGED = failure(
  "denied",
  "The arguments of this call are not those that it waits with for an approval.",
  "approval",
);

/** What is remembered about a call that ended here. */
export interface Claim {
  /** The function and the role. A result is only for its own role. */
  of: string;
  /** The attempt that ended so that a higher one may run here. Undefined if the call is over. */
  repeatsAfter?: number;
  /** Hash of the arguments that a person decides on. */
  argumentsHash?: string;
}

export function claimOf({ function: name, role, attempt, arguments: given }: CallFrame, outcome?: CallOutcome): Claim {
  const of = JSON.stringify([name, role]);
  if (outcome === undefined || outcome.ok || !isProvisional(outcome)) return { of };
  const asks = outcome.code === "approval_required";
  return { of, repeatsAfter: attempt, ...(asks && { argumentsHash: argumentsHash(given) }) };
}

/** The refusal for a call that does not fit the remembered data for its id. */
export function forgeryOf(claim: Claim, frame: CallFrame): CallOutcome | undefined {
  if (claim.of !== claimOf(frame).of) return FORGED;
  const asked = claim.argumentsHash;
  return asked !== undefined && asked !== argumentsHash(frame.arguments) ? CHANGED : undefined;
}
