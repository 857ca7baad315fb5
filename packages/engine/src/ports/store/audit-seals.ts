import type { Budget } from "./upkeep.ts";

/** An organisation's audit chain. Heads are SHA-256, hexadecimal. */
export interface AuditChain {
  /** The last seal; 0 before the first one. */
  seq: number;
  head: string;
  /** Sealed entries, deleted ones included. */
  entries: number;
  /** When the last sealed entry was written; 0 without one. */
  sealedTo: number;
  /** The last seal whose entries retention has deleted; seq 0 without one. */
  deleted: { seq: number; head: string; entries: number; to: number };
  /** Entries that are not sealed yet. */
  unsealed: number;
}

/** A seal and the entries that the log now has for it. */
export interface CheckedSeal {
  seq: number;
  /** The previous seal's head. */
  before: string;
  head: string;
  entries: number;
  to: { at: number; id: string };
  content: string;
  /** The entries as hashed, in order: `line` is a JSON array with the columns, `digest` its SHA-256. */
  found: { line: string; digest: string; agentId: string | null }[];
  /** Changes made after sealing, one sentence each. */
  faults: string[];
}

/** The last item in a check. */
export interface ChainEnd {
  /** Faults at the chain's beginning and end, one sentence each. */
  faults: string[];
  /** What a reader should know about deletions, one sentence each. */
  notes: string[];
  /** The retention that the last deletion by age used. Absent without such a deletion, or if it was not recorded. */
  days?: number;
}

/** A chain's head on a day. */
export interface NotedHead {
  orgId: string;
  /** `SEQ:HASH`. */
  head: string;
  /** Sealed entries, deleted ones included. */
  entries: number;
  /** ISO time at which the last one was written. */
  sealedTo: string;
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
   * Seals entries that no open transaction can precede any more, and returns their number. `budget`: default unlimited.
   * Replicas may seal at the same time. `orgId`: only this organisation. `settleMs`: how far the database's clock may
   * be set back; default 10 s.
   */
  seal(options?: { budget?: Budget; settleMs?: number; orgId?: string; signal?: AbortSignal }): Promise<number>;
  chain(orgId: string): Promise<AuditChain>;
  /**
   * Checks the chain, seal by seal from the oldest kept one. The last item reports on its beginning, its end and
   * deletions.
   */
  check(orgId: string): AsyncIterable<CheckedSeal | ChainEnd>;
  /**
   * Notes the heads that were not noted today (UTC), each at one replica only, and returns them. An agent with a
   * webhook gets a delivery in the same transaction.
   */
  noteHeads(): Promise<NotedHead[]>;
  /** Calls by function and role. `since` counts from the beginning of its day (UTC). */
  use(agentId: string, since: number): Promise<UseOfFunction[]>;
}
