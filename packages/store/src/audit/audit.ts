import { settledTo } from "./audit-seals.ts";
import { newestPage, oldestFirst, type PageOf, parseCursor, toCursor } from "../page-cursor.ts";
import { sql, type Expression, type ExpressionBuilder, type SqlBool } from "kysely";
import type { AuditEntry } from "@patchbay/engine/ports/records";
import type { AuditFilter, AuditRow, AuditStore } from "@patchbay/engine/ports/store/audit";
import { type Engine, transact } from "../engine.ts";
import type { Schema } from "../tables/schema.ts";
import { auditColumns, type AuditTableRow, entryColumns } from "../tables/audit.ts";
import { sortableId } from "../columns.ts";
import { present } from "@patchbay/kit";
import { insertion, is } from "../statement.ts";

const NEWEST = { at: "created_at", id: "id" } as const;
/** The frequent actions. A partial index contains all other entries, so that a search for a rare one is fast. */
const USUAL = ["run.started", "run.succeeded", "call.succeeded"];

/** The audit log. */
export function auditStore(engine: Engine): AuditStore {
  return {
    record: (entries) => transact(engine, (trx) => insertAudit(trx, entries)),

    async settled(orgId, { since, until, cursor, limit }) {
      const before = Math.min(await settledTo(engine), until ?? Number.MAX_SAFE_INTEGER);
      let entries = engine.reads.selectFrom("audit").selectAll().where("org_id", "=", orgId);
      entries = entries.where("created_at", "<", before);
      if (since !== undefined) entries = entries.where("created_at", ">=", since);
      const after = cursor === undefined ? undefined : parseCursor(cursor);
      const rows = await oldestFirst(entries, after).limit(limit).execute();
      return rows.map((row) => ({ ...toAuditRow(row), cursor: toCursor({ at: row.created_at, id: row.id }) }));
    },

    async list(asked) {
      const { items, nextCursor } = await auditPage(engine, asked);
      return { items: items.map(toAuditRow), nextCursor };
    },
  };
}

/**
 * One page of entries, newest first. `within`: all the organisation's entries. A search page can be short, even empty,
 * and still have a next one.
 */
export async function auditPage(
  { reads: db }: Engine,
  { limit, cursor, ...filter }: AuditFilter & { limit: number; cursor?: string | undefined },
  within?: string,
): Promise<PageOf<AuditTableRow>> {
  const { found, checked } = conditions(filter);
  let indexed = db.selectFrom("audit").selectAll().where(found);
  if (within !== undefined) {
    indexed = indexed.where("org_id", "=", within);
    if (filter.action !== undefined && !mayBeUsual(filter.action)) indexed = indexed.where(unusual);
  }
  return newestPage(indexed, { limit, cursor }, NEWEST, checked && ((page) => page.where(checked)));
}

type Where = (eb: ExpressionBuilder<Schema, "audit">) => Expression<SqlBool>;

/** `found`: conditions that an index answers. `checked`: conditions that are checked entry by entry, if any. */
function conditions({ agentId, orgId, runId, role, functionName, action, since, until }: AuditFilter): {
  found: Where;
  checked: Where | undefined;
} {
  const found: Where[] = [is(present({ agent_id: agentId, run_id: runId }))];
  const checked: Where[] = [];
  if (orgId !== undefined) {
    found.push(is({ org_id: orgId, run_id: null }));
    checked.push((eb) => eb("action", "not like", "query.%"));
  }
  if (since !== undefined) found.push((eb) => eb("created_at", ">=", since));
  if (until !== undefined) found.push((eb) => eb("created_at", "<", until));
  if (role !== undefined) checked.push(is({ role }));
  if (functionName !== undefined) checked.push(is({ function_name: functionName }));
  if (action !== undefined) checked.push((eb) => eb.or([eb("action", "=", action), beginsWith(`${action}.`)]));
  const all =
    (some: Where[]): Where =>
    (eb) =>
      eb.and(some.map((one) => one(eb)));
  return { found: all(found), checked: checked.length === 0 ? undefined : all(checked) };
}

/** True when an action filter can match frequent entries, so that the partial index on rare ones cannot serve it. */
const mayBeUsual = (action: string): boolean =>
  USUAL.some((usual) => usual === action || usual.startsWith(`${action}.`));

const unusual = sql<SqlBool>`action not in (${sql.join(USUAL.map((action) => sql.lit(action)))})`;

/** Not `like`: it would interpret `%` and `_` in the prefix, and is case-sensitive in Postgres only. */
const beginsWith = (prefix: string) =>
  sql<SqlBool>`substr(action, 1, length(cast(${prefix} as text))) = cast(${prefix} as text)`;

type Author = { orgId: string } & Partial<Pick<AuditEntry, "agentId" | "runId" | "keyId" | "role">>;

/** Appends entries. Properties that an entry lacks are taken from `run`. */
export function insertAudit(trx: Engine, entries: readonly AuditEntry[], run: Author): Promise<void>;
export function insertAudit(trx: Engine, entries: readonly (AuditEntry & { orgId: string })[]): Promise<void>;
export async function insertAudit(
  trx: Engine,
  entries: readonly (AuditEntry & { orgId?: string })[],
  run?: Author,
): Promise<void> {
  await insertRows(
    trx,
    entries.map((entry) => auditRowOf({ ...run, ...entry })),
  );
}

export const auditRowOf = (entry: AuditEntry & { orgId?: string }) =>
  entryColumns.rowOf({ orgId: "", ...entry, id: sortableId("aud") });

/** Compiled once: every step of every run writes audit entries. */
const insertRows = insertion((rows: Omit<AuditTableRow, "created_at">[], { db, dialect }) =>
  db.insertInto("audit").values(rows.map((row) => ({ ...row, created_at: dialect.now }))),
);

export function toAuditRow(row: AuditTableRow): AuditRow {
  const { orgId: _orgId, id, at, action, ...about } = auditColumns.recordOf(row);
  return { id, at, action, ...about };
}
