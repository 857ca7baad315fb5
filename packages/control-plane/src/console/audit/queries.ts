import type { AuditItem } from "@patchbay/protocol/console";
import type { AuditFilter } from "../../ports/audit.ts";
import { auditPage, toAuditRow } from "../../store/audit.ts";
import { isoTime } from "../../store/columns.ts";
import type { Engine } from "../../store/engine.ts";
import type { PageOf } from "../../store/page-cursor.ts";
import { SERVICE_TOKEN_ID } from "../../store/service-tokens.ts";
import { namesOf } from "../names.ts";
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
        const name = row.key_id === null ? undefined : names.get(row.key_id);
        const isMember = row.key_id?.startsWith("mem_") === true;
        const isToken = row.key_id?.startsWith(SERVICE_TOKEN_ID) === true;
        const named = name === undefined ? {} : { ...(isMember && { member: name }), ...(isToken && { token: name }) };
        const item = toItem({ ...toAuditRow(row), ...named });
        return { ...item, keyLabel: isMember ? null : (name ?? null) };
      });
      return { items, nextCursor };
    },

    /** Names of the members among these ids. */
    names: (orgId: string, ids: string[]) => namesOf(engine, orgId, ids),
  };
}

function toItem(entry: NamedAuditRow): Omit<AuditItem, "keyLabel"> {
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
