import type { AuditItem } from "@patchbay/protocol/console";
import type { NamedAuditRow } from "../../ports/console-insight.ts";
import type { Store } from "../../ports/stores.ts";
import { sentenceOf } from "../audit-sentences.ts";
import type { HandlersOf } from "../handler.ts";
import { paged } from "../page-size.ts";

export function auditHandlers({ store }: { store: Store }): HandlersOf<"GET /audit"> {
  return {
    async "GET /audit"({ by, query }) {
      const { limit, from, to, ...wanted } = paged(query);
      const filter = {
        ...given(wanted),
        ...(from !== undefined && { since: Date.parse(from) }),
        ...(to !== undefined && { until: Date.parse(to) }),
      };
      const { items, nextCursor } = await store.console.audit.list(by.orgId, { limit, ...filter });
      return { items: items.map(shown), nextCursor };
    },
  };
}

function given<T extends Record<string, string | undefined>>(members: T): { [K in keyof T]?: string } {
  const entries = Object.entries(members).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as { [K in keyof T]?: string };
}

function shown(entry: NamedAuditRow): AuditItem {
  return {
    id: entry.id,
    at: new Date(entry.at).toISOString(),
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
