import type { StoredCall } from "@patchbay/protocol";

/** An agent's connected candidate. */
export interface Candidate {
  agentId: string;
  orgId: string;
  connectionId: string;
  service: string;
  manifestHash: string;
}

/** How far a comparison has read the agent's calls. */
export interface Position {
  at: number;
  id: string;
}

/** A call that the candidate decides differently. The decisions name the rule that refused it: `denied (authorize)`. */
export interface Difference extends Pick<StoredCall, "functionName" | "role" | "runId"> {
  was: string;
  is: string;
}

/** What one step of the comparison found. */
export interface ShadowStep {
  /** The step's last call. */
  position: Position;
  judged: number;
  /** Calls that the candidate did not decide in time. */
  unanswered: number;
  differences: readonly Difference[];
}

/** Compares an agent's calls with a candidate. One connection holds its lease at a time. */
export interface ShadowStore {
  /** Takes the lease for a new connection. A new function set resets the counts and begins with the next call. */
  begin(candidate: Candidate, leaseMs: number): Promise<void>;
  /**
   * Renews the lease, or takes an expired one for the same function set. Returns the position, or undefined while
   * another connection has the lease.
   */
  hold(candidate: Candidate, leaseMs: number): Promise<Position | undefined>;
  /** Ends a closed connection's lease. */
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
