import type { JsonObject } from "@patchbay/protocol";
import type { Json } from "./columns.ts";

/** The audit log, its seals, and sums of its calls. */
export interface AuditTables {
  audit: AuditTableRow;
  audit_chains: AuditChainRow;
  audit_seals: AuditSealRow;
  audit_use: AuditUseRow;
}

/** An entry of the audit log. */
export interface AuditTableRow {
  id: string;
  org_id: string;
  agent_id: string | null;
  run_id: string | null;
  call_id: string | null;
  action: string;
  role: string | null;
  key_id: string | null;
  function_name: string | null;
  rule: string | null;
  manifest_hash: string | null;
  detail: Json<JsonObject> | null;
  created_at: number;
}

/** One row per organisation: its last seal, and the last one whose entries are deleted (`base_`). Queries do not change it. */
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

/** A seal: the hash of a batch of entries, which ends with the entry `to_at`, `to_id`, and of the seal before. */
export interface AuditSealRow {
  org_id: string;
  seq: number;
  head: string;
  entries: number;
  content: string;
  /** The beginnings of the digests of the entries, in order. They locate a change that `content` shows. */
  digests: string;
  to_at: number;
  to_id: string;
  sealed_at: number;
}

/** The sum of the sealed calls of a day (UTC). */
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
