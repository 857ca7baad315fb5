import type { Kysely } from "kysely";
import type { AuditEntry } from "../ports/records.ts";
import type { AuditRow, AuditStore } from "../ports/stores.ts";
import { fromJson, present, toJson } from "./columns.ts";
import { sortableId } from "./sortable-id.ts";
import type { AuditTableRow, Engine, Schema } from "./schema.ts";

export function auditStore(engine: Engine): AuditStore {
  return {
    record: (entries) => insertAudit(engine, engine.db, entries),

    async list({ agentId, runId, limit }) {
      let query = engine.db.selectFrom("audit").selectAll().where("agent_id", "=", agentId);
      if (runId !== undefined) query = query.where("run_id", "=", runId);
      const rows = await query.orderBy("created_at", "desc").orderBy("id", "desc").limit(limit).execute();
      return rows.map(toAuditRow);
    },
  };
}

type Author = { orgId: string } & Partial<Pick<AuditEntry, "agentId" | "runId" | "keyId" | "role">>;

/** Appends entries. What an entry does not say of itself is taken from the run it belongs to. */
export function insertAudit(
  engine: Engine,
  db: Kysely<Schema>,
  entries: readonly AuditEntry[],
  run: Author,
): Promise<void>;
export function insertAudit(
  engine: Engine,
  db: Kysely<Schema>,
  entries: readonly (AuditEntry & { orgId: string })[],
): Promise<void>;
export async function insertAudit(
  { dialect }: Engine,
  db: Kysely<Schema>,
  entries: readonly (AuditEntry & { orgId?: string })[],
  run?: Author,
): Promise<void> {
  if (entries.length === 0) return;
  const rows = entries.map((entry) => {
    const about = { ...run, ...entry };
    return {
      id: sortableId("aud"),
      org_id: about.orgId ?? "",
      agent_id: about.agentId ?? null,
      run_id: about.runId ?? null,
      call_id: about.callId ?? null,
      action: about.action,
      role: about.role ?? null,
      key_id: about.keyId ?? null,
      function_name: about.functionName ?? null,
      rule: about.rule ?? null,
      detail: about.detail ? toJson(about.detail) : null,
      created_at: dialect.now,
    };
  });
  await db.insertInto("audit").values(rows).execute();
}

function toAuditRow(row: AuditTableRow): AuditRow {
  return {
    id: row.id,
    at: row.created_at,
    action: row.action,
    ...present({
      agentId: row.agent_id,
      runId: row.run_id,
      callId: row.call_id,
      role: row.role,
      keyId: row.key_id,
      functionName: row.function_name,
      rule: row.rule,
      detail: row.detail === null ? null : fromJson(row.detail),
    }),
  };
}
