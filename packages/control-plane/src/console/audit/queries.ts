import type { AuditItem } from "@patchbay/protocol/console";
import type { AuditFilter, AuditRow } from "../../ports/audit.ts";
import { auditPage, toAuditRow } from "../../store/audit.ts";
import { isoTime } from "../../store/columns.ts";
import type { Engine } from "../../store/engine.ts";
import type { PageOf } from "../../store/page-cursor.ts";
import { namesOf } from "../names.ts";
import { idsOf, sentenceOf } from "./sentences.ts";

type Asked = Omit<AuditFilter, "orgId"> & { limit: number; cursor?: string };

/** The organisation's audit log. */
export function auditQueries(engine: Engine) {
  return {
    /** Newest first. */
    async list(orgId: string, asked: Asked): Promise<PageOf<AuditItem>> {
      const { rows: page, nextCursor } = await auditPage(engine, asked, orgId);
      const entries = page.map(toAuditRow);
      const names = await namesOf(engine, orgId, [...new Set(entries.flatMap(idsOf))]);
      const items = entries.map((entry) => toItem(entry, names));
      return { items, nextCursor };
    },

    /** Names of the members among these ids. */
    names: (orgId: string, ids: string[]) => namesOf(engine, orgId, ids),
  };
}

function toItem(entry: AuditRow, names: ReadonlyMap<string, string>): AuditItem {
  const name = entry.keyId === undefined ? null : (names.get(entry.keyId) ?? null);
  const isMember = entry.keyId?.startsWith("mem_") === true;
  return {
    id: entry.id,
    at: isoTime(entry.at),
    action: entry.action,
    sentence: sentenceOf({ ...entry, names }),
    agentId: entry.agentId ?? null,
    runId: entry.runId ?? null,
    callId: entry.callId ?? null,
    role: entry.role ?? null,
    keyId: entry.keyId ?? null,
    member: isMember ? name : null,
    keyLabel: isMember ? null : name,
    functionName: entry.functionName ?? null,
    rule: entry.rule ?? null,
    detail: entry.detail ?? null,
  };
}
