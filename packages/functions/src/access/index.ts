/** The access that the code of a service gives: the matrix, its lock file, changes, and the reason for a decision on one call. */
export { compareAccess, type AccessChange } from "./lock.ts";
export { explainAccess, type AccessExplanation, type AccessQuestion } from "./explain.ts";
export { lockOf, parseLock, writeLock } from "./lock.ts";
export type { AccessLock, LockedCell } from "@patchbay/protocol";
export {
  accessMatrix,
  NO_ROLE,
  type AccessMatrix,
  type AllowedCell,
  type CaseVerdict,
  type Cell,
  type ConditionalCell,
  type FunctionRow,
  type HiddenCell,
} from "./matrix.ts";
export { renderMatrix } from "./render.ts";
