import type { Feedback } from "@patchbay/protocol";
import type { RunTrace } from "./records.ts";

/** What is noted about runs outside of their logs. */
export interface RunNotes {
  /** Notes that a run repeats another one, for the page of the other one. */
  recordRerun(rerun: { originId: string; runId: string; orgId: string }): Promise<void>;

  /** Notes which segment of the run is the newest, for the next owner. Nothing changes when the fence is old. */
  recordSegment(of: { runId: string; fence: number }, trace: RunTrace): Promise<void>;

  /** Stores what a key or a member says about a run, in place of what it said before. */
  recordFeedback(of: { runId: string; orgId: string; keyId: string }, feedback: Feedback): Promise<void>;
}
