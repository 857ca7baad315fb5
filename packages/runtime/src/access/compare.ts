import { type AccessChange, compareAccess as compare } from "@patchbay/access";
import { type AccessLock } from "@patchbay/protocol";
import { COMPARISON_STEPS } from "@patchbay/schema";
import { type Steps } from "@patchbay/kit";

/**
 * Steps for an owner's comparison, about 5 s: 100 times as many as on the control plane, where many tenants share a
 * process.
 */
export const ownersSteps = (): Steps => ({ left: 100 * COMPARISON_STEPS });

/** Every difference between two locks, function by function. What it cannot decide is `unproven`. */
export const compareAccess = (before: AccessLock, after: AccessLock): AccessChange[] =>
  compare(before, after, ownersSteps());
