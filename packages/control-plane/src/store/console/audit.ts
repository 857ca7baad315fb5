import type { AuditReads, NamedAuditRow } from "../../ports/console-insight.ts";
import { auditPage, toAuditRow } from "../audit.ts";
import type { Engine } from "../schema.ts";

export function auditReads(engine: Engine): AuditReads {
  return {
    async list(orgId, asked) {
      const { rows: page, nextCursor } = await auditPage(engine, asked, orgId);
      const names = await namesOf(engine, orgId, [...new Set(page.flatMap(({ key_id }) => key_id ?? []))]);
      const items = page.map((row): NamedAuditRow => {
        const member = row.key_id === null ? undefined : names.get(row.key_id);
        return { ...toAuditRow(row), ...(member !== undefined && { member }) };
      });
      return { items, nextCursor };
    },
  };
}

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
