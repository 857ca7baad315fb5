import { present } from "@patchbay/kit";
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
  } satisfies Handlers;
}
