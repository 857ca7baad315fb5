import type { CallOutcome } from "@patchbay/protocol";

export const TIMED_OUT: CallOutcome = {
  ok: false,
  code: "timed_out",
  message: "The function was not started in time.",
};
export const CANCELLED: CallOutcome = {
  ok: false,
  code: "cancelled",
  message: "The call was cancelled before it started.",
};
export const FORGOTTEN: CallOutcome = {
  ok: false,
  code: "outcome_unknown",
  message: "The function ran and its result was acknowledged. The runtime no longer has the result.",
};

/** For an id that may have been forgotten. The answer "unseen" would make the control plane deliver the call again. */
export const MAY_BE_FORGOTTEN: CallOutcome = {
  ok: false,
  code: "outcome_unknown",
  message: "The function may have run: the runtime no longer remembers calls of that time.",
};

export const FORGED: CallOutcome = {
  ok: false,
  code: "denied",
  message: "The id of this call belongs to another call.",
  rule: "redelivery",
};

export const CHANGED: CallOutcome = {
  ok: false,
  code: "denied",
  message: "The arguments of this call are not those that it waits with for an approval.",
  rule: "approval",
};
