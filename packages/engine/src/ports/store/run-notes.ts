import type { Feedback } from "@patchbay/protocol";
import type { VisibleTo } from "../callers.ts";
import type { AuditEntry, RunRecord, RunTrace } from "../records.ts";

/** Notes about runs, outside their logs. */
export interface RunNotes {
  /** Notes that a run repeats another one, for the original's page. */
  recordRerun(rerun: { originId: string; runId: string; orgId: string }): Promise<void>;

  /** Notes the run's newest segment, for the next owner. Nothing changes when the fence is old. */
  recordSegment(of: { runId: string; fence: number }, trace: RunTrace): Promise<void>;

  /**
   * Detaches a run whose outcome was not returned yet, so that a later request from its client can reattach to it under
   * the same name.
   */
  detach(run: { agentId: string; runId: string }, name: string): Promise<void>;

  /**
   * Takes a detached run with this name, once: the oldest one that does not wait for an approval, else the oldest.
   * Undefined 24 h after its end, and for a cancelled run.
   */
  reattach(
    agentId: string,
    name: string,
    visibleTo?: VisibleTo,
  ): Promise<Pick<RunRecord, "runId" | "agentId" | "threadId"> | undefined>;

  /** Stores a key's or a member's feedback about a run, replacing its earlier feedback. */
  recordFeedback(of: { runId: string; orgId: string; keyId: string }, feedback: Feedback): Promise<void>;

  /** Deletes a key's or a member's feedback about a run, if any. */
  deleteFeedback(of: { runId: string; orgId: string; keyId: string }): Promise<void>;
}

/** What a retry receives before its first turn. */
type Equipment = Required<Pick<RunRecord, "manifestHash" | "request">> & { audit: AuditEntry[] };

/** Runs that continue failed ones. `RunStore.start` stores them. */
export interface RetryStore {
  /** The thread's newest run. */
  newestOf(agentId: string, threadId: string): Promise<RunRecord | undefined>;

  /** Id of the newest run that retries this one. */
  retriedBy(runId: string): Promise<string | undefined>;

  /** Stores what a retry works with. Throws `LeaseLost` when the fence is old. */
  equip(lease: { runId: string; fence: number }, equipment: Equipment): Promise<void>;
}
