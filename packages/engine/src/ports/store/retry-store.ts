import type { AuditEntry, RunRecord } from "../records.ts";

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
