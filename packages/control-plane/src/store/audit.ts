import type { Expression, ExpressionBuilder, Kysely, SqlBool } from "kysely";
import type { AuditEntry } from "../ports/records.ts";
import type { AuditFilter, AuditRow, AuditStore } from "../ports/stores.ts";
import { fromJson, present, toJson } from "./columns.ts";
import { inBatches } from "./in-batches.ts";
import { parseCursor, toCursor } from "./page-cursor.ts";
import { sortableId } from "./sortable-id.ts";
import type { AuditTableRow, Engine, Schema } from "./schema.ts";

export function auditStore(engine: Engine): AuditStore {
  return {
    record: (entries) => insertAudit(engine, engine.db, entries),

    async list({ limit, cursor, ...filter }) {
      let query = engine.db.selectFrom("audit").selectAll().where(matches(filter));
      if (cursor !== undefined) {
        const last = parseCursor(cursor);
        query = query.where((eb) =>
          eb.or([eb("created_at", "<", last.at), eb.and([eb("created_at", "=", last.at), eb("id", "<", last.id)])]),
        );
      }
      const rows = await query
        .orderBy("created_at", "desc")
        .orderBy("id", "desc")
        .limit(limit + 1)
        .execute();
      const items = rows.slice(0, limit).map(toAuditRow);
      const last = items.at(-1);
      return { items, nextCursor: rows.length > limit && last ? toCursor(last) : null };
    },
  };
}

function matches({ agentId, orgId, runId, role, functionName, action, since }: AuditFilter) {
  return (eb: ExpressionBuilder<Schema, "audit">): Expression<SqlBool> => {
    const all: Expression<SqlBool>[] = [];
    if (agentId !== undefined) all.push(eb("agent_id", "=", agentId));
    if (orgId !== undefined)
      all.push(eb("org_id", "=", orgId), eb("run_id", "is", null), eb("action", "not like", "query.%"));
    if (runId !== undefined) all.push(eb("run_id", "=", runId));
    if (role !== undefined) all.push(eb("role", "=", role));
    if (functionName !== undefined) all.push(eb("function_name", "=", functionName));
    if (action !== undefined) all.push(eb.or([eb("action", "=", action), eb("action", "like", `${action}.%`)]));
    if (since !== undefined) all.push(eb("created_at", ">=", since));
    return eb.and(all);
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
      manifest_hash: about.manifestHash ?? null,
      detail: about.detail ? toJson(about.detail) : null,
      created_at: dialect.now,
    };
  });
  await inBatches(rows, (batch) => db.insertInto("audit").values(batch).execute());
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
      manifestHash: row.manifest_hash,
      detail: row.detail === null ? null : fromJson(row.detail),
    }),
  };
}
