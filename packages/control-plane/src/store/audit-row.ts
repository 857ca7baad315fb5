import type { JsonObject } from "@patchbay/protocol";
import type { Json } from "./columns.ts";

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
