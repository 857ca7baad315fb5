/** Access as the code of a service states it: the matrix, its lock file, what changed, and why one call would pass or not. */
export { compareAccess, type AccessChange } from "./compare.ts";
export { explainAccess, type AccessExplanation, type AccessQuestion } from "./explain.ts";
export { lockOf, parseLock, writeLock, type AccessLock, type LockedCell } from "./lock.ts";
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
