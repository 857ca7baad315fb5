import type { Feedback } from "@patchbay/protocol";
import type { RunRecord, RunTrace } from "./records.ts";

/** What is noted about runs outside of their logs. */
export interface RunNotes {
  /** Notes that a run repeats another one, for the page of the other one. */
  recordRerun(rerun: { originId: string; runId: string; orgId: string }): Promise<void>;

  /** Notes which segment of the run is the newest, for the next owner. Nothing changes when the fence is old. */
  recordSegment(of: { runId: string; fence: number }, trace: RunTrace): Promise<void>;

  /** Leaves the run to a later request of its client, which takes it by the same name: its outcome was not returned yet. */
  leave(run: { agentId: string; runId: string }, name: string): Promise<void>;

  /**
   * Takes a run that was left under the name, once: the oldest one that does not wait for an approval, else the oldest. Undefined 24 h
   * after its end, and for a run that was cancelled.
   */
  takeLeft(agentId: string, name: string): Promise<Pick<RunRecord, "runId" | "agentId" | "threadId"> | undefined>;

  /** Stores what a key or a member says about a run, in place of what it said before. */
  recordFeedback(of: { runId: string; orgId: string; keyId: string }, feedback: Feedback): Promise<void>;

  /** Deletes what a key or a member said about a run, if anything. */
  deleteFeedback(of: { runId: string; orgId: string; keyId: string }): Promise<void>;
}
