import { sql, type Expression, type ExpressionBuilder, type SqlBool } from "kysely";
import type { AuditEntry } from "../ports/records.ts";
import type { AuditFilter, AuditRow, AuditStore } from "../ports/stores.ts";
import type { AuditTableRow } from "./audit-row.ts";
import { fromJson, present, toJson } from "./columns.ts";
import { olderThan, pageFrom } from "./console/keyset.ts";
import { sortableId } from "./sortable-id.ts";
import type { Engine, Schema } from "./schema.ts";
import { insertion } from "./statement.ts";
import { transact } from "./transact.ts";

/** Entries that one page looks at when no index finds what is asked for: a search goes on where the last page ended. */
const LOOKED_AT = 10_000;
const NEWEST = { at: "created_at", id: "id" };
/** Entries of a usual course, of which there are many: an index of its own holds all others. */
const USUAL = ["run.started", "run.succeeded", "call.succeeded"];

export function auditStore(engine: Engine): AuditStore {
  return {
    record: (entries) => transact(engine, (trx) => insertAudit(trx, entries)),

    async list(asked) {
      const { rows, nextCursor } = await auditPage(engine, asked);
      return { items: rows.map(toAuditRow), nextCursor };
    },
  };
}

/**
 * Entries of one page, newest first; of all kinds of an organisation where `within` names it. A page of a search may be short,
 * even empty, and yet have a next one.
 */
export async function auditPage(
  { reads: db }: Engine,
  { limit, cursor, ...filter }: AuditFilter & { limit: number; cursor?: string },
  within?: string,
): Promise<{ rows: AuditTableRow[]; nextCursor: string | null }> {
  const { found, looked } = conditions(filter);
  let indexed = db.selectFrom("audit").where(found).orderBy("created_at", "desc");
  if (within !== undefined) {
    indexed = indexed.where("org_id", "=", within);
    if (filter.action !== undefined && !mayBeUsual(filter.action)) indexed = indexed.where(unusual);
  }
  if (cursor !== undefined) indexed = indexed.where(olderThan(cursor, NEWEST));
  const oldest = indexed.select("created_at").offset(LOOKED_AT).limit(1);
  const floor = looked === undefined ? undefined : (await oldest.executeTakeFirst())?.created_at;
  let page = indexed.selectAll().orderBy("id", "desc");
  if (looked !== undefined) page = page.where(looked);
  if (floor !== undefined) page = page.where("created_at", ">=", floor);
  const rows = await page.limit(limit + 1).execute();
  const { rows: shown, nextCursor } = pageFrom(rows, {
    limit,
    floor,
    endOf: ({ created_at: at, id }) => ({ at, id }),
  });
  return { rows: shown, nextCursor };
}

type Where = (eb: ExpressionBuilder<Schema, "audit">) => Expression<SqlBool>;

/** What an index finds, and what must be looked at entry by entry, if anything. */
function conditions({ agentId, orgId, runId, role, functionName, action, since, until }: AuditFilter): {
  found: Where;
  looked: Where | undefined;
} {
  const found: Where[] = [];
  const looked: Where[] = [];
  if (agentId !== undefined) found.push((eb) => eb("agent_id", "=", agentId));
  if (orgId !== undefined) {
    found.push((eb) => eb.and([eb("org_id", "=", orgId), eb("run_id", "is", null)]));
    looked.push((eb) => eb("action", "not like", "query.%"));
  }
  if (runId !== undefined) found.push((eb) => eb("run_id", "=", runId));
  if (since !== undefined) found.push((eb) => eb("created_at", ">=", since));
  if (until !== undefined) found.push((eb) => eb("created_at", "<", until));
  if (role !== undefined) looked.push((eb) => eb("role", "=", role));
  if (functionName !== undefined) looked.push((eb) => eb("function_name", "=", functionName));
  if (action !== undefined) looked.push((eb) => eb.or([eb("action", "=", action), beginsWith(`${action}.`)]));
  const all =
    (some: Where[]): Where =>
    (eb) =>
      eb.and(some.map((one) => one(eb)));
  return { found: all(found), looked: looked.length === 0 ? undefined : all(looked) };
}

const mayBeUsual = (action: string): boolean =>
  USUAL.some((usual) => usual === action || usual.startsWith(`${action}.`));

const unusual = sql<SqlBool>`action not in (${sql.join(USUAL.map((action) => sql.lit(action)))})`;

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
