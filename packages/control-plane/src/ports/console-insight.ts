import type { AuditFilter, AuditRow } from "./stores.ts";

/** Whose queries, and when: `from` is in it, `to` is not. */
export interface FiguresOf {
  orgId: string;
  /** Without it, all agents of the organisation, deleted ones too. */
  agentId?: string;
  role?: string;
  /** Milliseconds of the database's clock. */
  from: number;
  to: number;
}

/** Steps of one width that cover a stretch of time. */
export interface Buckets {
  /** When the first one begins: at `from`, or before it. */
  firstAt: number;
  widthMs: number;
  count: number;
}

/** Percentiles are within 5 %, of queries that ended; null where none did. */
export interface Figures {
  succeeded: number;
  failed: number;
  cancelled: number;
  p50Ms: number | null;
  p95Ms: number | null;
  p99Ms: number | null;
  inputTokens: number;
  outputTokens: number;
  costMicros: number;
}

export interface ModelFigures {
  provider: string;
  model: string;
  turns: number;
  inputTokens: number;
  cachedInputTokens: number;
  cacheWriteInputTokens: number;
  outputTokens: number;
  costMicros: number;
  /** Cost in each bucket. */
  costsMicros: number[];
}

/** Of calls that ended. Times are from the intent to the stored result, of calls that were not denied. */
export interface CalledFunction {
  name: string;
  calls: number;
  failed: number;
  denied: number;
  p50Ms: number | null;
  p95Ms: number | null;
  totalMs: number;
}

export interface RoleFigures {
  role: string | null;
  queries: number;
  failed: number;
  costMicros: number;
}

/** A query counts where it was accepted, its tokens where its turns ended, a call where it ended. */
export interface QueryFigures {
  totals: Figures;
  buckets: Figures[];
  /** Dearest first, then most turns. */
  models: ModelFigures[];
  /** Most called first. */
  functions: CalledFunction[];
  /** Most queries first. */
  roles: RoleFigures[];
}

export interface AnalyticsReads {
  queries(of: FiguresOf, buckets: Buckets): Promise<QueryFigures>;
}

/** An entry with the name of the member that did it, or else the address, where a member did. */
export type NamedAuditRow = AuditRow & { member?: string };

export interface AuditReads {
  /** Entries of the organisation, newest first. Throws `invalid_request` for a cursor that no page gave. */
  list(
    orgId: string,
    filter: Omit<AuditFilter, "orgId"> & { limit: number; cursor?: string },
  ): Promise<{ items: NamedAuditRow[]; nextCursor: string | null }>;
}

/** Micro-USD. Days are of 24 h in UTC, counted from 1970-01-01. */
export interface CreditDay {
  day: number;
  /** What turns cost; not what is held for turns under way. */
  spentMicros: number;
  grantedMicros: number;
  /** At the day's end, or now. */
  balanceMicros: number;
}

export interface LedgerRow {
  id: string;
  at: number;
  kind: "grant" | "hold" | "settle" | "release";
  micros: number;
  runId: string | null;
  agentId: string | null;
  step: number | null;
}

export interface CreditReads {
  /** Every day from the one to the other, both included, oldest first, as far as they are not in the future. */
  days(orgId: string, fromDay: number, toDay: number): Promise<CreditDay[]>;
  /** What is held for turns under way. */
  heldMicros(orgId: string): Promise<number>;
  /** What was spent, and is held, since then. */
  spentMicros(orgId: string, since: number): Promise<number>;
  /** Newest first. Throws `invalid_request` for a cursor that no page gave. */
  ledger(
    orgId: string,
    page: { kind?: LedgerRow["kind"]; limit: number; cursor?: string },
  ): Promise<{ items: LedgerRow[]; nextCursor: string | null }>;
}
