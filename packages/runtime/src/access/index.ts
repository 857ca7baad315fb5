/** The access that a service's code gives: the matrix, its lock file, changes, and the reason for a decision on one call. */
export { NO_ROLE, type AccessChange, type FlowPair } from "@patchbay/access";
export { explainAccess, type AccessExplanation, type AccessQuestion } from "./explain.ts";
export { compareAccess, lockOf, parseLock, writeLock, type Fingerprint, type LockOptions } from "./lock.ts";
export type { AccessLock, CaseDecision, LockedCell, LockedFunction } from "@patchbay/protocol";
export {
  accessMatrix,
  type AccessMatrix,
  type AllowedCell,
  type ApprovalCell,
  type CaseVerdict,
  type Cell,
  type ConditionalCell,
  type FlowHolder,
  type FunctionRow,
  type HiddenCell,
} from "./matrix.ts";
export { findForbidden, findUnrefused, parseNever, type NeverList } from "./never.ts";
export { renderMatrix } from "./render.ts";
export { whatIf, type JudgedCall, type WhatIfChange, type WhatIfReport } from "./what-if.ts";
