import { sql, type SqlBool } from "kysely";
import type { AuditReads, NamedAuditRow } from "../../ports/console-insight.ts";
import { matches, toAuditRow } from "../audit.ts";
import type { Engine } from "../schema.ts";
import { olderThan, pageFrom } from "./keyset.ts";

const NEWEST = { at: "created_at", id: "id" };
/** Entries of a usual course, of which there are many: an index of its own holds all others. */
const USUAL = ["run.started", "run.succeeded", "call.succeeded"];

export function auditReads(engine: Engine): AuditReads {
  return {
    async list(orgId, { limit, cursor, ...filter }) {
      let query = engine.db.selectFrom("audit").selectAll().where("org_id", "=", orgId).where(matches(filter));
      if (filter.action !== undefined && !mayBeUsual(filter.action)) query = query.where(unusual);
      if (cursor !== undefined) query = query.where(olderThan(cursor, NEWEST));
      const rows = await query
        .orderBy("created_at", "desc")
        .orderBy("id", "desc")
        .limit(limit + 1)
        .execute();
      const endOf = ({ created_at: at, id }: (typeof rows)[number]) => ({ at, id });
      const { rows: page, nextCursor } = pageFrom(rows, { limit, floor: undefined, endOf });
      const names = await namesOf(engine, orgId, [...new Set(page.flatMap(({ key_id }) => key_id ?? []))]);
      const items = page.map((row): NamedAuditRow => {
        const member = row.key_id === null ? undefined : names.get(row.key_id);
        return { ...toAuditRow(row), ...(member !== undefined && { member }) };
      });
      return { items, nextCursor };
    },
  };
}

const mayBeUsual = (action: string): boolean =>
  USUAL.some((usual) => usual === action || usual.startsWith(`${action}.`));

const unusual = sql<SqlBool>`action not in (${sql.join(USUAL.map((action) => sql.lit(action)))})`;

/** Removed members too: what they did stays. */
async function namesOf({ db }: Engine, orgId: string, keyIds: string[]): Promise<Map<string, string>> {
  const memberIds = keyIds.filter((id) => id.startsWith("mem_"));
  if (memberIds.length === 0) return new Map();
  const rows = await db
    .selectFrom("members")
    .select(["id", "name", "email"])
    .where("org_id", "=", orgId)
    .where("id", "in", memberIds)
    .execute();
  return new Map(rows.map(({ id, name, email }) => [id, name || (email ?? id)]));
}
