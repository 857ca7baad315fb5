import type { AuditEntry } from "./records.ts";

/** A stored audit entry. */
export interface AuditRow extends AuditEntry {
  id: string;
  at: number;
}

/** An entry with the cursor that continues after it. */
export type SettledRow = AuditRow & { cursor: string };

/** A filter of audit entries. All given properties must match. */
export interface AuditFilter {
  agentId?: string;
  /** Administrative changes in the organisation and its agents: no entries of runs and queries. */
  orgId?: string;
  runId?: string;
  role?: string;
  functionName?: string;
  /** An action (`call.denied`) or the first part of several (`call`). */
  action?: string;
  /** Inclusive; milliseconds of the database's clock. */
  since?: number;
  /** Exclusive. */
  until?: number;
}

/** One page of audit entries. */
export interface AuditPage {
  items: AuditRow[];
  nextCursor: string | null;
}

/** The audit log. Entries are only added, and deleted by age. */
export interface AuditStore {
  record(entries: readonly (AuditEntry & { orgId: string })[]): Promise<void>;
  /**
   * Entries of an organisation, oldest first, as far as none can appear before them: those of the last 10 s are left out. `cursor`
   * continues after an entry. Throws `invalid_request` for an invalid cursor.
   */
  settled(
    orgId: string,
    asked: { since?: number; until?: number; cursor?: string; limit: number },
  ): Promise<SettledRow[]>;
  /** Newest first. Throws `invalid_request` for an invalid cursor. */
  list(filter: AuditFilter & { limit: number; cursor?: string }): Promise<AuditPage>;
}
