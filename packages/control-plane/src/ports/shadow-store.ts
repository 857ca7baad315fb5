import type { StoredCall } from "@patchbay/protocol";

/** A connected candidate of an agent. */
export interface Candidate {
  agentId: string;
  orgId: string;
  connectionId: string;
  service: string;
  manifestHash: string;
}

/** Where the comparison of an agent's calls has arrived. */
export interface Position {
  at: number;
  id: string;
}

/** A call on which the candidate decides differently. The decisions name the rule of a refusal: `denied (authorize)`. */
export interface Difference extends Pick<StoredCall, "functionName" | "role" | "runId"> {
  was: string;
  is: string;
}

/** What one step of the comparison found. */
export interface ShadowStep {
  /** The last call of the step. */
  position: Position;
  judged: number;
  /** Calls that the candidate did not decide in time. */
  unanswered: number;
  differences: readonly Difference[];
}

/** The comparison of an agent's calls with a candidate. One connection has its lease at a time. */
export interface ShadowStore {
  /** Takes the lease for a new connection. Another function set than before resets the counts and begins with the next call. */
  begin(candidate: Candidate, leaseMs: number): Promise<void>;
  /**
   * Renews the lease, or takes an expired one of the same function set. Returns the position, or undefined while another
   * connection has the lease.
   */
  hold(candidate: Candidate, leaseMs: number): Promise<Position | undefined>;
  /** Ends the lease of a closed connection. */
  end(candidate: Candidate): Promise<void>;
  /** Ended calls after a position, the oldest first. Calls that ended in the last `settleMs` may still be stored, and come later. */
  endedAfter(
    candidate: Candidate,
    position: Position,
    options: { limit: number; settleMs: number },
  ): Promise<{ calls: StoredCall[]; position: Position | undefined }>;
  /** Skips the calls after a position that ended longer ago, and counts them as dropped. Returns their number. */
  skip(candidate: Candidate, position: Position, olderThanMs: number): Promise<number>;
  /** Adds the step to the counts. Nothing is stored once another connection has the lease. */
  record(candidate: Candidate, step: ShadowStep): Promise<void>;
}
