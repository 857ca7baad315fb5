import { sql, type Expression, type ExpressionBuilder, type SqlBool } from "kysely";
import type { AuditEntry } from "../ports/records.ts";
import type { AuditFilter, AuditRow, AuditStore } from "../ports/stores.ts";
import type { AuditTableRow } from "./audit-row.ts";
import { fromJson, present, toJson } from "./columns.ts";
import { parseCursor, toCursor } from "./page-cursor.ts";
import { sortableId } from "./sortable-id.ts";
import type { Engine, Schema } from "./schema.ts";
import { insertion } from "./statement.ts";
import { transact } from "./transact.ts";

export function auditStore(engine: Engine): AuditStore {
  return {
    record: (entries) => transact(engine, (trx) => insertAudit(trx, entries)),

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

/** Which entries are wanted, by whatever the filter names. */
export function matches({ agentId, orgId, runId, role, functionName, action, since, until }: AuditFilter) {
  return (eb: ExpressionBuilder<Schema, "audit">): Expression<SqlBool> => {
    const all: Expression<SqlBool>[] = [];
    if (agentId !== undefined) all.push(eb("agent_id", "=", agentId));
    if (orgId !== undefined)
      all.push(eb("org_id", "=", orgId), eb("run_id", "is", null), eb("action", "not like", "query.%"));
    if (runId !== undefined) all.push(eb("run_id", "=", runId));
    if (role !== undefined) all.push(eb("role", "=", role));
    if (functionName !== undefined) all.push(eb("function_name", "=", functionName));
    if (action !== undefined) all.push(eb.or([eb("action", "=", action), beginsWith(`${action}.`)]));
    if (since !== undefined) all.push(eb("created_at", ">=", since));
    if (until !== undefined) all.push(eb("created_at", "<", until));
    return eb.and(all);
  };
}

/** `like` would read signs in the prefix, and minds capitals in one database only. */
const beginsWith = (prefix: string) =>
  sql<SqlBool>`substr(action, 1, length(cast(${prefix} as text))) = cast(${prefix} as text)`;

type Author = { orgId: string } & Partial<Pick<AuditEntry, "agentId" | "runId" | "keyId" | "role">>;

/** Appends entries. What an entry does not say of itself is taken from the run it belongs to. */
export function insertAudit(trx: Engine, entries: readonly AuditEntry[], run: Author): Promise<void>;
export function insertAudit(trx: Engine, entries: readonly (AuditEntry & { orgId: string })[]): Promise<void>;
export async function insertAudit(
  trx: Engine,
  entries: readonly (AuditEntry & { orgId?: string })[],
  run?: Author,
): Promise<void> {
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
    };
  });
  await insertRows(trx, rows);
}

const insertRows = insertion((rows: Omit<AuditTableRow, "created_at">[], { db, dialect }) =>
  db.insertInto("audit").values(rows.map((row) => ({ ...row, created_at: dialect.now }))),
);

export function toAuditRow(row: AuditTableRow): AuditRow {
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
