import type { AuditEntry } from "../records.ts";
import type { Page, PageAsked } from "./page.ts";

/** A stored audit entry. */
export interface AuditRow extends AuditEntry {
  id: string;
  at: number;
}

/** An entry with the cursor that continues after it. */
export type SettledRow = AuditRow & { cursor: string };

/** Filters audit entries. All given properties must match. */
export interface AuditFilter {
  agentId?: string;
  /** Only administrative changes in the organisation and its agents, without runs and queries. */
  orgId?: string;
  runId?: string;
  role?: string;
  functionName?: string;
  /** An action (`call.denied`) or its first part (`call`). */
  action?: string;
  /** Inclusive; milliseconds by the database's clock. */
  since?: number;
  /** Exclusive. */
  until?: number;
}

/** A page with audit entries. */
export type AuditPage = Page<AuditRow>;

/** The audit log. Entries are only added, and deleted by age. */
export interface AuditStore {
  record(entries: readonly (AuditEntry & { orgId: string })[]): Promise<void>;
  /**
   * An organisation's entries, oldest first, up to 10 s ago: later ones may still get a predecessor. `cursor` continues
   * after an entry. Throws `invalid_request` for an invalid cursor.
   */
  settled(orgId: string, asked: Pick<AuditFilter, "since" | "until"> & PageAsked): Promise<SettledRow[]>;
  /** Newest first. Throws `invalid_request` for an invalid cursor. */
  list(filter: AuditFilter & PageAsked): Promise<AuditPage>;
}
