import type { AuditRow } from "@patchbay/engine/ports/store/audit";
import { bigint, json, recordColumns, type RowOf, text } from "./table.ts";

/** The audit log, its seals, and its call sums. */
export interface AuditTables {
  audit: AuditTableRow;
  audit_chains: AuditChainRow;
  audit_seals: AuditSealRow;
  audit_heads: AuditHeadRow;
  audit_use: AuditUseRow;
}

const ENTRY = {
  id: text("id"),
  orgId: text("org_id"),
  agentId: text("agent_id"),
  runId: text("run_id"),
  callId: text("call_id"),
  action: text("action"),
  role: text("role"),
  keyId: text("key_id"),
  functionName: text("function_name"),
  rule: text("rule"),
  manifestHash: text("manifest_hash"),
  detail: json("detail"),
};
const STORED = { ...ENTRY, at: bigint("created_at") };

type NewEntry = Omit<AuditRow, "at"> & { orgId: string };

/** An audit log entry. */
export type AuditTableRow = RowOf<NewEntry & { at: number }, typeof STORED>;
/** Without the time. Seals hash the columns in this order. */
export const entryColumns = recordColumns<NewEntry>()(ENTRY);
export const auditColumns = recordColumns<NewEntry & { at: number }>()(STORED);

/** One row per organisation: its last seal, and the last with deleted entries (`base_`). Queries do not change it. */
export interface AuditChainRow {
  org_id: string;
  seq: number;
  head: string;
  to_at: number;
  to_id: string;
  entries: number;
  base_seq: number;
  base_head: string;
  base_at: number;
  base_id: string;
  base_entries: number;
}

/** A seal: the hash over a batch of entries, up to the entry `to_at`, `to_id`, and over the previous seal. */
export interface AuditSealRow {
  org_id: string;
  seq: number;
  head: string;
  entries: number;
  content: string;
  /** The prefixes of the entry digests, in order. They locate a change that `content` shows. */
  digests: string;
  to_at: number;
  to_id: string;
  sealed_at: number;
}

/** The last head written to the log and to webhooks, on `day` (days since the epoch, UTC). */
export interface AuditHeadRow {
  org_id: string;
  day: number;
  seq: number;
  head: string;
}

/** The sum of a day's sealed calls (UTC). */
export interface AuditUseRow {
  org_id: string;
  agent_id: string;
  day: number;
  function_name: string;
  /** '' for none. */
  role: string;
  /** `called`, or the rule that denied the calls. */
  outcome: string;
  calls: number;
  last_at: number;
}
