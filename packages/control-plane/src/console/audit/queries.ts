import type { AuditItem } from "@patchbay/protocol/console";
import type { AuditFilter } from "../../ports/stores.ts";
import { auditPage, toAuditRow } from "../../store/audit.ts";
import { isoTime } from "../../store/columns.ts";
import type { Engine } from "../../store/engine.ts";
import type { PageOf } from "../../store/page-cursor.ts";
import { type NamedAuditRow, sentenceOf } from "./sentences.ts";

type Asked = Omit<AuditFilter, "orgId"> & { limit: number; cursor?: string };

/** The organisation's audit log. */
export function auditQueries(engine: Engine) {
  return {
    /** Newest first. */
    async list(orgId: string, asked: Asked): Promise<PageOf<AuditItem>> {
      const { rows: page, nextCursor } = await auditPage(engine, asked, orgId);
      const names = await namesOf(engine, orgId, [...new Set(page.flatMap(({ key_id }) => key_id ?? []))]);
      const items = page.map((row) => {
        const member = row.key_id === null ? undefined : names.get(row.key_id);
        return toItem({ ...toAuditRow(row), ...(member !== undefined && { member }) });
      });
      return { items, nextCursor };
    },
  };
}

/** Names by member id. Removed members are included: their entries stay. */
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

function toItem(entry: NamedAuditRow): AuditItem {
  return {
    id: entry.id,
    at: isoTime(entry.at),
    action: entry.action,
    sentence: sentenceOf(entry),
    agentId: entry.agentId ?? null,
    runId: entry.runId ?? null,
    callId: entry.callId ?? null,
    role: entry.role ?? null,
    keyId: entry.keyId ?? null,
    member: entry.member ?? null,
    functionName: entry.functionName ?? null,
    rule: entry.rule ?? null,
    detail: entry.detail ?? null,
  };
}
