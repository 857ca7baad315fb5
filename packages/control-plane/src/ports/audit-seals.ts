/** The chain of an organisation's audit log. Heads are SHA-256, hexadecimal. */
export interface AuditChain {
  /** The last seal; 0 before the first one. */
  seq: number;
  head: string;
  /** Sealed entries, deleted ones included. */
  entries: number;
  /** The time of the last sealed entry; 0 without one. */
  sealedTo: number;
  /** The last seal whose entries are deleted, because they were older than their retention; seq 0 without one. */
  deleted: { seq: number; head: string; entries: number; to: number };
  /** Entries that are not sealed yet. */
  unsealed: number;
}

/** A seal and the entries that the log has in its place. */
export interface CheckedSeal {
  seq: number;
  /** The head of the seal before. */
  before: string;
  head: string;
  entries: number;
  to: { at: number; id: string };
  content: string;
  /** The entries as they were hashed, in order: `line` is a JSON array of columns, `digest` its SHA-256. */
  found: { line: string; digest: string; agentId: string | null }[];
  /** What was changed after the sealing. One sentence for each. */
  faults: string[];
}

/** How often a role called a function, and with which outcome. */
export interface UseOfFunction {
  functionName: string;
  /** Null for queries without a role. */
  role: string | null;
  /** `called`, or the rule that denied the calls. */
  outcome: string;
  /** In the period. */
  calls: number;
  /** In the whole log. */
  allCalls: number;
  lastAt: number;
}

/** Seals the audit log in batches, and sums its calls. */
export interface AuditSealStore {
  /**
   * Seals entries that no open transaction can precede any more, for about `budgetMs` (default: all), and returns their number.
   * Replicas may seal at the same time. `orgId`: only of this organisation. `settleMs`: by how much the clock of the database may
   * be set back; default 10 s.
   */
  seal(options?: { budgetMs?: number; settleMs?: number; orgId?: string; signal?: AbortSignal }): Promise<number>;
  chain(orgId: string): Promise<AuditChain>;
  /** Checks the chain, seal by seal from the oldest kept one. The last item has the faults of the chain's end. */
  check(orgId: string): AsyncIterable<CheckedSeal | { faults: string[] }>;
  /** Calls of an agent's functions by role. `since` counts from the beginning of its day (UTC). */
  use(agentId: string, since: number): Promise<UseOfFunction[]>;
}
