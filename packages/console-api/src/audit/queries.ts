import { isoTime } from "@patchbay/kit";
import type { AuditItem } from "@patchbay/protocol/console";
import type { AuditFilter, AuditRow } from "@patchbay/engine/ports/store/audit";
import { auditPage, toAuditRow } from "@patchbay/store/audit/audit";
import type { Engine } from "@patchbay/store/engine";
import type { PageOf } from "@patchbay/store/page-cursor";
import { namesOf } from "../names.ts";
import { idsOf, sentenceOf } from "./sentences.ts";

export type AuditAsked = Omit<AuditFilter, "orgId"> & { limit: number; cursor?: string };

/** The organisation's audit log, newest first. */
export async function auditItems(engine: Engine, orgId: string, asked: AuditAsked): Promise<PageOf<AuditItem>> {
  const { items, nextCursor } = await auditPage(engine, asked, orgId);
  const entries = items.map(toAuditRow);
  const names = await namesOf(engine, orgId, [...new Set(entries.flatMap(idsOf))]);
  return { items: entries.map((entry) => toItem(entry, names)), nextCursor };
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
