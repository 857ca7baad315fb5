import type { Budget } from "../budget.ts";

/** How many days rows are kept. */
export interface Retention {
  /** Ended runs, and threads, sessions, runtimes and function sets without references afterwards. */
  days: number;
  /** Audit entries. Default 365. */
  auditDays: number;
  /** Single usage rows and credit movements. Older ones become sums per day. Default 90. */
  usageDays: number;
}

/** Options for `Store.sweep`. */
export interface SweepOptions {
  /** Default: the service's budget. */
  budget?: Budget;
  /** Ends the sweep between two statements. The next sweep does the rest. */
  signal?: AbortSignal;
  /** Called for each part that fails. Without it, the first failure is thrown after the last part. */
  failed?: (part: string, error: unknown) => void;
}
