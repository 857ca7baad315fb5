import { type CallFrame, type CallOutcome, isProvisional } from "@patchbay/protocol";
import { argumentsHash } from "../approval.ts";
import { CHANGED, FORGED } from "./outcomes.ts";

/** What is remembered of a call that ended here. */
export interface Claim {
  /** The function and the role. A result is for the role it was made for only. */
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

/** The refusal of a call that does not fit what is remembered of its id. */
export function forgeryOf(claim: Claim, frame: CallFrame): CallOutcome | undefined {
  if (claim.of !== claimOf(frame).of) return FORGED;
  const asked = claim.argumentsHash;
  return asked !== undefined && asked !== argumentsHash(frame.arguments) ? CHANGED : undefined;
}
