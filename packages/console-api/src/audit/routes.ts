import { present } from "@patchbay/kit";
import type { Manifest } from "@patchbay/protocol";
import { requireScopes } from "../actors.ts";
import { type ConsoleDeps, type Handlers, paged } from "../handler.ts";
import { type ExportDeps, ndjson } from "../runs/export.ts";
import { msOf } from "../runs/filter.ts";

type AuditDeps = Pick<ConsoleDeps, "queries" | "adminOf"> & ExportDeps;

export function auditRoutes({ queries, adminOf, ...deps }: AuditDeps) {
  return {
    "GET /audit"({ by, query }) {
      const { limit, from, to, ...wanted } = paged(query);
      return queries.audit.list(by.orgId, { limit, ...present({ ...wanted, since: msOf(from), until: msOf(to) }) });
    },

    "GET /audit/export"({ by, query: { cursor, from, to }, exchange }) {
      const pages = adminOf(by.actorId).exportAudit(by.orgId, present({ cursor, since: from, until: to }));
      return ndjson(exchange, by, deps, { name: `audit-${by.orgId}`, pages });
    },

    async "POST /agents/:agent_id/access/evidence"({ by, agent: { agentId }, body, exchange }) {
      const { functions, roles, defaultRole, ...asked } = body;
      if (asked.sample !== undefined) requireScopes(by, ["calls:content"]);
      const manifest = { functions: functions as Manifest["functions"], ...present({ roles, defaultRole }) };
      const pages = pagesOf(adminOf(by.actorId).evidence(agentId, { manifest, ...asked }));
      return ndjson(exchange, by, deps, { name: `evidence-${agentId}`, pages });
    },
  } satisfies Handlers;
}

async function* pagesOf(parts: AsyncIterable<object>): AsyncGenerator<object[], undefined, undefined> {
  for await (const part of parts) yield [part];
  return undefined;
}
