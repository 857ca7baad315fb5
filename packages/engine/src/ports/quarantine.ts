import type { RunRecord } from "./records.ts";

/** A run in progress at this many crashes is a suspect: it is resumed in quarantine, in a group with other suspects. */
export const SUSPECT_CRASHES = 2;
/** A suspect that was resumed by itself this often, and crashed each time, is not resumed again. */
export const QUARANTINE_CLAIMS = 2;

/** The suspects, and the groups in which they are resumed. */
export interface QuarantineStore {
  /**
   * Claims a group of similar suspects: up to `limit` that have crashed in no group, or half as many as crashed
   * together in a group. First those that crashed by themselves the fewest times. Counts the claim of a single suspect.
   * `waiting`: the remaining suspects.
   */
  claimSuspects(options: {
    owner: string;
    leaseMs: number;
    limit: number;
  }): Promise<{ runs: RunRecord[]; waiting: number }>;

  /** Clears the groups and quarantine claims on runs that `owner` has survived. */
  clearSuspects(owner: string, runIds: readonly string[]): Promise<void>;
}
